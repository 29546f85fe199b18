"""The account of a session: what a cache could give of each call, what was reported, and what broke the prefix."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from hudkit.api import Hud
from hudkit.context.caching import (
    ANTHROPIC,
    OPENAI,
    CacheAccount,
    LayerTokens,
    LayerTotal,
    Segment,
    account_for_calls,
    common_prefix,
    layer_totals,
    rates_for,
)
from hudkit.log import Event, Origin, Payload
from hudkit.log.payloads import (
    ContextSnapshot,
    FrameArguments,
    FrameBase,
    FrameDelta,
    FrameUnsent,
    OutputsPrune,
    PrunedOutput,
    ResponseTokens,
    SessionLink,
    type_of,
)

HOST = 4_000
"""Tokens of the host's tools and its own text in these sessions; a token of the transcript has four characters."""
BASE, DELTA, TAIL = 200, 40, 10
MINUTE = 60_000
BEGIN = 1_795_000_000_000
TEXT = "Changes come as [hud 111111].\n\n# Task\n\nPort it\n\n## Notes\n\n- tabs\n- {}\n"


class Story:
    """Events of a session, written down call by call; a call takes a second, and the next one follows after ten."""

    def __init__(self, model: str = "gpt-4.1") -> None:
        self.events: list[Event] = []
        self.now = BEGIN
        self.model = model
        self.pieces: list[Segment] = []
        self._before: tuple[Segment, ...] | None = None
        self._epoch = 0
        self._deltas: list[str] = []

    def add(self, payload: Payload | None, at: int | None = None) -> None:
        seq = len(self.events) + 1
        kind = type_of(payload) if payload else "frame.base"
        when = self.now if at is None else at
        self.events.append(Event(f"e{seq}", seq, "s", 0, when, kind, 1, Origin.SYSTEM, payload))

    def base(self, reason: str = "session", text: str = TEXT.format("spaces"), tag: str = "111111") -> Story:
        self._epoch += 1
        self._deltas = []
        text = text.replace("111111", tag)
        self.add(FrameBase(self._epoch, tag, text, BASE, "full", "anchored", 1_000, 0, reason))
        return self

    def delta(self) -> Story:
        id = f"{self._epoch}.{len(self._deltas) + 1}"
        self._deltas.append(id)
        self.add(FrameDelta(id, self._epoch, self.pieces[-1].anchor, "tool", "x", DELTA, 0))
        return self

    def say(self, size: int = 4_000, role: str = "tool") -> Story:
        """One more message."""
        self.pieces.append(Segment(f"{role}:{len(self.pieces)}:{self.now}", role, size))
        return self

    def call(self, tail: bool = False, told: bool = True) -> int:
        """A call as it stands; gives the tokens of its request."""
        self.now += 10_000
        hud = BASE + DELTA * len(self._deltas) + TAIL * tail
        call = FrameArguments(
            1_000, "anchored", "c", "1", self._epoch, shown=tuple(self._deltas), tail="t" * tail, tokens=hud
        )
        sent = common_prefix(self._before, self.pieces) if told else None
        self._before = tuple(self.pieces)
        self.add(ContextSnapshot(limit_tokens=200_000, model=self.model, call=call, sent=sent))
        return HOST + hud + sum(piece.size for piece in self.pieces) // 4

    def report(self, request: int, read: int, written: int = 0, at: int | None = None) -> None:
        self.now += 1_000
        spent = ResponseTokens(request - read - written, read, written, 5)
        self.add(ContextSnapshot(request + 5, source="reported", model=self.model, spent=spent), at)

    def calls(self, count: int, *, written: bool = False) -> int:
        """Tool steps of a session in which the cache gives all that it can; gives the tokens of the last request."""
        last = 0
        for _ in range(count):
            self.say()
            request = self.call()
            read = last if written else last - last % 128
            self.report(request, read, request - read if written else 0)
            last = request
        return last

    def account(self, price: Any = None) -> CacheAccount:
        return account_for_calls(self.events, lambda model: price)


def story(count: int = 4, **more: Any) -> Story:
    written = more.pop("written", False)
    one = Story(**more).base()
    one.calls(count, written=written)
    return one


def test_a_session_that_only_grows_breaks_nowhere_and_is_predicted_exactly() -> None:
    found = story(5).account()
    assert [one.request for one in found.calls] == [5_200, 6_200, 7_200, 8_200, 9_200]
    assert [one.predicted for one in found.calls] == [None, 5_120, 6_144, 7_168, 8_192]
    assert [one.difference for one in found.calls] == [None, 0, 0, 0, 0]
    assert (found.breaks, found.policy, found.per_character, found.assumed_rate) == ((), OPENAI, 0.25, False)
    assert [one.reason for one in found.calls] == ["session", "", "", "", ""]
    whole = layer_totals(found)
    assert whole["whole"] == LayerTotal(30_800, 26_624, 26_624)
    assert whole["base"] == LayerTotal(4 * BASE, 4 * BASE, 4 * BASE)
    assert whole["tail"] == LayerTotal(0, 0, 0)


def test_layers_are_what_the_prefix_reaches_over() -> None:
    one = story(2)
    one.delta()
    one.say()
    one.report(one.call(), 6_144)
    request = one.call(tail=True)
    one.report(request, 7_168)
    first, then = one.account().calls[-2:]
    assert first.carried == LayerTokens(BASE, DELTA, 0, 7_000)
    assert first.predicted_layers == first.read_layers == LayerTokens(BASE, 0, 0, 6_144 - BASE)
    assert then.carried == LayerTokens(BASE, DELTA, TAIL, 7_000)
    assert then.predicted_layers == LayerTokens(BASE, 0, 0, 7_168 - BASE), (
        "the cache's steps of 128 end before the delta"
    )
    one.say()
    one.report(one.call(), 7_168)
    assert one.account().calls[-1].predicted == 7_168, "all but the tail"


def test_a_cleared_output_is_a_break_at_its_place() -> None:
    one = story(4)
    one.delta()
    one.say(400)
    request = one.call()
    one.report(request, 8_192)
    old = one.pieces[1]
    one.pieces[1] = Segment(old.anchor, "cleared", 40)
    one.say(400)
    request = one.call()
    one.report(request, 5_120)
    found = one.account(rates_for(OPENAI, input=2.0))
    (cut,) = found.breaks
    assert (cut.call, cut.what, cut.how, cut.role, cut.anchor) == (6, "message", "changed", "cleared", old.anchor)
    assert (cut.was, cut.now, cut.offset) == (4_000, 40, 4_000)
    assert cut.offset_tokens == HOST + BASE + 1_000
    assert cut.again == 1_000 + 1_000 + 100 + DELTA, "two whole messages, the short one, and the delta behind them"
    assert cut.usd == pytest.approx(cut.again * (2.0 - 0.2) / 1e6)
    assert found.calls[-1].difference == 0
    one.say(4_000)
    then = one.call()
    one.report(then, request - request % 128)
    found = one.account()
    assert [cut.call for cut in found.breaks] == [6], "once"
    assert (found.calls[-1].difference, found.calls[-1].predicted_layers.deltas) == (0, DELTA)


def test_a_reverted_message_costs_nothing_and_is_named() -> None:
    one = story(3)
    gone = one.pieces.pop()
    one.say(80, "user")
    one.report(one.call(), 6_144)
    (cut,) = one.account(rates_for(OPENAI, input=2.0)).breaks
    assert (cut.what, cut.how, cut.anchor, cut.again, cut.usd) == ("message", "gone", gone.anchor, 0, None)
    assert cut.offset_tokens == HOST + BASE + 2_000


def test_a_new_base_is_a_break_and_says_which_line_changed_first() -> None:
    one = story(3)
    one.base("budget", TEXT.format("tabs, again"), "222222").say()
    one.report(one.call(), 3_968)
    found = one.account()
    (cut,) = found.breaks
    assert (cut.call, cut.what, cut.reason, cut.section) == (4, "base", "budget", "Notes")
    assert (cut.before, cut.after) == ("- spaces", "- tabs, again")
    assert cut.offset == TEXT.index("111111"), "the bytes depart where the tag is"
    assert (cut.offset_tokens, cut.again) == (HOST, 3_000)
    assert found.calls[-1].predicted == 3_968
    assert found.calls[-1].predicted_layers == LayerTokens(0, 0, 0, 3_968)


@pytest.mark.parametrize(
    ("old", "new", "section", "before", "after"),
    [
        ("# Task\n\nx\n", "# Task\n\nx\n\n## Notes (1)\n\n- n\n", "Notes (1)", "", "## Notes (1)"),
        ("# Task\n\nx\n\n## Notes (1)\n\n- n\n", "# Task\n\nx\n", "Task", "## Notes (1)", ""),
        ("# Task\n\nx\n", "# Task\n\nx y\n", "Task", "x", "x y"),
        ("Task: x\n", "Task: y\n", "", "Task: x", "Task: y"),
        ("# Task [hud 111111]\n", "# Task [hud 111111]\n", "", "", ""),
    ],
    ids=["a section more", "a section less", "a longer line", "no headings", "only the tag"],
)
def test_the_first_change_in_a_base(old: str, new: str, section: str, before: str, after: str) -> None:
    one = Story().base(text=old).say()
    one.call()
    one.base("idle", new, "222222")
    one.call()
    (cut,) = one.account().breaks
    assert (cut.section, cut.before, cut.after) == (section, before, after)


def test_after_a_compaction_only_what_stands_in_front_of_the_base_is_left() -> None:
    one = story(4)
    one.base("compaction", tag="222222")
    one.pieces = []
    one.say(2_000, "user")
    one.report(one.call(), 3_968)
    found = one.account()
    (cut,) = found.breaks
    assert (cut.what, cut.reason, cut.again, cut.offset_tokens) == ("base", "compaction", 0, HOST)
    assert found.calls[-1].predicted == 3_968


@pytest.mark.parametrize(("model", "minutes", "cold"), [("gpt-4.1", 9, False), ("gpt-4.1", 11, True)])
def test_an_idle_cache_gives_nothing(model: str, minutes: int, cold: bool) -> None:
    one = story(3, model=model)
    one.now += minutes * MINUTE
    one.say()
    one.report(one.call(), 0 if cold else 7_168)
    found = one.account()
    assert found.calls[-1].predicted == (0 if cold else 7_168)
    assert [(cut.what, cut.again) for cut in found.breaks] == ([("idle", 7_200)] if cold else [])
    if cold:
        assert found.breaks[0].idle_ms == minutes * MINUTE + 11_000
        assert found.calls[-1].predicted_layers == LayerTokens()


def test_another_model_has_another_cache() -> None:
    one = story(3)
    one.model = "gpt-4o"
    one.say()
    one.report(one.call(), 0)
    found = one.account()
    (cut,) = found.breaks
    assert (cut.what, cut.before, cut.after, cut.again) == ("model", "gpt-4.1", "gpt-4o", 7_200)
    assert found.calls[-1].predicted == 0


def test_a_model_that_is_named_only_later_is_no_other_one() -> None:
    one = story(1, model="")
    one.model = "gpt-4.1"
    one.say()
    one.report(one.call(), 4_224)
    assert one.account().breaks == ()


def test_less_than_predicted_without_a_reason_that_is_known() -> None:
    one = story(4)
    one.say()
    one.report(one.call(), 3_968)
    one.say()
    one.report(one.call(), 9_088)
    (cut,) = one.account().breaks
    assert (cut.call, cut.what, cut.again, cut.offset_tokens) == (5, "unseen", 8_192 - 3_968, 3_968)
    one = story(4)
    one.say()
    one.report(one.call(), 8_192 - 1_024)
    assert one.account().breaks == (), "a little less is no break"


def test_a_host_that_reports_nothing() -> None:
    one = Story("m").base().say()
    one.call()
    one.delta().say()
    one.call()
    one.say()
    one.call()
    found = one.account()
    assert [(hit.request, hit.predicted, hit.read) for hit in found.calls] == [(None, None, None)] * 3
    assert [hit.predicted_layers for hit in found.calls] == [
        LayerTokens(),
        LayerTokens(BASE),
        LayerTokens(BASE, DELTA),
    ]
    assert layer_totals(found) == {
        "base": LayerTotal(2 * BASE, 2 * BASE, None),
        "deltas": LayerTotal(2 * DELTA, DELTA, None),
        "tail": LayerTotal(0, 0, None),
    }
    assert (found.reported, found.compared, found.assumed_rate) == ((), (), True)


def test_a_host_that_does_not_tell_its_messages_is_taken_to_only_add_some() -> None:
    one = Story().base()
    for read in (0, 4_096):
        one.report(4_200, read) if one.call(told=False) else None
    found = one.account()
    assert found.calls[-1].predicted == 4_096
    assert found.calls[-1].read_layers is None
    assert layer_totals(found)["base"].reported is None


def test_reports_find_their_calls() -> None:
    one = story(2)
    one.say()
    third = one.call()
    ended = one.now + 500
    one.say()
    fourth = one.call()
    one.report(fourth, 7_168)
    one.report(third, 6_144, at=ended)
    assert [hit.request for hit in one.account().calls] == [5_200, 6_200, third, fourth], "late ones too"
    one.report(99_999, 0, at=BEGIN)
    one.report(88_888, 0)
    assert [hit.request for hit in one.account().calls] == [5_200, 6_200, third, fourth], "not those of no call"


def test_a_fork_counts_its_own_calls_and_reads_its_source() -> None:
    one = story(3)
    one.add(SessionLink("fork", "ses_other", 7))
    one.say()
    one.report(one.call(), 7_168)
    found = one.account()
    assert [(hit.call, hit.predicted, hit.read) for hit in found.calls] == [(1, 7_168, 7_168)]


def test_what_came_too_late_was_not_carried() -> None:
    one = story(2)
    one.delta().say()
    one.call()
    one.report(HOST + BASE + 3_000, 6_144)
    one.add(FrameUnsent(1, 0))
    one._deltas.clear()
    one.delta().say()
    one.report(one.call(), 7_168)
    third, fourth = one.account().calls[2:]
    assert (third.carried.deltas, fourth.carried.deltas) == (0, DELTA)
    assert fourth.predicted_layers.deltas == 0


def test_redacted_events_are_passed_over() -> None:
    one = story(3)
    one.events[0] = msgspec.structs.replace(one.events[0], payload=None)
    found = one.account()
    assert [hit.carried.base for hit in found.calls] == [0, 0, 0]


# -- explicit breakpoints --------------------------------------------------------------------------------------


def test_a_prefix_is_read_up_to_a_breakpoint_that_is_met_again() -> None:
    """After the start of a turn, the breakpoint behind the tail is not: the one before the user's message is."""
    one = story(3, written=True)
    one.say(400, "user")
    request = one.call(tail=True)
    one.report(request, 7_200, request - 7_200)
    one.say()
    request = one.call()
    one.report(request, 7_200, request - 7_200)
    found = one.account()
    assert (found.policy, found.because) == (ANTHROPIC, "the provider tells what it writes to its cache")
    assert [hit.predicted for hit in found.calls] == [None, 5_200, 6_200, 7_200, 7_200]
    assert found.breaks == ()


def test_a_break_far_from_the_end_leaves_the_base() -> None:
    one = story(15, written=True)
    one.pieces[2] = Segment(one.pieces[2].anchor, "cleared", 40)
    one.say()
    request = one.call()
    one.report(request, HOST + BASE, request - HOST - BASE)
    near = story(15, written=True)
    near.pieces[10] = Segment(near.pieces[10].anchor, "cleared", 40)
    near.say()
    near.report(near.call(), HOST + BASE + 10_000, 1)
    prices = rates_for(ANTHROPIC, input=3.0)
    far, close = (each.account(prices) for each in (one, near))
    assert [each.calls[-1].predicted for each in (far, close)] == [HOST + BASE, HOST + BASE + 10_000]
    (cut,) = far.breaks
    assert (cut.again, cut.usd) == (12_000, pytest.approx(12_000 * (3.75 - 0.3) / 1e6))


def test_what_expired_does_not_come_back() -> None:
    """After a pause, the prefixes of before are gone: a break then leaves no more than the base."""
    one = story(4, written=True)
    one.now += 6 * MINUTE
    one.say()
    request = one.call()
    one.report(request, 0, request)
    one.pieces[3] = Segment(one.pieces[3].anchor, "cleared", 40)
    one.say()
    one.report(one.call(), HOST + BASE, 1)
    found = one.account()
    assert [hit.predicted for hit in found.calls[-2:]] == [0, HOST + BASE]
    assert [(cut.what, cut.again) for cut in found.breaks] == [("idle", HOST + BASE + 4_000), ("message", 1_000)]


@pytest.mark.parametrize(
    ("model", "rules", "because"),
    [
        ("claude-sonnet-4-5", "anthropic", "by the model's name"),
        ("openai/gpt-5", "openai", "by the model's name"),
        ("openai/o3", "openai", "by the model's name"),
        ("llama-4", "openai", "assumed, the model's name tells nothing"),
    ],
)
def test_rules_are_chosen_by_what_is_known(model: str, rules: str, because: str) -> None:
    found = story(1, model=model).account()
    assert (found.policy.name, found.because) == (rules, because)


def test_nothing_at_all() -> None:
    found = account_for_calls((), lambda model: None)
    assert (found.calls, found.breaks, layer_totals(found)) == (
        (),
        (),
        {"base": LayerTotal(0, 0, 0), "deltas": LayerTotal(0, 0, 0), "tail": LayerTotal(0, 0, 0)},
    )


def test_a_pruning_is_named_with_what_it_cost_and_saved() -> None:
    """Eight outputs, the first two become stubs: the break is theirs, and each later call reads so much less."""
    story = Story("claude-sonnet-4-5").base()
    pieces = [Segment(f"m{n}", "tool", 8_000) for n in range(8)]
    before = None

    def call(now: list[Segment]) -> None:
        nonlocal before
        size = sum(piece.size for piece in now)
        known = FrameArguments(1_000, "anchored", "c", "1", 1, turn_start=False, tokens=BASE)
        story.add(ContextSnapshot(model=story.model, call=known, sent=common_prefix(before, now)))
        story.now += 1_000
        story.add(ContextSnapshot(model=story.model, spent=ResponseTokens(fresh=HOST + BASE + size // 4)))
        story.now += 9_000
        before = now

    call(pieces)
    stubs = (PrunedOutput("c0", "x" * 80), PrunedOutput("c1", "x" * 80))
    story.add(OutputsPrune(stubs, "pays", freed=3_960, reprocessed=12_000, saves=9_000))
    pruned = [Segment(f"m{n}", "tool", 80) for n in range(2)] + pieces[2:]
    for _ in range(4):
        call(pruned)
    prices = rates_for(ANTHROPIC, input=3.0)
    (found,) = account_for_calls(story.events, lambda model: prices).breaks
    assert (found.what, found.how, found.anchor, found.call) == ("pruned", "changed", "m0", 2)
    assert (found.outputs, found.freed, found.saved_calls) == (2, 3_960, 3)
    assert found.again == 12_000
    assert found.usd == pytest.approx(12_000 * (3.75 - 0.3) / 1e6)
    assert found.saved_usd == pytest.approx(4 * 3_960 * 0.3 / 1e6)  # by this call, and by the three later ones


def test_the_sessions_model_counts_where_no_call_names_one() -> None:
    with Hud.in_memory() as hud:
        session = hud.session("s")
        session.start(model="gpt-4.1")
        session.frame(used_tokens=1_000, limit_tokens=200_000)
        assert account_for_calls(session.events(), lambda _: None).model == "gpt-4.1"
        session.frame(used_tokens=2_000, limit_tokens=200_000, model="claude-sonnet-4-5")
        assert account_for_calls(session.events(), lambda _: None).model == "claude-sonnet-4-5"
