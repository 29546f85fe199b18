"""What ends a turn before the model is done: limits of cost and tokens; and what the user says meanwhile."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from loops import QUICK, opened, texts
from msgspec.structs import replace

from hudkit.agent import AgentLoop, LoopSettings
from hudkit.agent.records import Attachment, StoredCall, StoredMessage
from hudkit.context.caching import CallCost
from hudkit.errors import SessionError, ToolError
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import Answer, Hang, Refusal, ScriptedCall, ScriptedReply, says, uses
from hudkit.models.scripted_model import InProcessModel
from hudkit.tokens import Prices

pytestmark = pytest.mark.anyio

DOLLAR_A_MILLION = Prices(1.0, 1.0, 1.0, 1.0, "test", "scripted:model")
STEP = ScriptedReply("", (ScriptedCall("todo", {}),), usage=CallCost(0, 0, 90_000, 10_000))
"""A step of 100,000 tokens, which at a dollar a million is ten cents."""


def limited(**limits: object) -> LoopSettings:
    return replace(QUICK, repeats=50, **limits)


@pytest.mark.parametrize(
    ("limits", "calls", "words"),
    [
        ({"prompt_tokens": 250_000}, 3, "the prompt has used 300,000 tokens, its limit is 250,000"),
        ({"session_tokens": 100_000}, 1, "the session has used 100,000 tokens, its limit is 100,000"),
        ({"prompt_cost": 0.15}, 2, r"the prompt has cost $0.2000, its limit is $0.15"),
        ({"session_cost": 0.35}, 4, r"the session has cost $0.4000, its limit is $0.35"),
        ({"prompt_cost": 0.0}, 0, r"the prompt has cost $0.0000, its limit is $0.00"),
    ],
)
async def test_a_limit_that_is_reached_ends_the_turn(
    tmp_path: Path, limits: dict[str, object], calls: int, words: str
) -> None:
    model = InProcessModel([STEP] * 9, prices=DOLLAR_A_MILLION)
    async with opened(tmp_path, model, settings=limited(**limits)) as loop:
        ended = await loop.prompt("go")
        assert (ended.reason, ended.error, len(model.port_requests)) == ("limit", words, calls)


@pytest.mark.slow
async def test_a_prompt_begins_with_nothing_spent_and_a_session_does_not(tmp_path: Path) -> None:
    model = InProcessModel([STEP, says("one"), STEP, says("two")], prices=DOLLAR_A_MILLION)
    settings = limited(prompt_tokens=150_000, session_tokens=200_000)
    async with opened(tmp_path, model, settings=settings) as loop:
        assert (await loop.prompt("go")).text == "one"
        ended = await loop.prompt("go on")
        assert ended.reason == "limit" and ended.error.startswith("the session has used 20")
        session = loop.id
    async with opened(tmp_path, InProcessModel([STEP], prices=DOLLAR_A_MILLION), session, settings=settings) as loop:
        assert (await loop.prompt("and on")).error.startswith("the session has used 20")
    settings = limited(prompt_tokens=150_000)
    async with opened(tmp_path, InProcessModel([STEP, says("on")]), session, settings=settings) as loop:
        assert (await loop.prompt("and on")).text == "on"


async def test_a_limit_of_dollars_is_not_passed_over_where_nobody_knows_the_price(tmp_path: Path) -> None:
    model = InProcessModel([STEP])
    async with opened(tmp_path, model, settings=limited(session_cost=5.0)) as loop:
        ended = await loop.prompt("go")
        assert ended.reason == "limit" and "nobody knows what scripted:model costs" in ended.error
        assert model.port_requests == []


@pytest.mark.slow
async def test_a_fallback_is_held_against_the_limits_from_its_first_call_on(tmp_path: Path) -> None:
    main = InProcessModel(lambda _: Refusal(503, "overloaded_error"), name="main:m", prices=DOLLAR_A_MILLION)
    unpriced = InProcessModel([says("dear")], name="odd:m")
    priced = InProcessModel([says("helped")], name="ok:m", prices=DOLLAR_A_MILLION)
    models = {"main:m": main, "odd:m": unpriced, "ok:m": priced}
    for fallbacks, reason in ((("odd:m", "ok:m"), "done"), (("odd:m",), "limit")):
        settings = replace(limited(session_cost=5.0), retries=0, fallback_models=fallbacks)
        async with opened(tmp_path, "main:m", connect=models.__getitem__, settings=settings) as loop:
            ended = await loop.prompt("go")
            assert ended.reason == reason
    assert len(priced.port_requests) == 1 and not unpriced.port_requests
    assert "nobody knows what odd:m costs" in ended.error


@pytest.mark.slow
async def test_what_sub_agents_spend_counts(tmp_path: Path) -> None:
    def answer(request: CapturedRequest) -> Answer:
        if any(text == "part" for _, text in request.messages[:1]):
            return STEP
        return uses(ScriptedCall("task", {"description": "p", "prompt": "part"}))

    model = InProcessModel(answer, prices=DOLLAR_A_MILLION)
    async with opened(tmp_path, model, settings=limited(prompt_tokens=350_000)) as loop:
        ended = await loop.prompt("go")
        assert ended.reason == "limit" and "the prompt has used" in ended.error
        assert len(model.port_requests) <= 6
        (call,) = [part for part in loop.messages[1].parts if isinstance(part, StoredCall)]
        assert "the sub-agent did not finish: the prompt has used" in call.error


# -- what the user says meanwhile --------------------------------------------------------------------------------


class Interrupting:
    """A tool during which the user says things; what became of them is in `said`."""

    def __init__(self, *words: tuple[str, list[Attachment]]) -> None:
        self.loop: AgentLoop | None = None
        self.said: list[asyncio.Future[StoredMessage | None]] = []
        self._words = words

    async def work(self) -> str:
        assert self.loop is not None
        self.said = [asyncio.ensure_future(self.loop.steer(text, files)) for text, files in self._words]
        await asyncio.sleep(0)
        return "worked"


@pytest.mark.slow
async def test_words_in_mid_turn_go_out_with_the_next_call(tmp_path: Path) -> None:
    user = Interrupting(("Use cone 6, not 10.", []))
    model = InProcessModel([uses(ScriptedCall("work", {})), says("as you say")])
    async with opened(tmp_path, model, tools=[user.work]) as loop:
        user.loop = loop
        ended = await loop.prompt("Fire the kiln.")
        message = await user.said[0]
        assert message is not None and message.role == "user"
        assert ended.text == "as you say"
        assert [role for role, _ in texts(loop.messages)] == ["user", "assistant", "user", "assistant"]
        assert texts(loop.messages)[2] == ("user", "Use cone 6, not 10.")
        assert "cone 6" not in model.requests[0].text and "cone 6" in model.requests[1].text
        undone = await loop.undo()
        assert undone.text == "Use cone 6, not 10.", "it is a prompt of its own"


async def test_words_that_come_with_the_last_answer_make_the_turn_go_on(tmp_path: Path) -> None:
    waiting: list[asyncio.Future[object]] = []

    def last_answer(_: CapturedRequest) -> Answer:
        waiting.append(asyncio.ensure_future(loop.steer("One more thing.")))
        return says("done?")

    model = InProcessModel([last_answer, says("that too")])
    async with opened(tmp_path, model) as loop:
        assert (await loop.prompt("go")).text == "that too"
        assert await waiting[0] is not None


async def test_words_for_a_turn_that_is_over_are_not_stored(tmp_path: Path) -> None:
    async with opened(tmp_path, InProcessModel([Hang()])) as loop:
        assert await loop.steer("too early") is None
        events = loop.events()
        turn = asyncio.ensure_future(loop.prompt("go"))
        await anext(events)
        steering = asyncio.ensure_future(loop.steer("too late"))
        await asyncio.sleep(0)
        loop.cancel()
        assert (await turn).reason == "cancelled" and await steering is None
        assert [text for role, text in texts(loop.messages) if role == "user"] == ["go"]


async def test_what_is_wrong_with_the_words_is_told_who_says_them_and_the_turn_goes_on(tmp_path: Path) -> None:
    user = Interrupting(("  ", []), ("look", [Attachment("", "missing.png")]))
    model = InProcessModel([uses(ScriptedCall("work", {})), says("done")])
    async with opened(tmp_path, model, tools=[user.work]) as loop:
        user.loop = loop
        assert (await loop.prompt("go")).text == "done"
        with pytest.raises(SessionError, match="empty"):
            await user.said[0]
        with pytest.raises(ToolError, match=r"missing\.png"):
            await user.said[1]
