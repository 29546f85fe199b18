"""A turn: tools in order, results back, retries, limits, cancellation, sub-sessions, and what is told of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from loops import QUICK, opened, texts
from msgspec.structs import replace

from hudkit.agent import events as told
from hudkit.agent.permissions import PermissionReply, PermissionRequest, PermissionRule
from hudkit.agent.records import Attachment
from hudkit.agent.records import StoredCall as Stored
from hudkit.agent.request_log import RequestLog
from hudkit.errors import SessionError
from hudkit.models import Media, TextContent, ToolResult
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import BROKEN, Hang, Refusal, ScriptedCall, says, uses
from hudkit.models.scripted_answers import ScriptedReply as Said
from hudkit.models.scripted_model import InProcessModel

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


def calls(loop: object) -> list[Stored]:
    return [part for message in loop.messages for part in message.parts if isinstance(part, Stored)]  # type: ignore[attr-defined]


async def test_a_prompt_is_answered_and_stored(tmp_path: Path) -> None:
    async with opened(tmp_path, InProcessModel([Said("Hello.", reasoning="They greet.")])) as loop:
        events = loop.events()
        ended = await loop.prompt("Hi there")
        assert (ended.reason, ended.text, ended.steps) == ("done", "Hello.", 1)
        assert texts(loop.messages) == [("user", "Hi there"), ("assistant", "They greet.Hello.")]
        assert loop.session.title == "Hi there"
        assert loop.session.usage.output > 0 and loop.used_tokens == loop.messages[-1].usage.used  # type: ignore[union-attr]
        kinds = [type(one).__name__ for one in events.take()]
        assert kinds[:3] == ["PromptAccepted", "TurnStarted", "ModelCallStarted"] and kinds[-2:] == [
            "ResponseFinished",
            "TurnEnded",
        ]


async def test_tools_run_in_the_model_s_order_and_their_results_go_back(tmp_path: Path) -> None:
    model = InProcessModel(
        [
            uses(
                ScriptedCall("write", {"path": "a.txt", "content": "one\n"}),
                ScriptedCall("read", {"path": "a.txt"}),
                ScriptedCall("edit", {"path": "a.txt", "old": "one", "new": "two"}),
                ScriptedCall("bash", {"command": "cat a.txt; exit 3"}),
            ),
            says("done"),
        ]
    )
    async with opened(tmp_path, model) as loop:
        assert (await loop.prompt("go")).text == "done"
        assert [call.status for call in calls(loop)] == ["completed"] * 4
        results = [message for message in model.port_requests[1].messages if isinstance(message, ToolResult)]
        assert "one" in results[1].text and "two\n[exit code 3]" in results[3].text
        assert (tmp_path / "project" / "a.txt").read_text() == "two\n"
        diffs = loop.setup.store.diffs(loop.id)
        assert [diff.path for diff in diffs] == ["a.txt", "a.txt"] and "+two" in diffs[1].diff


async def test_what_goes_wrong_with_a_call_is_its_result(tmp_path: Path) -> None:
    model = InProcessModel(
        [
            uses(
                ScriptedCall("nothing", {}),
                ScriptedCall("read", {"path": "missing.txt"}),
                ScriptedCall("read", "{broken"),
                ScriptedCall("read", {"way": 1}),
                ScriptedCall("read", {"path": "/etc/passwd"}),
                ScriptedCall("read", {"path": "x"}, id="same"),
                ScriptedCall("read", {"path": "y"}, id="other"),
            ),
            uses(ScriptedCall("read", {"path": "x"}, id="same")),
            says("done"),
        ]
    )
    async with opened(tmp_path, model) as loop:
        assert (await loop.prompt("go")).reason == "done"
        said = [call.error for call in calls(loop)]
        assert "there is no tool 'nothing'" in said[0] and "There are: read" in said[0]
        assert "no file" in said[1] and "JSON" in said[2] and "cannot be called so" in said[3]
        assert "not permitted" in said[4]
        assert calls(loop)[-1].call_id == "same-2", "an id that comes again gets a new one"


async def test_permission_is_asked_and_an_answer_holds(tmp_path: Path) -> None:
    asked: list[PermissionRequest] = []

    async def ask(question: PermissionRequest) -> PermissionReply:
        asked.append(question)
        return (
            PermissionReply("always")
            if "echo" in question.need.values[0]
            else PermissionReply("reject", message="not now")
        )

    echo = ScriptedCall("bash", {"command": "echo hi"})
    model = InProcessModel(
        [uses(echo), uses(echo), uses(ScriptedCall("bash", {"command": "rm -r src"})), says("done")]
    )
    async with opened(tmp_path, model, permissions=(), ask_user=ask) as loop:
        await loop.prompt("go")
        assert [call.status for call in calls(loop)] == ["completed", "completed", "error"]
        assert len(asked) == 2 and "not now" in calls(loop)[2].error


async def test_a_server_that_fails_is_asked_again_with_growing_pauses(tmp_path: Path) -> None:
    model = InProcessModel([BROKEN, Said("half of it is lost", cut=True), says("there it is")])
    async with opened(tmp_path, model) as loop:
        events = loop.events()
        ended = await loop.prompt("go")
        assert (ended.reason, ended.text) == ("done", "there it is")
        tries = [one for one in events.take() if isinstance(one, told.RetryScheduled)]
        assert [one.attempt for one in tries] == [1, 2] and tries[1].seconds == 2 * tries[0].seconds
        assert "half" not in str(model.port_requests[2].messages), "what broke off is not sent"
        assert (await loop.prompt("more")).reason == "done"
        assert "half" not in str(model.port_requests[3].messages)


async def test_retries_end_and_the_failure_is_said(tmp_path: Path) -> None:
    model = InProcessModel(otherwise=BROKEN)
    async with opened(tmp_path, model, settings=replace(QUICK, retries=2)) as loop:
        ended = await loop.prompt("go")
        assert ended.reason == "error" and "does not answer" in ended.error
        assert len(model.port_requests) == 3
        model.otherwise = says("now it works")
        assert (await loop.proceed()).text == "now it works"


async def test_a_key_that_is_refused_is_not_tried_again(tmp_path: Path) -> None:
    model = InProcessModel([Refusal(401, "authentication_error")])
    async with opened(tmp_path, model) as loop:
        assert (await loop.prompt("go")).reason == "error"
        assert len(model.port_requests) == 1


async def test_the_same_call_with_the_same_result_ends_the_turn(tmp_path: Path) -> None:
    model = InProcessModel(otherwise=uses(ScriptedCall("read", {"path": "missing.txt"})))
    async with opened(tmp_path, model) as loop:
        ended = await loop.prompt("go")
        assert ended.reason == "repeats" and len(model.port_requests) == 6
        assert "gave the same 3 times" in calls(loop)[2].error
        assert "was called" in calls(loop)[3].error


async def test_the_same_call_with_new_results_goes_on(tmp_path: Path) -> None:
    count = ScriptedCall("bash", {"command": "echo x >> f; wc -l < f"})
    model = InProcessModel([uses(count) for _ in range(8)])
    async with opened(tmp_path, model) as loop:
        assert (await loop.prompt("go")).reason == "done"


async def test_the_steps_of_a_turn_are_bounded(tmp_path: Path) -> None:
    def again(asked: CapturedRequest) -> Said:
        return uses(ScriptedCall("bash", {"command": f"echo {asked.number}"}))

    async with opened(tmp_path, InProcessModel(again), settings=replace(QUICK, steps=4)) as loop:
        ended = await loop.prompt("go")
        assert (ended.reason, ended.steps) == ("steps", 4)


async def test_cancelling_while_a_tool_runs_says_what_was_cut_off(tmp_path: Path) -> None:
    model = InProcessModel(
        [
            uses(
                ScriptedCall("bash", {"command": "echo begun > f; sleep 60"}),
                ScriptedCall("bash", {"command": "echo > g"}),
            )
        ]
    )
    async with opened(tmp_path, model) as loop:
        turn = asyncio.ensure_future(loop.prompt("go"))
        while not (tmp_path / "project" / "f").exists():
            await asyncio.sleep(0.01)
        assert loop.cancel()
        assert (await turn).reason == "cancelled"
        first, second = calls(loop)
        assert first.interrupted and "may have had effects" in first.error
        assert second.interrupted and "before it ran" in second.error
        assert not (tmp_path / "project" / "g").exists()
        model.play(says("going on"))
        assert (await loop.prompt("go on")).text == "going on"
        assert "may have had effects" in str(model.port_requests[-1].messages)


async def test_cancelling_while_the_model_speaks_keeps_what_it_said(tmp_path: Path) -> None:
    model = InProcessModel([Said("a first half and a second one", pace=0.3)])
    async with opened(tmp_path, model) as loop:
        events = loop.events()
        turn = asyncio.ensure_future(loop.prompt("go"))
        async for one in events:
            if isinstance(one, told.TextChunk):
                break
        loop.cancel()
        assert (await turn).reason == "cancelled"
        assert loop.messages[-1].aborted and texts(loop.messages)[-1][1].startswith("a first")
        model.play(says("rest"))
        assert (await loop.proceed()).text == "rest"


async def test_who_awaits_a_prompt_can_be_cancelled_too(tmp_path: Path) -> None:
    async with opened(tmp_path, InProcessModel([Hang()])) as loop:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await loop.prompt("go")
        assert loop.messages[-1].aborted and not loop.busy


async def test_prompts_wait_for_each_other(tmp_path: Path) -> None:
    model = InProcessModel([says("one"), says("two"), says("three")])
    async with opened(tmp_path, model) as loop:
        ended = await asyncio.gather(loop.prompt("1"), loop.prompt("2"), loop.prompt("3"))
        assert [one.text for one in ended] == ["one", "two", "three"]
        assert [text for role, text in texts(loop.messages) if role == "user"] == ["1", "2", "3"]


async def test_a_sub_session_works_in_a_transcript_of_its_own(tmp_path: Path) -> None:
    task = ScriptedCall("task", {"description": "look", "prompt": "count the files", "agent": "general"})
    model = InProcessModel(
        [uses(task), uses(ScriptedCall("glob", {"pattern": "*"})), says("there are 2 files"), says("they say 2")]
    )
    async with opened(tmp_path, model) as loop:
        (tmp_path / "project" / "a").write_text("")
        assert (await loop.prompt("how many?")).text == "they say 2"
        call = calls(loop)[0]
        assert "\nthere are 2 files\n" in call.output
        child = loop.setup.store.session(str(call.metadata["session"]))
        assert child is not None and child.parent_id == loop.id and child.agent == "general"
        assert texts(loop.setup.store.messages(child.id))[0] == ("user", "count the files")
        names = [{tool.name for tool in request.tools} for request in model.port_requests]
        assert "task" in names[0] and "task" not in names[1], "a sub-agent starts none of its own"
        assert "how many" not in str(model.port_requests[1].messages)


async def test_a_sub_session_has_no_more_leave_than_its_parent(tmp_path: Path) -> None:
    task = ScriptedCall("task", {"description": "x", "prompt": "write", "agent": "general"})
    model = InProcessModel(
        [uses(task), uses(ScriptedCall("write", {"path": "a", "content": "x"})), says("no"), says("it could not")]
    )
    rules = (PermissionRule("edit", "**", "deny"),)
    async with opened(tmp_path, model, permissions=rules) as loop:
        await loop.prompt("go")
        assert not (tmp_path / "project" / "a").exists()


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
async def test_sub_agents_start_others_as_deep_as_the_rules_say(tmp_path: Path, depth: int) -> None:
    def deeper(asked: CapturedRequest) -> Said:
        return uses(
            ScriptedCall("task", {"description": "x", "prompt": f"level {asked.number + 1}", "agent": "general"})
        )

    model = InProcessModel([deeper] * depth, otherwise=says("at the bottom"))
    rules = (PermissionRule("edit", "**", "deny"),)
    async with opened(tmp_path, model, settings=replace(QUICK, depth=depth), permissions=rules) as loop:
        assert (await loop.prompt("go")).text == "at the bottom"
        may = ["task" in {tool.name for tool in request.tools} for request in model.port_requests[: depth + 1]]
        assert may == [True] * depth + [False]
        sessions = loop.setup.store.sessions()
        assert [one.parent_id for one in sessions] == ["", *(one.id for one in sessions[:-1])]
        assert len(sessions) == depth + 1
        made = [loop.setup.store.messages(one.id)[0] for one in sessions[1:]]
        assert [text for _, text in texts(tuple(made))] == [f"level {n}" for n in range(1, depth + 1)]


async def test_files_are_attached_as_text_or_as_media(tmp_path: Path) -> None:
    model = InProcessModel()
    async with opened(tmp_path, model) as loop:
        (tmp_path / "project" / "notes.md").write_text("remember this")
        (tmp_path / "project" / "dot.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\xff")
        await loop.prompt("look", [Attachment("", "notes.md"), Attachment("", "dot.png")])
        parts = model.port_requests[0].messages[0].parts  # type: ignore[union-attr]
        assert isinstance(parts[1], TextContent) and "remember this" in parts[1].text
        assert isinstance(parts[2], Media) and parts[2].media_type == "image/png"
        with pytest.raises(SessionError, match="empty"):
            await loop.prompt("  ")


async def test_another_agent_brings_its_own_rules(tmp_path: Path) -> None:
    write = uses(ScriptedCall("write", {"path": "a", "content": "x"}))
    model = InProcessModel([write, says("no"), write, says("yes")])
    async with opened(tmp_path, model, agent="plan") as loop:
        await loop.prompt("go")
        assert not (tmp_path / "project" / "a").exists() and "not permitted" in calls(loop)[0].error
        await loop.switch(agent="build")
        await loop.prompt("go")
        assert (tmp_path / "project" / "a").exists()
        await loop.switch(agent="plan")
        model.play(uses(ScriptedCall("write", {"path": "b", "content": "x"})))
        await loop.prompt("go")
        assert not (tmp_path / "project" / "b").exists()
        assert loop.session.agent == "plan"


async def test_each_request_is_built_again_from_the_log_byte_for_byte(tmp_path: Path) -> None:
    model = InProcessModel(
        [
            uses(ScriptedCall("bash", {"command": "echo hi"}), text="so"),
            BROKEN,
            says("a"),
            says("b", used=150_000),
            says("c"),
        ]
    )
    async with opened(tmp_path, model) as loop:
        for text in ("one", "two", "three"):
            await loop.prompt(text)
        id = loop.id
    log = RequestLog(tmp_path / "data" / "requests.db")
    built = [sent.request for sent in log.requests(id)]
    log.close()
    assert len(built) == len(model.port_requests) == 5
    assert built == model.port_requests


async def test_within_an_epoch_a_request_begins_with_the_one_before(tmp_path: Path) -> None:
    model = InProcessModel(
        [uses(ScriptedCall("bash", {"command": f"echo {n}"}), text=f"step {n}") for n in range(6)] + [says("done")]
    )
    async with opened(tmp_path, model) as loop:
        await loop.prompt("go")
        await loop.prompt("again")
    for before, after in zip(model.port_requests, model.port_requests[1:], strict=False):
        assert (after.system, after.tools, after.settings) == (before.system, before.tools, before.settings)
        assert after.messages[: len(before.messages)] == before.messages


async def test_a_session_is_opened_again_with_what_it_was(tmp_path: Path) -> None:
    model = InProcessModel([says("one")])
    async with opened(tmp_path, model) as loop:
        await loop.prompt("first")
        id = loop.id
    again = InProcessModel([says("two")])
    async with opened(tmp_path, again, session=id) as loop:
        await loop.prompt("second")
        first, resumed = model.port_requests[0], again.port_requests[0]
        first, resumed = model.port_requests[0], again.port_requests[0]
        assert resumed.messages[: len(first.messages)] == first.messages
        assert resumed.system == first.system
