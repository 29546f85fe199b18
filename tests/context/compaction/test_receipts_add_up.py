"""Receipts of any sequence of compactions: they add up, live items stay the same, and nothing comes back."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudkit.api import Hud, HudSession
from hudkit.context.compaction.receipts import Receipt, covered_range, live_items, read_receipts
from hudkit.log import Origin, Payload
from hudkit.log import payloads as p
from hudkit.sections.compacted import comparable_text, without_repeats
from hudkit.transcripts.prompt_window import window_at
from hudkit.transcripts.transcript import CompactionPart, Message, TextPart
from strategies import payloads, texts

sizes = st.integers(0, 100_000)
parts = st.builds(
    p.RequestParts,
    st.one_of(st.none(), sizes),
    st.one_of(st.none(), sizes),
    sizes,
    st.lists(
        st.builds(p.ToolOutputTotal, st.sampled_from(["bash", "read", "grep"]), sizes), unique_by=lambda one: one.tool
    ).map(tuple),
)
figures = st.integers(0, 200_000)


def receipts_of(session: HudSession) -> tuple[Receipt, ...]:
    return read_receipts(session.events(), session.state_at)


other = payloads.filter(lambda one: not isinstance(one, p.CompactAfter | p.CompactUndone | p.ContextSnapshot))


def call(session: HudSession, used: int | None, carried: p.RequestParts) -> None:
    session.append(p.NoteAdd(f"Call after event {session.state.seq}"))
    session.frame(used_tokens=used, limit_tokens=200_000, model="m", transcript=[("user:1:", "user")], parts=carried)


rounds = st.lists(
    st.tuples(st.lists(other, max_size=8), st.one_of(st.none(), figures), parts, texts, parts, figures),
    min_size=1,
    max_size=3,
)
Told = list[tuple[list[Payload], int | None, p.RequestParts, str, p.RequestParts, int]]


@pytest.mark.slow
@settings(max_examples=25)
@given(rounds)
def test_receipts_add_up_and_live_items_survive(told: Told) -> None:
    session = Hud.in_memory().session("s")
    held, summaries = [], []
    for events, used, before, summary, after, then in told:
        session.append(*events)
        call(session, used, before)
        held.append((session.state.window.used_tokens, live_items(session.state)))
        session.append(p.CompactAfter(summary, "auto", began=5), origin=Origin.HOST)
        assert live_items(session.state) == held[-1][1]
        summaries.append(session.state.compacted.summary)
        call(session, None, after)
        session.append(p.ContextSnapshot(then, source="reported"), origin=Origin.HOST)
    found = receipts_of(session)
    assert [one.number for one in found] == list(range(1, len(told) + 1))
    for one, (known, items), summary, (_, _, before, _, after, then) in zip(
        found, held, summaries, told, strict=True
    ):
        assert (one.reported_before, one.reported_after, one.summary) == (known, then, summary)
        assert one.held == one.holds == items and one.lost == one.revived == ()
        assert one.before is not None and one.after is not None
        for measured, carried in ((one.before, before), (one.after, after)):
            assert measured.total == measured.system + measured.tools + measured.hud + measured.words + sum(
                tokens for _, tokens in measured.outputs
            )
            assert [tool for tool, _ in measured.outputs] == [
                brought.tool for brought in carried.outputs if any(each.size for each in carried.outputs)
            ]
        if (before.system, before.tools) == (after.system, after.tools):
            assert (one.before.system, one.before.tools) == (one.after.system, one.after.tools)
        if known is not None:
            assert one.freed == known - then and not one.estimated
        else:
            assert one.freed == one.before.total - one.after.total and one.estimated


@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(payloads, max_size=15), st.lists(st.tuples(texts, texts, texts), min_size=1, max_size=4))
def test_what_was_superseded_is_not_revived(told: list[Payload], rounds: list[tuple[str, str, str]]) -> None:
    session = Hud.in_memory().session("s")
    session.append(*told)
    gone: set[str] = set()
    for old, new, summary in rounds:
        session.append(p.DecisionRecord(old))
        known = session.state.decisions.find(old) or session.state.decisions[-1]  # as it is stored
        session.append(p.DecisionSupersede(known.id, ""), p.DecisionRecord(new))
        live_again = session.state.decisions.find(new) or session.state.decisions[-1]
        gone = (gone | {known.summary}) - {live_again.summary}
        session.append(p.CompactAfter(f"{summary}\n- {old}", "auto"), origin=Origin.HOST)
        assert not gone & {one.summary for one in session.state.decisions}
    assert all(one.revived == () for one in receipts_of(session))


@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(texts, min_size=1, max_size=4), st.data())
def test_undone_compactions_give_the_summary_before(summaries: list[str], data: st.DataObject) -> None:
    session = Hud.in_memory().session("s")
    session.append(p.NoteAdd("It stays"))
    seqs, stored = [], []
    for n, summary in enumerate(summaries):
        done = p.CompactAfter(summary, anchor=f"assistant:{n}:")
        seqs.append(session.append(done, origin=Origin.HOST)[0].seq)
        stored.append(session.state.compacted.summary)
    keep = data.draw(st.integers(0, len(summaries) - 1))
    for seq in reversed(seqs[keep:]):
        before = session.state_at(seq - 1).compacted.summary
        session.append(p.CompactUndone(seq, before), origin=Origin.HOST)
    compacted = session.state.compacted
    assert compacted.summary == (stored[keep - 1] if keep else "") and compacted.count == keep
    assert [one.seq for one in compacted.summary_anchors] == seqs[:keep]
    assert [bool(one.undone) for one in receipts_of(session)] == [n >= keep for n in range(len(summaries))]
    assert session.state.epoch.over == "undone" and live_items(session.state)["notes"] == ("It stays",)


@given(st.lists(st.tuples(st.integers(1, 6), st.booleans(), st.integers(0, 5)), min_size=1, max_size=4))
def test_dropped_and_kept_are_the_window_before(rounds: list[tuple[int, bool, int]]) -> None:
    messages: list[Message] = []
    number = 0
    for size, keeps, back in rounds:
        first = len(messages)
        for _ in range(size):
            number += 1
            messages.append(Message(f"u{number}", "s", "user", number, parts=(TextPart("t", "words"),)))
        tail = messages[max(len(messages) - 1 - back, first)].id if keeps else ""
        marker = Message(f"c{number}", "s", "user", number, parts=(CompactionPart("p", tail_start_id=tail),))
        summary = Message(f"s{number}", "s", "assistant", number, 1, finish="stop", summary=True, parent_id=marker.id)
        messages += [marker, summary]
        receipt = Receipt(1, 1, 1, marker=marker.id, message=summary.id)
        seen = covered_range(receipt, messages)
        assert seen is not None and seen.since == ()
        probe = Message("probe", "s", "assistant")
        before = window_at((*messages[:-2], probe), "probe")
        after = window_at((*messages, probe), "probe")
        assert (*seen.dropped, *seen.remaining) == before
        assert [one.id for one in seen.remaining] == [one.id for one in after[2:]]
        assert covered_range(msgspec.structs.replace(receipt, message="other"), messages) is None


@given(st.lists(texts, max_size=5), st.lists(texts, max_size=5), texts)
def test_only_what_is_said_elsewhere_leaves_a_summary(said: list[str], own: list[str], mark: str) -> None:
    lines = [line for text in own for line in text.splitlines()]
    known = {comparable_text(text) for text in said}
    left = without_repeats("\n".join((*lines, *(f"- {text}" for text in said))), said)
    assert not known & {comparable_text(line) for line in left.splitlines()} or not said
    assert without_repeats(mark, ()) == mark


def test_headings_with_nothing_under_them_leave_too() -> None:
    summary = "## Decisions\n- **Use SQLite.**\n\n## Next\n1. Decision: use sqlite\n2. Write the tests, all"
    assert without_repeats(summary, ["Use SQLite"]).split("\n") == ["", "## Next", "2. Write the tests, all"]
