"""The contracts of the design, tried with random sessions: replay, budget, cache, survival, text is data."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from campaigns import Campaign
from hudkit.api import Hud, HudSession
from hudkit.errors import BudgetError
from hudkit.hud.frame import Frame
from hudkit.log import Origin, Payload
from hudkit.log import payloads as p
from hudkit.sections.table import SECTIONS
from hudkit.tokens import count_tokens
from strategies import HOSTILE, payloads, texts

VALUES = Campaign("markdown", quick=2_500, full=100_000)

HEADINGS = {section.title for section in SECTIONS}
"""Every heading that the schema knows; those of lists carry a count."""

calls = st.fixed_dictionaries(
    {
        "used_tokens": st.one_of(st.none(), st.integers(0, 210_000)),
        "limit_tokens": st.sampled_from([None, 200_000]),
        "budget": st.sampled_from([None, None, 300, 420, 900]),
        "density": st.sampled_from([None, None, None, "full", "compact", "minimal"]),
        "placement": st.sampled_from(["anchored", "anchored", "anchored", "system"]),
        "step": st.sampled_from(["user", "tool", "revert", None]),
    }
)


class Chat:
    """A host's transcript that grows, and is reverted now and then."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, str]] = []
        self.numbers = itertools.count()

    def step(self, kind: str | None) -> list[tuple[str, str]] | None:
        if kind is None:
            return None
        if kind == "revert":
            del self.messages[len(self.messages) // 2 :]
            kind = "user"
        self.messages.append((f"{kind}{next(self.numbers)}", kind))
        return list(self.messages)


def compose(session: HudSession, chat: Chat, call: dict[str, object]) -> Frame | None:
    try:
        step = call.pop("step", None)
        return session.frame(transcript=chat.step(step), **call)  # type: ignore[arg-type]
    except BudgetError:
        return None


@given(st.lists(st.one_of(payloads, calls), max_size=30))
def test_replay_and_budget(ops: list[Payload | dict[str, object]]) -> None:
    hud = Hud.in_memory()
    session = hud.session("s")
    chat = Chat()
    sent: list[tuple[int, Frame]] = []
    states = {}
    for op in ops:
        if isinstance(op, dict):
            frame = compose(session, chat, dict(op))
            if frame is not None:
                assert frame.tokens == count_tokens(frame.text) <= frame.budget
                parts = [frame.base, *(delta.text for delta in frame.deltas), frame.tail]
                assert sum(count_tokens(part) for part in parts if part) <= frame.budget
                assert frame.text == "\n".join(part for part in parts if part)
                sent.append((session.state.seq, frame))
        else:
            session.append(op, origin=Origin.AGENT)
        states[session.state.seq] = session.state
    fresh = Hud(hud.log).session("s")
    for seq, state in states.items():
        assert fresh.state_at(seq) == state
    for seq, frame in sent:
        assert fresh.frame_at(seq) == frame
        assert session.frame_at(seq) == frame
    assert fresh.state == session.state


@given(
    st.lists(
        st.tuples(st.lists(payloads, max_size=3), st.sampled_from(["user", "tool", "tool", "tool"])), max_size=14
    )
)
def test_within_an_epoch_sent_bytes_never_change(steps: list[tuple[list[Payload], str]]) -> None:
    session = Hud.in_memory().session("s")
    chat = Chat()
    before: Frame | None = None
    for told, kind in steps:
        session.append(*told)
        frame = session.frame(used_tokens=1000, limit_tokens=200_000, transcript=chat.step(kind))
        if before is not None and before.epoch == frame.epoch:
            assert frame.base == before.base
            assert frame.deltas[: len(before.deltas)] == before.deltas
            for new in frame.deltas[len(before.deltas) :]:
                assert new.anchor == chat.messages[-1][0]
        if kind == "tool":
            assert frame.tail == ""
        for delta in frame.deltas:
            assert delta.text.startswith((f"[hud {frame.tag}]\n", f"[hud {frame.tag}] "))
        before = frame


@given(st.lists(payloads, max_size=25), st.lists(texts, min_size=1, max_size=4), st.integers(1, 4))
def test_live_items_survive_compactions(told: list[Payload], summaries: list[str], times: int) -> None:
    session = Hud.in_memory().session("s")
    session.append(*told)
    before = session.state
    for n in range(times):
        session.frame(used_tokens=150_000, limit_tokens=200_000)
        session.append(p.CompactBefore("auto"), origin=Origin.HOST)
        session.append(p.CompactAfter(summaries[n % len(summaries)]), origin=Origin.HOST)
    after = session.state
    for name in ("task", "constraints", "decisions", "steps", "blockers", "errors", "notes", "todos"):
        assert getattr(after, name) == getattr(before, name), name
    edited = {f.path for f in before.files.active if f.status == "editing"}
    assert edited <= {f.path for f in after.files.active}
    frame = session.frame(limit_tokens=200_000, budget=1500)
    assert session.state.epoch.base is not None and frame.deltas == ()
    assert "usage unknown" in frame.tail


def headings(text: str) -> list[str]:
    tokens = MarkdownIt("commonmark").parse(text)
    return [tokens[n + 1].content for n, token in enumerate(tokens) if token.type == "heading_open"]


def blocks(text: str) -> list[str]:
    return [token.type for token in MarkdownIt("gfm-like", {"linkify": False}).parse(text) if token.nesting == 1]


def hostile_texts(n: int) -> list[str]:
    rng = VALUES.chance(20261121)
    alphabet = "#-*_`~[]()<>&|\\!+=1.:/@ \n\tabcÄ\u202e\u200b\x1b"
    out = []
    while len(out) < n:
        kind = rng.randrange(4)
        if kind == 0:
            out.append(rng.choice(HOSTILE))
        elif kind == 1:
            out.append("".join(rng.choice(alphabet) for _ in range(rng.randint(1, 40))))
        elif kind == 2:
            out.append("\n".join(rng.choice(HOSTILE) for _ in range(rng.randint(2, 3))))
        else:
            out.append(
                "".join(chr(rng.choice([rng.randint(1, 0x2FF), rng.randint(0x2000, 0x206F)])) for _ in range(20))
            )
    return [text for text in out if text.strip()]


@VALUES
@pytest.mark.slow
def test_hostile_values_leave_the_schemas_headings() -> None:
    values = hostile_texts(VALUES.rounds)
    make = (
        p.TaskSet, p.NoteAdd, p.DecisionRecord, p.StepAdd, p.BlockerAdd, p.ConstraintAdd,
        lambda text: p.ErrorEncountered(text, key=text[:20]), p.FileEdit, p.CompactAfter,
        lambda text: p.TodoSync((p.TodoItem(text),)), lambda text: p.SessionStart(title=text),
        lambda text: p.ProjectSet("p", (text,)),
    )  # fmt: skip
    rng = VALUES.chance(1)
    used = 0
    while used < len(values):
        session = Hud.in_memory().session("s")
        taken = values[used : used + 24]
        used += len(taken)
        session.append(*(rng.choice(make)(text) for text in taken))
        for density in ("full", "compact", "minimal"):
            frame = session.frame(used_tokens=1000, limit_tokens=200_000, budget=9000, density=density)
            check(frame)
        session.append(p.NoteAdd(taken[0] + "!"), p.TaskUpdate(taken[-1]))
        check(session.frame(used_tokens=1000, limit_tokens=200_000, budget=9000))


def check(frame: Frame) -> None:
    seen = headings(frame.text)
    names = [name.rsplit(" (", 1)[0] for name in seen]
    assert set(names) <= HEADINGS and len(set(names)) == len(names), seen
    expected = 0 if frame.density != "full" else 1
    assert len(seen) >= expected
    forbidden = {"blockquote_open", "fence", "code_block", "html_block", "table_open", "hr", "heading_open"}
    assert not (set(blocks(frame.text)) & (forbidden - {"heading_open"})), frame.text
    for c in frame.text:
        code = ord(c)
        assert code >= 0x20 or c == "\n"
        assert not (0x7F <= code <= 0x9F or 0x200B <= code <= 0x200F or 0x202A <= code <= 0x202E)
        assert not (
            0x2060 <= code <= 0x2069 or code == 0xFEFF or 0xE0000 <= code <= 0xE007F or 0xD800 <= code <= 0xDFFF
        )
    frame.text.encode()


def test_a_frame_goes_on_without_its_store(tmp_path: Path) -> None:
    hud = Hud.open(tmp_path / "hud" / "hud.db")
    session = hud.session("s")
    session.call("task.set", {"description": "Keep going"})
    first = session.frame(used_tokens=10, limit_tokens=1000)
    assert not first.notice
    hud.close()
    frame = session.frame(used_tokens=20, limit_tokens=1000)
    assert frame.base == first.base
    assert "read-only" in frame.notice and "read-only" in frame.tail
