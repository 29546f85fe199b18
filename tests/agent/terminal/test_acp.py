"""`hudkit acp`: the agent in an editor; the editor is the client of the protocol's own SDK, over the real process."""

from __future__ import annotations

import asyncio
import base64
import json
import signal
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from acp import PROTOCOL_VERSION, RequestError, schema, spawn_agent_process, text_block
from acp.client.connection import ClientSideConnection

from hudkit.agent.records import Attachment, StoredText
from hudkit.models.scripted_answers import ScriptedCall
from hudkit.testing import ScriptedModel, says, uses
from terminal_harness import Desk
from waiting import PATIENCE, until

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

DONE = {"text": "Done."}
BASH = {"calls": [{"name": "bash", "arguments": {"command": "echo hello > made.txt"}}]}
MCP_CHILD = Path(__file__).parents[1] / "mcp_child.py"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class Editor:
    """The client's side: what was told, and what it answers when it is asked."""

    def __init__(self) -> None:
        self.updates: list[tuple[str, Any]] = []
        self.questions: list[tuple[schema.ToolCallUpdate, list[schema.PermissionOption], int]] = []
        self.choice = "once"
        self.news = asyncio.Event()

    def on_connect(self, conn: Any) -> None:
        pass

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append((session_id, update))
        self.news.set()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[schema.PermissionOption], **_: Any
    ) -> schema.RequestPermissionResponse:
        self.questions.append((tool_call, options, len(self.updates)))
        self.news.set()
        if self.choice == "never":
            await asyncio.Event().wait()
        if self.choice == "none":
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        if self.choice == "broken":
            raise RequestError.internal_error()
        outcome = schema.AllowedOutcome(outcome="selected", option_id=self.choice)
        return schema.RequestPermissionResponse(outcome=outcome)

    def of(self, kind: str) -> list[Any]:
        return [update for _, update in self.updates if update.session_update == kind]

    def text(self, kind: str = "agent_message_chunk") -> str:
        return "".join(update.content.text for update in self.of(kind))

    async def until(self, holds: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not holds():
                self.news.clear()
                await self.news.wait()


class Door:
    """A connection to the process, with its editor."""

    def __init__(self, conn: ClientSideConnection, editor: Editor, process: Any, desk: Desk) -> None:
        self.conn, self.editor, self.process, self.desk = conn, editor, process, desk

    async def session(self, servers: Sequence[Any] = ()) -> str:
        new = await self.conn.new_session(cwd=str(self.desk.project), mcp_servers=list(servers))
        return new.session_id

    async def say(self, session: str, *blocks: Any) -> str:
        """Send a prompt; the reason why its turn ended."""
        said = [text_block(block) if isinstance(block, str) else block for block in blocks]
        return (await self.conn.prompt(session_id=session, prompt=said)).stop_reason


@asynccontextmanager
async def opened(desk: Desk, *answers: dict[str, Any], options: tuple[str, ...] = ()) -> AsyncIterator[Door]:
    editor = Editor()
    argv = desk.argv("acp", "--script", desk.script(*answers), *options)
    async with spawn_agent_process(editor, argv[0], *argv[1:], env=desk.env, cwd=desk.project) as (conn, process):
        about = await conn.initialize(protocol_version=PROTOCOL_VERSION)
        assert about.agent_info is not None and about.agent_info.name == "hudkit"
        yield Door(conn, editor, process, desk)


async def test_a_prompt_is_worked_on_and_told_as_it_goes(desk: Desk) -> None:
    (desk.project / "a.py").write_text("x = 1\n")
    answers = (
        {"reasoning": "First I look.", "calls": [{"name": "read", "arguments": {"path": "a.py"}}]},
        {"calls": [{"name": "edit", "arguments": {"path": "a.py", "old": "x = 1", "new": "x = 2"}}]},
        DONE,
    )
    async with opened(desk, *answers) as door:
        session = await door.session()
        assert await door.say(session, "Make it two") == "end_turn"
        editor = door.editor
    assert (desk.project / "a.py").read_text() == "x = 2\n"
    assert {id for id, _ in editor.updates} == {session}
    assert editor.text() == "Done." and editor.text("agent_thought_chunk") == "First I look."
    read, edit = editor.of("tool_call")
    assert (read.kind, edit.kind) == ("read", "edit") and read.raw_input == {"path": "a.py"}
    assert edit.locations[0].path == str(desk.project / "a.py")
    ended = {update.tool_call_id: update for update in editor.of("tool_call_update")}
    assert ended[read.tool_call_id].status == ended[edit.tool_call_id].status == "completed"
    assert "x = 1" in ended[read.tool_call_id].content[0].content.text
    diff = ended[edit.tool_call_id].content[0]
    assert (diff.type, diff.old_text, diff.new_text) == ("diff", "x = 1", "x = 2")


@pytest.mark.parametrize(("choice", "made"), [("once", True), ("reject", False), ("none", False), ("broken", False)])
async def test_the_editor_is_asked_for_permission(desk: Desk, choice: str, made: bool) -> None:
    async with opened(desk, BASH, DONE) as door:
        session = await door.session()
        door.editor.choice = choice
        assert await door.say(session, "Do it") == "end_turn"
        ((call, options, told),) = door.editor.questions
    assert call.title == "bash echo hello > made.txt" and call.raw_input == {"command": "echo hello > made.txt"}
    assert [option.kind for option in options] == ["allow_once", "allow_always", "reject_once"]
    before = [update.tool_call_id for _, update in door.editor.updates[:told] if hasattr(update, "tool_call_id")]
    assert call.tool_call_id in before, "the call is told before it is asked about"
    assert (desk.project / "made.txt").exists() == made
    assert door.editor.of("tool_call_update")[-1].status == ("completed" if made else "failed")


async def test_always_holds_for_the_session(desk: Desk) -> None:
    async with opened(desk, BASH, BASH, DONE) as door:
        session = await door.session()
        door.editor.choice = "always"
        assert await door.say(session, "Do it twice") == "end_turn"
        assert len(door.editor.questions) == 1


async def test_the_steps_of_the_hud_are_the_plan(desk: Desk) -> None:
    def hud(**arguments: Any) -> dict[str, Any]:
        return {"calls": [{"name": "hud", "arguments": arguments}]}

    answers = (
        hud(operation="steps.add", text="Read the report"),
        hud(operation="steps.add", text="Port it"),
        hud(operation="steps.complete", item="s1"),
        DONE,
    )
    async with opened(desk, *answers) as door:
        await door.say(await door.session(), "Port the report")
        plans = [[(entry.content, entry.status) for entry in plan.entries] for plan in door.editor.of("plan")]
    read, port = "Read the report", "Port it"
    assert plans == [
        [(read, "pending")],
        [(read, "pending"), (port, "pending")],
        [(read, "completed"), (port, "pending")],
    ]


async def test_without_steps_the_todo_list_is_the_plan(desk: Desk) -> None:
    todos = [
        {"content": "look", "status": "completed"},
        {"content": "port", "status": "in_progress", "priority": "high"},
    ]
    async with opened(desk, {"calls": [{"name": "todo", "arguments": {"todos": todos}}]}, DONE) as door:
        await door.say(await door.session(), "Go")
        (plan,) = door.editor.of("plan")
    assert [(entry.content, entry.status, entry.priority) for entry in plan.entries] == [
        ("look", "completed", "medium"),
        ("port", "in_progress", "high"),
    ]


async def test_a_turn_is_cancelled_while_a_call_runs_and_while_a_question_waits(desk: Desk) -> None:
    endless = {"calls": [{"name": "bash", "arguments": {"command": "touch begun; sleep 600"}}]}
    async with opened(desk, endless, BASH, DONE) as door:
        session = await door.session()
        turn = asyncio.ensure_future(door.say(session, "Wait"))
        await door.editor.until(lambda: any(u.status == "in_progress" for u in door.editor.of("tool_call_update")))
        await door.conn.cancel(session_id=session)
        assert await turn == "cancelled"
        assert door.editor.of("tool_call_update")[-1].status == "failed"
        door.editor.choice = "never"
        turn = asyncio.ensure_future(door.say(session, "Again"))
        await door.editor.until(lambda: len(door.editor.questions) == 2)
        await door.conn.cancel(session_id=session)
        assert await turn == "cancelled" and not (desk.project / "made.txt").exists()
        assert await door.say(session, "And now?") == "end_turn"
    assert desk.messages()[-1].finish, "what was cancelled left a valid transcript"


async def test_a_session_is_loaded_after_a_kill_with_all_that_was_said(desk: Desk) -> None:
    remember = {"calls": [{"name": "hud", "arguments": {"operation": "steps.add", "text": "Port it"}}]}
    async with opened(desk, {"text": "I note it.", **remember}, DONE) as door:
        session = await door.session()
        await door.say(session, "Port the report")
        door.process.send_signal(signal.SIGKILL)
        await door.process.wait()
    async with opened(desk, {"text": "Ported."}) as door:
        listed = (await door.conn.list_sessions(cwd=str(desk.project))).sessions
        assert [(each.session_id, each.title) for each in listed] == [(session, "Port the report")]
        await door.conn.load_session(cwd=str(desk.project), session_id=session, mcp_servers=[])
        assert door.editor.text("user_message_chunk") == "Port the report"
        assert door.editor.text() == "I note it.Done."
        (call,) = door.editor.of("tool_call")
        assert call.status == "completed" and call.raw_input["text"] == "Port it"
        assert [entry.content for entry in door.editor.of("plan")[0].entries] == ["Port it"]
        assert await door.say(session, "Go on") == "end_turn"
        assert door.editor.text().endswith("Ported.")
        with pytest.raises(RequestError, match="not found"):
            await door.conn.load_session(cwd=str(desk.project), session_id="ses_none", mcp_servers=[])


async def test_a_call_that_was_killed_is_told_as_such_and_not_run_again(desk: Desk) -> None:
    endless = {"calls": [{"name": "bash", "arguments": {"command": "echo x >> runs; sleep 600"}}]}
    async with opened(desk, endless, options=("--yes",)) as door:
        session = await door.session()
        turn = asyncio.ensure_future(door.say(session, "Wait"))
        await asyncio.to_thread(until, (desk.project / "runs").exists)
        door.process.send_signal(signal.SIGKILL)
        await door.process.wait()
        await asyncio.gather(turn, return_exceptions=True)
    async with opened(desk, DONE, options=("--yes",)) as door:
        await door.conn.load_session(cwd=str(desk.project), session_id=session, mcp_servers=[])
        (call,) = door.editor.of("tool_call")
        assert call.status == "failed" and "it was not run again" in call.content[0].content.text
        assert await door.say(session, "Go on") == "end_turn"
    assert (desk.project / "runs").read_text() == "x\n"


async def test_a_turn_is_cancelled_however_early(desk: Desk) -> None:
    endless = {"calls": [{"name": "bash", "arguments": {"command": "sleep 600"}}]}
    async with opened(desk, *[endless] * 4, options=("--yes",)) as door:
        session = await door.session()
        for pause in (0, 0, 0.005, 0.02):  # before its turn has begun, and within the first model call
            turn = asyncio.ensure_future(door.say(session, "Do it"))
            await asyncio.sleep(pause)
            await door.conn.cancel(session_id=session)
            assert await turn == "cancelled"


async def test_what_a_prompt_carries_goes_to_the_model(desk: Desk) -> None:
    image = schema.ImageContentBlock(type="image", data=base64.b64encode(PIXEL).decode(), mime_type="image/png")
    link = schema.ResourceContentBlock(type="resource_link", name="notes", uri="file:///tmp/notes.md")
    text = schema.TextResourceContents(uri="file:///tmp/rules.md", text="Tabs only.")
    embedded = schema.EmbeddedResourceContentBlock(type="resource", resource=text)
    async with opened(desk, DONE) as door:
        session = await door.session()
        assert await door.say(session, "Look at", link, embedded, image) == "end_turn"
        sound = schema.AudioContentBlock(type="audio", data="", mime_type="audio/wav")
        with pytest.raises(RequestError, match="audio"):
            await door.say(session, "Hear", sound)
        with pytest.raises(RequestError):
            await door.say(session, "")
    (prompt,) = [message for message in desk.messages() if message.role == "user"]
    words = [part.text for part in prompt.parts if isinstance(part, StoredText) and not part.synthetic]
    assert words == ["Look at [notes](file:///tmp/notes.md) [rules.md](file:///tmp/rules.md)"]
    assert any("Tabs only." in part.text for part in prompt.parts if isinstance(part, StoredText) and part.synthetic)
    assert [part.data for part in prompt.parts if isinstance(part, Attachment)] == [PIXEL]


async def test_commands_and_modes_are_offered_and_used(desk: Desk) -> None:
    folder = desk.project / ".hudkit" / "commands"
    folder.mkdir(parents=True)
    (folder / "greet.md").write_text("---\ndescription: Greets\n---\nGreet $1 warmly.")
    write = {"calls": [{"name": "write", "arguments": {"path": "a.txt", "content": "a"}}]}
    async with opened(desk, DONE, write, DONE) as door:
        new = await door.conn.new_session(cwd=str(desk.project), mcp_servers=[])
        session = new.session_id
        await door.editor.until(lambda: door.editor.of("available_commands_update"))
        (offered,) = door.editor.of("available_commands_update")[0].available_commands
        assert (offered.name, offered.description) == ("greet", "Greets")
        assert await door.say(session, "/greet Ann") == "end_turn"
        assert new.modes is not None and new.modes.current_mode_id == "build"
        assert "plan" in [mode.id for mode in new.modes.available_modes]
        await door.conn.set_session_mode(session_id=session, mode_id="plan")
        assert await door.say(session, "Write it") == "end_turn"
        assert not (desk.project / "a.txt").exists(), "plan mode changes no file"
        with pytest.raises(RequestError, match="no agent"):
            await door.conn.set_session_mode(session_id=session, mode_id="nobody")
    prompts = [message for message in desk.messages() if message.role == "user"]
    assert "Greet Ann warmly." in [part.text for part in prompts[0].parts if isinstance(part, StoredText)]


async def test_mcp_servers_of_the_editor_are_tools(desk: Desk) -> None:
    server = schema.McpServerStdio(
        name="kiln",
        command=sys.executable,
        args=[str(MCP_CHILD)],
        env=[schema.EnvVariable(name="KILN_KEY", value="a key")],
    )
    call = {"calls": [{"name": "kiln_temperature", "arguments": {"kiln": 3}}]}
    async with opened(desk, call, DONE) as door:
        assert await door.say(await door.session([server]), "How hot?") == "end_turn"
        assert [call.title for call, _, _ in door.editor.questions] == ["kiln_temperature"]
        assert "980 °C, asked with a key" in door.editor.of("tool_call_update")[-1].raw_output


async def test_sessions_of_one_process_work_side_by_side(desk: Desk) -> None:
    wait = {"calls": [{"name": "bash", "arguments": {"command": "while [ ! -e go ]; do sleep 0.02; done"}}]}
    async with opened(desk, wait, DONE, options=("--yes",)) as door:
        first = await door.session()
        turn = asyncio.ensure_future(door.say(first, "Wait"))
        await door.editor.until(lambda: door.editor.of("tool_call_update"))
        other = await door.session()
        (desk.project / "go").touch()
        assert await door.say(other, "Wait too") == "end_turn"
        assert await turn == "end_turn"
        assert {id for id, _ in door.editor.updates} == {first, other} and not door.editor.questions


async def test_the_process_ends_with_its_editor(desk: Desk) -> None:
    endless = {"calls": [{"name": "bash", "arguments": {"command": "sleep 600"}}]}
    async with opened(desk, endless, DONE, options=("--yes",)) as door:
        turn = asyncio.ensure_future(door.say(await door.session(), "Wait"))
        await door.editor.until(lambda: any(u.status == "in_progress" for u in door.editor.of("tool_call_update")))
        door.process.stdin.close()
        async with asyncio.timeout(PATIENCE):
            assert await door.process.wait() == 0
        await asyncio.gather(turn, return_exceptions=True)
    assert desk.messages()[-1].aborted, "what was under way left a valid transcript"


async def test_what_is_sent_is_the_protocol_and_nothing_else(desk: Desk) -> None:
    plugins = desk.config.parent / "plugins"
    plugins.mkdir()
    (plugins / "loud.py").write_text("def plugin(given):\n    print('not json')\n    return {'event': print}\n")
    folder = desk.project / ".hudkit" / "commands"
    folder.mkdir(parents=True)
    (folder / "greet.md").write_text("Greet $1.")
    child = desk.start("acp", "--script", desk.script(DONE))
    assert child.stdin is not None and child.stdout is not None and child.stderr is not None
    methods = []
    calls = [
        ("initialize", {"protocolVersion": 1}),
        ("session/new", {"cwd": str(desk.project), "mcpServers": []}),
        ("session/prompt", {"prompt": [{"type": "text", "text": "Hi"}]}),
    ]
    session = ""
    for number, (method, params) in enumerate(calls):
        params |= {"sessionId": session} if method == "session/prompt" else {}
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        child.stdin.write(f"{json.dumps(message)}\n")
        child.stdin.flush()
        while (answer := json.loads(child.stdout.readline())).get("id") != number:
            methods.append((number, answer["params"]["update"]["sessionUpdate"]))
        session = answer["result"].get("sessionId", session)
    child.stdin.close()
    assert child.stdout.read() == "" and child.wait(PATIENCE) == 0
    assert "not json" in child.stderr.read()
    # behind the answer that names the session: an editor drops what is told of one that it does not know
    assert methods[0] == (2, "available_commands_update") and (2, "agent_message_chunk") in methods
    child.stdout.close()
    child.stderr.close()


async def test_how_a_turn_ends_is_told_in_the_protocol_s_words(desk: Desk) -> None:
    refused = {"refuse": {"status": 401, "message": "the key is wrong"}}
    async with opened(
        desk, {"text": "No.", "finish": "refusal"}, {"text": "So", "finish": "length"}, refused
    ) as door:
        session = await door.session()
        assert await door.say(session, "Do harm") == "refusal"
        assert "held back" in door.editor.text()
        assert await door.say(session, "Tell me all") == "max_tokens"
        with pytest.raises(RequestError, match="the key is wrong"):
            await door.say(session, "And now?")


async def test_the_hud_is_in_the_calls_of_a_real_server(desk: Desk) -> None:
    note = uses(ScriptedCall("hud", {"operation": "notes.add", "text": "The bisque shelf is full"}))
    with ScriptedModel([note, says("Noted."), says("Full.")]) as model:
        desk.env |= {"OPENAI_BASE_URL": f"{model.url}/v1", "OPENAI_API_KEY": "key"}
        argv = desk.argv("acp", "--model", "openai-chat:gpt-5")
        editor = Editor()
        async with spawn_agent_process(editor, argv[0], *argv[1:], env=desk.env, cwd=desk.project) as (conn, process):
            await conn.initialize(protocol_version=PROTOCOL_VERSION)
            door = Door(conn, editor, process, desk)
            session = await door.session()
            assert await door.say(session, "Remember the shelf") == "end_turn"
            assert await door.say(session, "How is it?") == "end_turn"
        assert editor.text() == "Noted.Full."
        assert editor.of("usage_update")[-1].used > 0
        assert "The bisque shelf is full" in model.chats[-1].text


async def test_a_person_who_starts_it_is_told_who_does(desk: Desk) -> None:
    with (desk.folder / "in.txt").open("w+") as file:
        child = desk.start("acp", stdin=file)
        _, problem = child.communicate(timeout=PATIENCE)
    assert child.returncode == 2 and "An editor starts this command" in problem


async def test_without_a_model_a_session_says_which_it_wants(desk: Desk) -> None:
    argv = desk.argv("acp")
    async with spawn_agent_process(Editor(), argv[0], *argv[1:], env=desk.env, cwd=desk.project) as (conn, _):
        await conn.initialize(protocol_version=PROTOCOL_VERSION)
        with pytest.raises(RequestError, match="no model is named"):
            await conn.new_session(cwd=str(desk.project), mcp_servers=[])
        with pytest.raises(RequestError, match="is no directory"):
            await conn.new_session(cwd=str(desk.project / "none"), mcp_servers=[])
        with pytest.raises(RequestError, match="not open here"):
            await conn.prompt(session_id="ses_1", prompt=[text_block("hi")])
