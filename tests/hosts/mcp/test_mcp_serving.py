"""One server in this process: sessions, resources, prompts, what is told of changes, and what goes wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from hudkit import Hud
from hudkit.hosts.mcp import server
from hudkit.hosts.mcp.session_binding import RequestSession, SessionBinding
from hudkit.hud.always_file import AlwaysItem, add_always
from hudkit.installation import install_hint
from hudkit.paths import SectionPaths
from hudkit.testing.assertions import calls_in
from hudkit.tools import OPERATIONS

pytestmark = pytest.mark.slow

MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])


def talk(with_client: Callable[[Client], Awaitable[None]], made: Any, mode: str = "auto", **more: Any) -> None:
    async def run() -> None:
        async with Client(made, mode=mode, raise_exceptions=True, **more) as client:
            await with_client(client)

    anyio.run(run)


def text(result: Any) -> str:
    return str(result.content[0].text)


def task(words: str) -> dict[str, Any]:
    return {"tool": "task.set", "args": {"description": words}}


def session_of(hud: Hud) -> str:
    (key,) = [one for one in hud.sessions() if one.startswith("mcp/")]
    return key


@MODES
def test_every_operation_answers_within_the_schema(hud: Hud, tmp_path: Path, mode: str) -> None:
    """The client checks each structured answer against the tool's output schema, and so do we."""

    async def with_client(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        for name, tool in tools.items():
            assert tool.annotations is not None
            assert tool.annotations.open_world_hint is False
            for operation, one in OPERATIONS.items():
                done = await client.call_tool(name, {"tool": operation, "args": dict(one.example)})
                jsonschema.validate(done.structured_content, tool.output_schema or {})
                assert done.structured_content["text"] == text(done)
                assert done.structured_content["ok"] is not done.is_error

    talk(with_client, server(hud, project=tmp_path), mode)
    assert hud.session(session_of(hud)).state.seq > 20


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({}, '"operation" is missing'),
        ({"operation": "notes.ad", "text": "x"}, 'hud({"operation": "notes.add"'),
        ({"operation": "notes.add", "txt": "x"}, 'Did you mean "text"?'),
        ({"tool": "notes.add", "args": {"content": ""}}, "Example: "),
    ],
)
def test_an_agents_mistake_is_answered_with_a_right_call(
    hud: Hud, tmp_path: Path, sent: dict[str, Any], said: str
) -> None:
    async def with_client(client: Client) -> None:
        done = await client.call_tool("hud", sent)
        assert done.is_error
        assert said in text(done)

    talk(with_client, server(hud, project=tmp_path))
    assert hud.sessions() == ()


def test_what_a_client_says_of_its_own_session_can_be_read_by_the_calls_that_are_named(
    hud: Hud, tmp_path: Path
) -> None:
    async def with_client(client: Client) -> None:
        for number in range(30):
            note = f"note {number} " + "of many words " * 20
            assert not (await client.call_tool("hud", {"operation": "notes.add", "text": note})).is_error
        todo = [
            ("memory", {"operation": name}) for name in ("messages", "compactions", "sessions", "search", "children")
        ]
        todo[3][1]["query"] = "note"
        for router, arguments in todo:
            done = await client.call_tool(router, arguments)
            assert not done.is_error, text(done)
            todo += [call for call in calls_in(text(done)) if call not in todo and len(todo) < 40]
        assert any("before" in arguments for _, arguments in todo), "older ones were read, too"

    talk(with_client, server(hud, project=tmp_path))


def test_arguments_as_json_text_are_understood(hud: Hud, tmp_path: Path) -> None:
    async def with_client(client: Client) -> None:
        done = await client.call_tool("hud", {"tool": "notes.add", "args": '{"content": "x"}'})
        assert not done.is_error

    talk(with_client, server(hud, project=tmp_path))


def test_a_tool_that_there_is_not(hud: Hud, tmp_path: Path) -> None:
    async def with_client(client: Client) -> None:
        with pytest.raises(MCPError, match="there are: hud, memory"):
            await client.call_tool("hud_compact", {})

    talk(with_client, server(hud, project=tmp_path))


@MODES
def test_resources(hud: Hud, tmp_path: Path, mode: str) -> None:
    other = hud.session("ses_1", project=tmp_path, host="opencode")
    other.call("task.set", {"description": "Of OpenCode"})

    async def with_client(client: Client) -> None:
        listed = (await client.list_resources()).resources
        assert [one.uri for one in listed] == ["hud://current", "hud://current/json"]
        templates = [one.uri_template for one in (await client.list_resource_templates()).resource_templates]
        assert templates == ["hud://session/{id}", "hud://session/{id}/json"]
        await client.call_tool("hud", task("# not a heading\u202e"))
        page = (await client.read_resource("hud://current")).contents[0].text
        assert "`# not a heading\\u202e`\n" in page
        facts = json.loads((await client.read_resource("hud://current/json")).contents[0].text)
        assert facts["session"] == session_of(hud)
        assert facts["sections"]["task"][0]["description"] == "# not a heading\u202e"
        for id in ("ses_1", other.id, other.id.replace("/", "%2F").replace("@", "%40")):
            assert "Of OpenCode" in (await client.read_resource(f"hud://session/{id}")).contents[0].text
        told = json.loads((await client.read_resource("hud://session/ses_1/json")).contents[0].text)
        assert told["sections"]["task"][0]["description"] == "Of OpenCode"
        for uri, said in (("hud://nothing", "there is no resource"), ("hud://session/nobody", "no session is named")):
            with pytest.raises(MCPError, match=said) as caught:
                await client.read_resource(uri)
            assert caught.value.code == types.INVALID_PARAMS

    talk(with_client, server(hud, project=tmp_path), mode)


def test_reading_leaves_every_session_as_it_was(hud: Hud, tmp_path: Path) -> None:
    """A frame of another host's session would begin an epoch there, and spoil the prefix of its next call."""
    other = hud.session("ses_1", project=tmp_path, host="opencode")
    other.call("task.set", {"description": "Of OpenCode"})
    first = other.frame()
    before = {key: hud.log.last_seq(key) for key in hud.sessions()}

    async def with_client(client: Client) -> None:
        for uri in ("hud://current", "hud://current/json", "hud://session/ses_1", "hud://session/ses_1/json"):
            await client.read_resource(uri)
        await client.get_prompt("hud")
        await client.call_tool("hud", {"tool": "snapshot"})

    talk(with_client, server(hud, project=tmp_path))
    assert {key: hud.log.last_seq(key) for key in hud.sessions()} == before
    assert other.frame().base == first.base


@MODES
def test_a_task_of_another_host_is_taken_up_by_the_prompt(hud: Hud, tmp_path: Path, mode: str) -> None:
    other = hud.session("ses_1", project=tmp_path, host="opencode")
    other.call("task.set", {"description": "Begun in OpenCode"})
    other.call("constraints.add", {"text": "No new dependencies"})
    before = other.state.seq

    async def with_client(client: Client) -> None:
        (prompt,) = [one for one in (await client.list_prompts()).prompts if one.name == "resume"]
        assert [(one.name, one.required) for one in prompt.arguments or []] == [("session", True)]
        ref = types.PromptReference(name="resume")
        for typed, found in (("", ["ses_1"]), ("SES", ["ses_1"]), ("nobody", [])):
            told = await client.complete(ref, {"name": "session", "value": typed})
            assert told.completion.values == found
        given = await client.get_prompt("resume", {"session": "ses_1"})
        words = given.messages[0].content.text
        assert words.startswith("Took up from ses_1")
        assert "Begun in OpenCode" in words
        assert "No new dependencies" in words
        again = await client.get_prompt("resume", {"session": "ses_1"})
        assert again.messages[0].content.text.startswith("The task of ses_1 was taken up before.")
        for wrong in ({"session": "nobody"}, {"session": " "}):
            with pytest.raises(MCPError):
                await client.get_prompt("resume", wrong)

    talk(with_client, server(hud, project=tmp_path), mode)
    assert hud.session(session_of(hud)).state.task.description == "Begun in OpenCode"
    assert other.state.seq == before


def test_an_earlier_task_of_the_project_is_offered_once(hud: Hud, tmp_path: Path) -> None:
    hud.session("ses_1", project=tmp_path, host="opencode").call("task.set", {"description": "Secret plan"})

    async def with_client(client: Client) -> None:
        page = (await client.read_resource("hud://current")).contents[0].text
        first = text(await client.call_tool("hud", {"tool": "snapshot"}))
        for words in (page, first):
            assert 'hud({"operation": "task.resume", "session": "ses_1"}) takes it up' in words
            assert "Secret plan" not in words
        assert "task.resume" not in text(await client.call_tool("hud", {"tool": "snapshot"}))
        taken = await client.call_tool("hud", {"tool": "task.resume", "args": {"session": "ses_1"}})
        assert "Secret plan" in text(taken)

    talk(with_client, server(hud, project=tmp_path))

    async def elsewhere(client: Client) -> None:
        assert "task.resume" not in text(await client.call_tool("hud", {"tool": "snapshot"}))

    (tmp_path / "other").mkdir()
    talk(elsewhere, server(hud, project=tmp_path / "other"))


def test_what_its_user_made_hold_in_all_sessions_is_on_the_page_and_in_the_lists(tmp_path: Path) -> None:
    always = tmp_path / "always.toml"
    add_always(always, AlwaysItem("constraints", "Never touch legacy/", project=str(tmp_path)))
    places = SectionPaths(tmp_path / "sections", tmp_path / "trusted", always)
    with Hud.open(tmp_path / "hudkit.db", sections=places) as hud:
        binding = SessionBinding(hud)
        one, two = RequestSession("one", tmp_path), RequestSession("two", tmp_path)
        assert "Never touch legacy/ (user, this project)" in binding.page(one)
        listed = binding.tool(two, "hud", {"operation": "constraints.list"}).reply.text
        assert "c1 (user, this project): Never touch legacy/" in listed


def test_a_task_that_another_client_of_this_server_is_at_is_not_offered(hud: Hud, tmp_path: Path) -> None:
    binding = SessionBinding(hud)
    one, two = RequestSession("one", tmp_path), RequestSession("two", tmp_path)
    binding.tool(one, "hud", task("At work"))
    assert "task.resume" not in binding.tool(two, "hud", {"tool": "snapshot"}).reply.text
    assert "task.resume" in SessionBinding(hud).tool(two, "hud", {"tool": "snapshot"}).reply.text


def test_calls_at_once_are_all_recorded(tmp_path: Path) -> None:
    async def with_client(client: Client) -> None:
        async def note(number: int) -> None:
            done = await client.call_tool("hud", {"tool": "notes.add", "args": {"content": f"note {number}"}})
            assert not done.is_error

        async with anyio.create_task_group() as group:
            for number in range(25):
                group.start_soon(note, number)

    with Hud.open(tmp_path / "data" / "hudkit.db") as hud:
        talk(with_client, server(hud, project=tmp_path))
        notes = hud.session(session_of(hud)).state.notes
        assert {one.content for one in notes} == {f"note {number}" for number in range(25)}
        assert list(hud.verify()) == []


@pytest.mark.parametrize("error", [OSError("the disk is gone"), RuntimeError("a fault of ours")])
def test_a_fault_is_said_in_the_answer_and_the_next_call_works(
    hud: Hud, tmp_path: Path, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = hud.log.append

    def failing(*args: Any, **more: Any) -> Any:
        raise error

    async def with_client(client: Client) -> None:
        monkeypatch.setattr(hud.log, "append", failing)
        refused = await client.call_tool("hud", task("x"))
        assert refused.is_error
        assert text(refused).startswith("not recorded: ")
        monkeypatch.setattr(hud.log, "append", append)
        assert not (await client.call_tool("hud", task("x"))).is_error

    talk(with_client, server(hud, project=tmp_path))


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
def test_subscribers_of_versions_with_a_handshake_are_told(hud: Hud, tmp_path: Path) -> None:
    told: list[str] = []

    async def heard(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            told.append(message.params.uri)

    async def with_client(client: Client) -> None:
        for uri in ("hud://current", "hud://current/json"):
            await client.session.subscribe_resource(uri)
        await client.call_tool("hud", {"tool": "snapshot"})
        await client.call_tool("hud", task("x"))
        await client.session.unsubscribe_resource("hud://current/json")
        await client.call_tool("hud", task("y"))
        with anyio.fail_after(10):
            while len(told) < 3:
                await anyio.sleep(0.01)

    talk(with_client, server(hud, project=tmp_path), "legacy", message_handler=heard)
    assert told == ["hud://current", "hud://current/json", "hud://current"]


def test_listeners_of_later_versions_are_told(hud: Hud, tmp_path: Path) -> None:
    async def with_client(client: Client) -> None:
        async with client.listen(resource_subscriptions=["hud://current"]) as events:
            await client.call_tool("hud", task("x"))
            with anyio.fail_after(10):
                async for event in events:
                    assert event.uri == "hud://current"
                    break

    talk(with_client, server(hud, project=tmp_path))


def test_the_project_is_the_clients_first_root_that_is_here(
    hud: Hud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, elsewhere = tmp_path / "a b", tmp_path / "cwd"
    work.mkdir()
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)

    async def roots(_: Any) -> types.ListRootsResult:
        gone = [types.Root(uri="file:///nowhere/at/all")]  # type: ignore[arg-type]
        return types.ListRootsResult(roots=[*gone, types.Root(uri=work.as_uri())])  # type: ignore[arg-type]

    async def with_client(client: Client) -> None:
        await client.call_tool("hud", task("x"))

    talk(with_client, server(hud), "legacy", list_roots_callback=roots)
    talk(with_client, server(hud), "legacy")
    directories = [hud.session(key).state.session.directory for key in hud.sessions() if key.startswith("mcp/")]
    assert directories == [str(work), str(elsewhere)]


def test_nothing_of_the_sdk_is_loaded_before_it_is_needed() -> None:
    code = "import sys, hudkit, hudkit.hosts.mcp, hudkit.cli.mcp, hudkit.cli.install; print('mcp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_another_version_of_the_sdk_is_named(tmp_path: Path) -> None:
    """Its metadata comes first on the path."""
    (tmp_path / "mcp-1.9.0.dist-info").mkdir()
    (tmp_path / "mcp-1.9.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: mcp\nVersion: 1.9.0\n")
    done = subprocess.run(
        [sys.executable, "-m", "hudkit", "mcp"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert f"the package mcp is of version 1.9.0, not 2. {install_hint('mcp')}" in done.stderr


def test_a_session_name_that_cannot_be_used_is_said(hud: Hud, tmp_path: Path) -> None:
    async def with_client(client: Client) -> None:
        refused = await client.call_tool("hud", task("x"))
        assert refused.is_error
        assert "cannot be used" in text(refused)

    talk(with_client, server(hud, session="x" * 2000, project=tmp_path))


def test_a_server_that_ends_leaves_a_given_log_open(hud: Hud, tmp_path: Path) -> None:
    async def with_client(client: Client) -> None:
        await client.call_tool("hud", task("x"))

    made = server(hud, session="s", project=tmp_path)
    talk(with_client, made)
    talk(with_client, made)
    assert hud.session(session_of(hud)).state.task.description == "x"
