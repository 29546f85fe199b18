"""A long session without a compaction: at each call the HUD's layers hold what is true, and they cost little."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import pytest

from hudkit import Hud
from hudkit.config import BudgetSettings, Settings
from hudkit.context.caching import ANTHROPIC, OPENAI, CacheBlock, CachePolicy, CacheRequest, simulate_cache
from hudkit.hosts.host_session import HostCall, HostMessage, HostSession, Injection
from hudkit.log.event import Origin
from hudkit.log.payloads import FrameBase
from hudkit.sections.state import HudState
from hudkit.tokens import Window, count_tokens
from hudkit.transcripts import Message, ReportedUsage, TextPart, ToolPart
from long_session import CALLS, TITLE, ToolUse, Turn, fact_share, live_facts, turns
from ticking import Ticking

pytestmark = pytest.mark.slow

HOST_TOKENS = 9_000
"""Tokens of the host's own system prompt and tools, about as many as OpenCode's."""
TOOL_TOKENS = 340
"""Tokens of the definitions of our tools, which every request with the HUD has."""
MODEL = "claude-sonnet-4-5"


class Call(NamedTuple):
    """One model call: the messages, where the HUD stood among them, the state, and what a new base would hold."""

    entries: Sequence[HostMessage]
    injection: Injection
    state: HudState
    fresh: str

    @property
    def layers(self) -> str:
        blocks = [text for _, texts in sorted(self.injection.behind.items()) for text in texts]
        return "\n".join([self.injection.base, *blocks, self.injection.tail])

    @property
    def share(self) -> float:
        return fact_share(self.state, self.layers, self.fresh)


class Player:
    """Plays a session through `HostSession`."""

    def __init__(self, hud: Hud, clock: Ticking) -> None:
        self.session = hud.session("s", project="/tmp", host="here")
        self.clock = clock
        self._talk = HostSession(self.session, "s", "/tmp", "here", clock=clock.clock)
        self._entries: list[HostMessage] = []
        self.calls: list[Call] = []

    def play(self, session: Sequence[Turn]) -> list[Call]:
        for turn in session:
            self._add("user", turn.prompt)
            for step in turn.steps:
                used = self._ask()
                self._add("assistant", "Next.", *(self._use(n, tool) for n, tool in enumerate(step)), used=used)
            self._add("assistant", turn.answer, used=self._ask())
        return self.calls

    def _add(self, role: str, text: str, *uses: ToolPart, used: int | None = None) -> None:
        key = f"m{len(self._entries)}"
        usage = ReportedUsage(total=used) if used else None
        parts = (TextPart(key, text), *uses)
        message = Message(key, "s", role, created=self.clock.clock(), finish="stop", usage=usage, parts=parts)
        size = len(text) + sum(len(use.output) + len(str(use.input)) for use in uses)
        self._entries.append(HostMessage(key, message, "tool" if uses else role, size))

    def _ask(self) -> int:
        """Make a model call; return the tokens that it used. The title comes with the second one."""
        entries, window = list(self._entries), Window(200_000, 8_000, None, "host")
        title = TITLE if self.calls else ""
        call = HostCall(entries=entries, window=window, title=title, system=24_000, tools=12_000, model=MODEL)
        injection = self._talk.prepare_call(call)
        assert injection.frame is not None and injection.frame.tokens <= injection.frame.budget, injection.why
        fresh = self.session.frame_after_compaction().base
        self.calls.append(Call(entries, injection, self.session.state, fresh))
        return HOST_TOKENS + sum(entry.size for entry in entries) // 4

    def _use(self, number: int, tool: ToolUse) -> ToolPart:
        output = self._talk.tool("hud", tool.arguments).text if tool.tool == "hud" else tool.output
        id = f"c{len(self._entries)}.{number}"
        return ToolPart(id, tool.tool, id, "completed", dict(tool.arguments), output, metadata={"exit": tool.exit})


@pytest.fixture(scope="module")
def played() -> Iterator[Player]:
    clock = Ticking()
    with Hud.in_memory(clock=clock.clock, ids=clock.ids) as hud:
        player = Player(hud, clock)
        player.play(turns())
        yield player


# -- what the layers hold --------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [20, 60, 110])
def test_far_into_an_epoch_the_layers_hold_what_a_new_base_would(played: Player, number: int) -> None:
    call = played.calls[number - 1]
    facts = live_facts(call.state)
    print(f"call {number}: {call.share:.3f} of {len(facts)} live facts\n{call.layers}")
    assert len(facts) >= 10 and call.share >= 0.9


def test_after_the_first_steps_little_is_ever_missing(played: Player) -> None:
    """What is missing was recorded a few messages ago: its answer stands right there."""
    shares = [call.share for call in played.calls]
    print(f"{CALLS} calls, the least share from call 7 on {min(shares[6:]):.2f}, mean {sum(shares) / CALLS:.3f}")
    assert min(shares[6:]) >= 0.85 and sum(shares) / CALLS >= 0.94
    starts = [call.share for call in played.calls if call.injection.tail]
    assert len(starts) == len(turns()) and min(starts) >= 0.9


def test_the_task_is_told_once_it_is_set_though_a_title_came_meanwhile(played: Player) -> None:
    task = "task now: Make the billing service work with several currencies"
    told = [sum(task in text for texts in call.injection.behind.values() for text in texts) for call in played.calls]
    assert told == [0] + [1] * (CALLS - 1)
    assert not any(TITLE in call.layers for call in played.calls), "the title is no news"


def test_files_of_the_agents_own_calls_make_no_blocks(played: Player) -> None:
    assert len(played.session.state.files.active) > 10
    blocks = [text for texts in played.calls[-1].injection.behind.values() for text in texts]
    assert blocks and not any("file" in line.split(":")[0] for text in blocks for line in text.splitlines())


def test_at_the_start_of_a_turn_the_tail_says_what_holds_now(played: Player) -> None:
    tails = [call.injection.tail for call in played.calls if call.injection.tail]
    assert "Now:" not in tails[0]
    assert tails[5].partition("Now:\n\n")[2].splitlines() == [
        "- task: Make the billing service work with several currencies",
        "- step: Check rounding of refunds in yen",
        "- todo: Exchange snapshot per invoice (in progress)",
        "- constraint: Always use the fixtures of the finance team for tests (derived)",
    ]
    assert "- step: Ask finance for rates before the move" in tails[-1], "the step before it is done"
    frames = [call.injection.frame for call in played.calls if call.injection.tail]
    assert all(count_tokens(frame.tail) <= 40 + 120 for frame in frames if frame)


def test_without_the_setting_there_is_only_the_window(ticking: Ticking) -> None:
    settings = Settings(budget=BudgetSettings(digest_tokens=0))
    with Hud.in_memory(clock=ticking.clock, ids=ticking.ids, settings=settings) as hud:
        calls = Player(hud, ticking).play(turns()[:4])
    assert all("Now:" not in call.injection.tail for call in calls)


@pytest.mark.parametrize(
    ("model", "digest", "newest", "new"),
    [
        ("qwen2.5-coder-7b-instruct", "auto", True, True),
        ("our-fine-tune-v3", "auto", True, False),
        ("claude-sonnet-4-5", "auto", False, False),
        ("claude-sonnet-4-5", "all", True, True),
        ("qwen2.5-coder-7b-instruct", "far", False, False),
        ("our-fine-tune-v3", "far", False, False),
    ],
)
def test_a_small_model_is_told_at_the_turns_start_what_was_told_just_before(
    model: str, digest: Literal["auto", "far", "all"], newest: bool, new: bool
) -> None:
    """One that nobody knows is told of what takes the place of something in the base, and not of what is only new."""
    with Hud.in_memory(settings=Settings(budget=BudgetSettings(digest=digest))) as hud:
        session = hud.session("s")
        session.call("notes.add", {"text": "The port is 4417"})
        session.call("decisions.record", {"text": "The store is SQLite"})
        first, answer, second = ("u1", "user"), ("a1", "assistant"), ("u2", "user")
        session.frame(2_000, 32_000, model=model, transcript=[first])
        session.call("notes.update", {"item": "n1", "text": "The port is 7642"}, origin=Origin.USER)
        session.call("decisions.supersede", {"item": "d1", "text": "The store is PostgreSQL"}, origin=Origin.USER)
        session.call("notes.add", {"text": "The owner is Ines"}, origin=Origin.USER)
        session.frame(2_200, 32_000, model=model, transcript=[first, answer])
        tail = session.frame(2_400, 32_000, model=model, transcript=[first, answer, second]).tail
    told = [words in tail for words in ("- note: The port is 7642", "- decision: The store is PostgreSQL")]
    assert told == [newest, newest]
    assert ("- note: The owner is Ines" in tail) == new


# -- what it costs ---------------------------------------------------------------------------------------------


def test_it_is_one_epoch_and_what_was_sent_stays(played: Player) -> None:
    assert len([event for event in played.session.events() if isinstance(event.payload, FrameBase)]) == 1
    for before, after in pairwise(played.calls):
        assert before.injection.base == after.injection.base
        assert all(after.injection.behind[at] == texts for at, texts in before.injection.behind.items())


@pytest.mark.parametrize("policy", [ANTHROPIC, OPENAI], ids=lambda policy: policy.name)
def test_the_price_is_little(played: Player, policy: CachePolicy) -> None:
    with_hud, without = (prices(played.calls, policy, with_hud=on) for on in (True, False))
    for count, most in ((42, 1.04), (100, 1.03), (CALLS, 1.03)):
        ratio = sum(with_hud[:count]) / sum(without[:count])
        print(f"{policy.name}: {count} calls, x {ratio:.3f}")
        assert ratio <= most


def prices(calls: Sequence[Call], policy: CachePolicy, *, with_hud: bool) -> list[float]:
    """What each call costs, in input tokens at full price; without the HUD, all that is of it is left out."""
    sent = [_request(number, call, with_hud=with_hud) for number, call in enumerate(calls)]
    costs = simulate_cache(sent, policy)
    return [cost.read * policy.read_factor + cost.written * policy.write_factor + cost.fresh for cost in costs]


def _request(number: int, call: Call, *, with_hud: bool) -> CacheRequest:
    """The request as OpenCode lays it out: breakpoints behind the system prompt and the last two messages."""
    base = call.injection.base if with_hud else ""
    blocks = [CacheBlock("tools", 5_000 + TOOL_TOKENS * with_hud, "tools"), CacheBlock("system", 4_000, "system")]
    blocks.append(CacheBlock(f"base {base}", count_tokens(base), "system", breakpoint=True))
    ends = []
    for place, entry in enumerate(call.entries):
        texts = [part.text for part in entry.message.parts if isinstance(part, TextPart)]
        uses = [part for part in entry.message.parts if isinstance(part, ToolPart)]
        uses = [use for use in uses if with_hud or use.tool != "hud"]
        blocks += _blocks([*texts, *(str(use.input) for use in uses)], entry.message.role)
        if uses:
            ends.append(len(blocks) - 1)
            blocks += _blocks([use.output for use in uses], "tool")
        if with_hud:
            blocks += _blocks(call.injection.behind.get(place, ()), "user")
        ends.append(len(blocks) - 1)
    if with_hud and call.injection.tail:
        blocks += _blocks([call.injection.tail], "user")
        ends[-1] = len(blocks) - 1
    for end in ends[-2:]:
        blocks[end] = CacheBlock(blocks[end].key, blocks[end].tokens, blocks[end].role, breakpoint=True)
    return CacheRequest(tuple(blocks), 1_000 * number)


def _blocks(texts: Sequence[str], role: str) -> list[CacheBlock]:
    return [CacheBlock(text, count_tokens(text), role) for text in texts]
