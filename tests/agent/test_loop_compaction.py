"""Compaction in the loop: when it comes, what stays, how work goes on, and what happens where it fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from loops import QUICK, opened, texts
from msgspec.structs import replace

from hudkit.agent import events as told
from hudkit.agent import hud_plugin
from hudkit.agent.hooks import Autocontinue, CompactionContext, CompactionPrompt, Messages, ModelCallContext
from hudkit.agent.message_history import compaction_marker, visible_messages
from hudkit.agent.records import Attachment
from hudkit.agent.records import StoredCall as Stored
from hudkit.context.caching import CallCost
from hudkit.models import Media, TextContent, UserMessage
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import BROKEN, CONTEXT_EXCEEDED, Hang, Refusal, ScriptedCall, says, uses
from hudkit.models.scripted_answers import ScriptedReply as Said
from hudkit.models.scripted_model import InProcessModel
from hudkit.tokens import Window

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SMALL = Window(10_000, 2_000, None, "host")


def full(reply: Said) -> Said:
    """The same reply with a window that is nearly full after it."""
    return replace(reply, usage=CallCost(0, 0, 8_500, 10))


def small(*script: object, **given: object) -> InProcessModel:
    return InProcessModel(script, window=SMALL, **given)  # type: ignore[arg-type]


async def test_a_full_window_is_compacted_and_the_work_goes_on(tmp_path: Path) -> None:
    model = small(
        full(uses(ScriptedCall("bash", {"command": "echo old"}), text="I look around " + "x" * 4_000)),
        says("finished"),
        compaction=says("The goal is known."),
    )
    async with opened(tmp_path, model) as loop:
        events = loop.events()
        ended = await loop.prompt("build it")
        assert (ended.reason, ended.text) == ("done", "finished")
        assert loop.used_tokens is not None and loop.used_tokens < 8_500
        last = model.port_requests[-1]
        assert "x" * 4_000 not in str(last.messages) and "The goal is known." in str(last.messages)
        said = [part.text for message in last.messages if isinstance(message, UserMessage) for part in message.parts]  # type: ignore[union-attr]
        assert "Go on with the work" in said[-1]
        assert [
            type(one).__name__
            for one in events.take()
            if isinstance(one, told.CompactionStarted | told.CompactionFinished)
        ] == [
            "CompactionStarted",
            "CompactionFinished",
        ]
        summary = model.of("compaction")[0]
        assert not summary.body["tools"] and "x" * 4_000 in str(summary.pieces)


async def test_the_newest_messages_are_kept_word_for_word(tmp_path: Path) -> None:
    model = small(says("one " + "y" * 3_000), says("two: keep me"), full(says("three: keep me too")), says("four"))
    async with opened(tmp_path, model, settings=replace(QUICK, tail=500)) as loop:
        for text in ("a", "b", "c", "d"):
            await loop.prompt(text)
        last = str(model.port_requests[-1].messages)
        assert "y" * 3_000 not in last
        assert "two: keep me" in last and "three: keep me too" in last
        assert model.port_requests[-1].messages[-1] == UserMessage((TextContent("d"),)), (
            "the prompt is answered, not followed by another"
        )
        assert "keep me" not in str(model.of("compaction")[0].pieces), "what is kept need not be summarised"


async def test_automatic_compaction_can_be_switched_off(tmp_path: Path) -> None:
    model = small(full(uses(ScriptedCall("bash", {"command": "true"}))), says("done"))
    async with opened(tmp_path, model, settings=replace(QUICK, compact=False)) as loop:
        await loop.prompt("go")
        assert model.of("compaction") == []
        assert await loop.compact(), "it can still be asked for"
        assert len(model.of("compaction")) == 1


async def test_compaction_that_is_asked_for_waits_for_the_next_prompt(tmp_path: Path) -> None:
    model = small(says("one"), says("two"))
    async with opened(tmp_path, model) as loop:
        assert not await loop.compact(), "there is nothing to compact"
        await loop.prompt("first")
        assert await loop.compact()
        assert len(model.chats) == 1, "nothing goes on by itself"
        assert loop.used_tokens is None
        await loop.prompt("second")
        assert "A scripted summary." in str(model.port_requests[-1].messages)


async def test_a_request_that_is_too_long_is_compacted_and_the_prompt_comes_again(tmp_path: Path) -> None:
    model = small(says("one"), CONTEXT_EXCEEDED, says("seen"))
    async with opened(tmp_path, model) as loop:
        await loop.prompt("hello")
        ended = await loop.prompt(
            "what is this?", [Attachment("", "big.png", "image/png", b"\x89PNG" + bytes(1_000))]
        )
        assert ended.text == "seen"
        last = model.port_requests[-1].messages[-1]
        assert isinstance(last, UserMessage) and last.parts[0] == TextContent("what is this?")
        assert isinstance(last.parts[1], TextContent) and "big.png" in last.parts[1].text
        assert not any(isinstance(part, Media) for part in model.port_requests[2].messages[-1].parts)  # type: ignore[union-attr]


async def test_work_that_had_begun_is_told_of_when_the_prompt_is_replayed(tmp_path: Path) -> None:
    model = small(uses(ScriptedCall("bash", {"command": "seq 2000"})), CONTEXT_EXCEEDED, says("done"))
    async with opened(tmp_path, model) as loop:
        await loop.prompt("count")
        last = model.port_requests[-1].messages[-1]
        assert isinstance(last, UserMessage) and last.parts[0] == TextContent("count")
        assert "begun before the compaction" in str(last.parts[1])


async def test_a_provider_that_stops_for_a_full_window_is_answered_with_a_compaction(tmp_path: Path) -> None:
    model = small(Said("half of the ans", finish="compact"), says("wer"))
    async with opened(tmp_path, model) as loop:
        assert (await loop.prompt("go")).text == "wer"
        assert len(model.of("compaction")) == 1


async def test_a_summary_that_is_too_long_itself_is_asked_for_with_less(tmp_path: Path) -> None:
    def summary(asked: CapturedRequest) -> Said | Refusal:
        return CONTEXT_EXCEEDED if sum(len(piece.text) for piece in asked.pieces) > 9_000 else says("short enough")

    model = small(uses(ScriptedCall("bash", {"command": "seq 4000"})), says("done"), compaction=summary)
    async with opened(tmp_path, model) as loop:
        await loop.prompt("count")
        await loop.compact()
        assert texts(visible_messages(loop.messages))[1][1] == "short enough"
        assert len(model.of("compaction")) > 1


@pytest.mark.parametrize("answer", [says(""), says("I'm sorry, I can't help with that."), BROKEN, CONTEXT_EXCEEDED])
async def test_a_summary_that_no_model_writes_is_made_of_the_records(tmp_path: Path, answer: Said | Refusal) -> None:
    model = small(
        uses(ScriptedCall("write", {"path": "a.py", "content": "x = 1"})),
        says("half done"),
        says("next"),
        compaction=answer,
    )
    async with opened(tmp_path, model, settings=replace(QUICK, retries=1)) as loop:
        events = loop.events()
        await loop.prompt("make a.py")
        await loop.compact()
        done = [one for one in events.take() if isinstance(one, told.CompactionFinished)]
        assert done[0].without_model
        await loop.prompt("go on")
        sent = str(model.port_requests[-1].messages)
        assert "make a.py" in sent and "half done" in sent and "Files changed" in sent


async def test_compactions_that_free_nothing_are_not_repeated(tmp_path: Path) -> None:
    steps = [full(uses(ScriptedCall("bash", {"command": f"echo {n}"}))) for n in range(6)]
    model = small(*steps, says("done"))
    async with opened(tmp_path, model) as loop:
        assert (await loop.prompt("go")).reason == "done"
        assert len(model.of("compaction")) == 1, "the second would free as little"


async def test_a_window_that_is_too_small_for_a_prompt_ends_the_turn(tmp_path: Path) -> None:
    model = small(otherwise=CONTEXT_EXCEEDED)
    async with opened(tmp_path, model) as loop:
        ended = await loop.prompt("x" * 50_000)
        assert ended.reason == "window" and "longer than the window" in ended.error
    model = small(says("one"), otherwise=CONTEXT_EXCEEDED)
    async with opened(tmp_path, model) as loop:
        await loop.prompt("short")
        assert (await loop.prompt("x" * 50_000)).reason == "window"
        assert len(model.of("compaction")) >= 1


async def test_a_cancelled_compaction_leaves_the_session_as_it_was(tmp_path: Path) -> None:
    model = small(says("one"), says("two"), compaction=Hang())
    async with opened(tmp_path, model) as loop:
        await loop.prompt("first")
        before = visible_messages(loop.messages)
        compacting = asyncio.ensure_future(loop.compact())
        while not model.of("compaction"):
            await asyncio.sleep(0.01)
        loop.cancel()
        await compacting
        assert visible_messages(loop.messages) == before
        assert (await loop.prompt("second")).text == "two"


async def test_another_model_may_write_the_summaries(tmp_path: Path) -> None:
    writer = InProcessModel(compaction=says("by another"), name="scripted:writer")
    opened_names: list[str] = []

    def connect(name: str) -> InProcessModel:
        opened_names.append(name)
        return writer

    model = small(says("one"))
    rules = replace(QUICK, compaction_model="scripted:writer")
    async with opened(tmp_path, model, settings=rules, connect=connect) as loop:
        await loop.prompt("first")
        await loop.compact()
        assert (opened_names, len(writer.port_requests), model.of("compaction")) == (["scripted:writer"], 1, [])
        assert loop.messages[-1].model == "scripted:writer"


async def test_plugins_shape_a_compaction(tmp_path: Path) -> None:
    heard: list[str] = []

    def compacting(given: CompactionContext, output: CompactionPrompt) -> None:
        output.context.append("Never forget the port: 8123.")

    def hide(given: ModelCallContext, output: Messages) -> None:
        heard.append(given.agent)
        if given.agent == "compaction":
            for message in output.messages:
                for part in message.parts:
                    part.text = part.text.replace("secret", "[hidden]")

    def autocontinue(given: CompactionContext, output: Autocontinue) -> None:
        output.text = "Now write the tests."

    plugin = {"session_compacting": compacting, "messages_transform": hide, "compaction_autocontinue": autocontinue}
    model = small(full(uses(ScriptedCall("bash", {"command": "echo secret"}))), says("ok"))
    async with opened(tmp_path, model, plugins=[("shape", plugin)]) as loop:
        await loop.prompt("go")
        asked = str(model.of("compaction")[0].pieces)
        assert "8123" in asked and "secret" not in asked and heard[-2:] == ["compaction", "build"]
        assert "Now write the tests." in str(model.port_requests[-1].messages)
        outputs = [part.output for one in loop.messages for part in one.parts if isinstance(part, Stored)]
        assert outputs == ["secret"], "what is stored did not change"


async def test_a_plugin_may_replace_the_prompt_and_stop_the_work(tmp_path: Path) -> None:
    def compacting(given: CompactionContext, output: CompactionPrompt) -> None:
        output.prompt = "Only this."

    def stop(given: CompactionContext, output: Autocontinue) -> None:
        output.proceed = False

    plugin = {"session_compacting": compacting, "compaction_autocontinue": stop}
    model = small(full(uses(ScriptedCall("bash", {"command": "true"}))))
    async with opened(tmp_path, model, plugins=[("stop", plugin)]) as loop:
        ended = await loop.prompt("go")
        assert ended.reason == "stopped" and len(model.chats) == 1
        assert model.of("compaction")[0].pieces[-1].text == "Only this."


async def test_a_compaction_that_was_killed_between_its_steps_is_taken_up(tmp_path: Path) -> None:
    from hudkit.agent import compacting

    async with opened(tmp_path, small(full(says("one")))) as loop:
        await loop.prompt("go")
        id = loop.id
    again = small(says("went on"))
    async with opened(tmp_path, again, session=id) as loop:
        compacting.mark(loop._run, auto=True)  # and then the process ends
    async with opened(tmp_path, again, session=id) as loop:
        assert compaction_marker(loop.messages[-1]) is not None
        await loop.proceed()
        assert len(again.of("compaction")) == 1 and again.chats, "marker, summary, and on"


async def test_old_outputs_leave_the_window_where_that_pays(tmp_path: Path) -> None:
    def step(n: int) -> Callable[[CapturedRequest], Said]:
        return lambda _: uses(ScriptedCall("bash", {"command": f"seq {n} {n + 3000}"}))

    small_steps = [uses(ScriptedCall("bash", {"command": f"seq {n}"})) for n in range(10)]
    work = [*map(step, range(9)), says("done"), *(each for small in small_steps for each in (small, says("done")))]
    model = InProcessModel(work, window=Window(60_000, 8_000, None, "host"))
    hud = [("hud", hud_plugin(tmp_path / "data" / "hudkit.db"))]
    async with opened(tmp_path, model, settings=replace(QUICK, compact=False, prune=True), plugins=hud) as loop:
        events = loop.events()
        for _ in range(11):
            await loop.prompt("go")
        pruned = [id for one in events.take() if isinstance(one, told.OutputsPruned) for id in one.calls]
        assert pruned
        assert "[pruned: bash" in str(model.port_requests[-1].messages)
        stored = {part.call_id: part for one in loop.messages for part in one.parts if isinstance(part, Stored)}
        assert all(stored[id].compacted and len(stored[id].output) > 10_000 for id in pruned), "the store keeps them"
