"""Plugins in the loop: every hook used for something real, bad ones that harm nobody, discovery, and the examples."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from loops import QUICK, opened
from msgspec.structs import replace

from hudkit.agent import events as told
from hudkit.agent import hooks, plugins
from hudkit.agent.hooks import HOOKS
from hudkit.agent.plugins import PluginInput, discover_plugins, trust_plugin
from hudkit.agent.records import StoredCall as Stored
from hudkit.errors import ConfigError
from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.models.scripted_model import InProcessModel
from hudkit.sections.sandboxed.definitions import SectionPaths

pytestmark = pytest.mark.anyio

EXAMPLES = Path(__file__).parents[2] / "examples" / "plugins"


def results(loop: Any) -> list[Stored]:
    return [part for message in loop.messages for part in message.parts if isinstance(part, Stored)]


class Everything:
    """A plugin that uses each hook for something that can be seen."""

    def __init__(self, given: PluginInput) -> None:
        self.given = given
        self.heard: list[hooks.HookEvent] = []
        self.ran: set[str] = set()

    async def event(self, given: hooks.HookEvent, output: hooks.NoOutput) -> None:
        self.heard.append(given)

    def config(self, given: hooks.HookInput, output: hooks.HostSettings) -> None:
        output.settings["steps"] = 7

    def tool(self, given: hooks.ToolsRequest, output: hooks.Tools) -> None:
        async def count(arguments: dict[str, Any], call: hooks.ToolExecuteBefore) -> str:
            await asyncio.sleep(0)
            return f"{len(list(self.given.directory.iterdir()))} entries, asked with {arguments['of']}"

        schema = {"type": "object", "properties": {"of": {"type": "string"}}}
        output.tools["count"] = hooks.ToolDefinition("count", "Counts entries.", schema, count)
        output.tools["read"] = hooks.ToolDefinition("read", "A false one.", schema, count)

    def auth(self, given: hooks.AuthRequest, output: hooks.Auth) -> None:
        output.headers["x-key"] = f"of {given.provider}"

    def provider(self, given: hooks.AuthRequest, output: hooks.Models) -> None:
        self.ran.add("provider")
        output.models["model"] = hooks.ModelLimits(50_000, 0, 4_000)

    def chat_message(self, given: hooks.ModelCallContext, output: hooks.NewMessage) -> None:
        output.parts.append(hooks.ChatPart("text", "Answer in Latin.", synthetic=True))

    def chat_params(self, given: hooks.ModelCallContext, output: hooks.Params) -> None:
        output.temperature = 0.25

    def chat_headers(self, given: hooks.ModelCallContext, output: hooks.Headers) -> None:
        output.headers["x-session"] = given.session_id

    def permission_ask(self, given: hooks.PermissionAsk, output: hooks.PermissionStatus) -> None:
        output.status = "deny" if "rm" in given.patterns[0] else "allow"

    def command_execute_before(self, given: hooks.CommandExecuteBefore, output: hooks.NewMessage) -> None:
        output.parts[0].text += f" [{given.command}]"

    def tool_execute_before(self, given: hooks.ToolExecuteBefore, output: hooks.ToolArguments) -> None:
        if given.tool == "bash":
            output.arguments["command"] = output.arguments["command"].replace("sleep 100", "true")

    def tool_execute_after(self, given: hooks.ToolExecuteAfter, output: hooks.ToolOutput) -> None:
        output.text = output.text.replace("s3cr3t", "[covered]")

    def shell_env(self, given: hooks.ShellEnv, output: hooks.ShellVariables) -> None:
        output.env["CAVE"] = "canem"

    def tool_definition(self, given: hooks.ToolReference, output: hooks.ToolDescription) -> None:
        if given.tool == "bash":
            output.description = "Run it. Prefer make."

    def messages_transform(self, given: hooks.ModelCallContext, output: hooks.Messages) -> None:
        output.messages[0].parts.append(hooks.ChatPart("text", "(transient)", "t", synthetic=True))

    def system_transform(self, given: hooks.ModelCallContext, output: hooks.System) -> None:
        output.system.append("House rule: no tabs.")

    def session_compacting(self, given: hooks.CompactionContext, output: hooks.CompactionPrompt) -> None:
        output.context.append("Keep the port 8123.")

    def compaction_autocontinue(self, given: hooks.CompactionContext, output: hooks.Autocontinue) -> None:
        output.text = "Perge."

    def text_complete(self, given: hooks.FinishedPart, output: hooks.PartText) -> None:
        output.text = output.text.replace("teh", "the")


@pytest.mark.slow
async def test_each_hook_does_something_real(tmp_path: Path) -> None:
    from hudkit.context.caching import CallCost
    from hudkit.tokens import Window

    assert {name for name in HOOKS if hasattr(Everything, name)} == set(HOOKS), "every hook is tried"
    made: list[Everything] = []

    def plugin(given: PluginInput) -> Everything:
        made.append(Everything(given))
        return made[0]

    commands = [
        ScriptedCall("bash", {"command": "sleep 100; echo $CAVE s3cr3t"}),
        ScriptedCall("bash", {"command": "rm -r x"}),
    ]
    model = InProcessModel(
        [
            uses(*commands, ScriptedCall("count", {"of": "all"}), text="teh work"),
            replace(uses(ScriptedCall("read", {"path": "a"})), usage=CallCost(0, 0, 49_000, 1)),
            says("done"),
            says("by command"),
        ],
        name="scripted:model",
        window=Window(50_000, 4_000, None, "host"),
    )
    async with opened(
        tmp_path,
        "scripted:model",
        connect=lambda _: model,
        plugins=[("all", plugin)],
        permissions=(),
        commands={"fix": "Fix $ARGUMENTS"},
    ) as loop:
        (tmp_path / "project" / "a").write_text("a file")
        assert (await loop.prompt("go")).text == "done"
        await loop.command("fix", "it")
        await loop.plugins_notified()
        assert not loop.setup.hooks.failures, loop.setup.hooks.failures
        first = model.port_requests[0]
        assert loop.setup.settings.steps == 7
        assert first.settings.temperature == 0.25
        assert first.settings.headers == {"x-key": "of scripted", "x-session": loop.id}
        assert "Answer in Latin." in str(loop.messages[0].parts)
        assert "(transient)" in str(first.messages) and "(transient)" not in str(loop.messages)
        assert "House rule: no tabs." in first.system[-1]
        described = {tool.name: tool.description for tool in first.tools}
        assert described["bash"] == "Run it. Prefer make." and described["count"] == "Counts entries."
        assert described["read"] != "A false one.", "a name that is taken is not given away"
        ran, refused, counted, read = results(loop)
        assert ran.output == "canem [covered]"
        assert "not permitted" in refused.error
        assert counted.output == "1 entries, asked with all" and "a file" in read.output
        assert "the work" in str(loop.messages[1].parts)
        assert "8123" in str(model.of("compaction")[0].pieces)
        assert "Perge." in str(model.port_requests[3].messages)
        assert "Fix it [fix]" in str(model.port_requests[-1].messages)
        types = {one.type for one in made[0].heard}
        assert types >= {"session.created", "message.updated", "tool.finished", "session.compacted", "session.idle"}
        assert made[0].ran == {"provider"}


def bad(what: str) -> dict[str, Any]:
    """A plugin whose every hook is wrong in the same way."""

    def throws(given: object, output: object) -> None:
        raise RuntimeError("not today")

    async def hangs(given: object, output: object) -> None:
        await asyncio.sleep(60)

    def blocks(given: object, output: object) -> None:
        time.sleep(0.8)

    def lies(given: object, output: Any) -> None:
        for name in output.__struct_fields__:
            setattr(output, name, 42)

    def exits(given: object, output: object) -> None:
        sys.exit(3)

    call = {"throws": throws, "hangs": hangs, "blocks": blocks, "lies": lies, "exits": exits}[what]
    return dict.fromkeys(HOOKS, call)


@pytest.mark.parametrize("what", ["throws", "lies", "exits", pytest.param("hangs", marks=pytest.mark.slow), "blocks"])
@pytest.mark.slow
async def test_a_bad_plugin_harms_nobody(tmp_path: Path, what: str) -> None:
    def note(given: hooks.ModelCallContext, output: hooks.System) -> None:
        output.system.append("from the good one")

    model = InProcessModel([uses(ScriptedCall("bash", {"command": "echo hi"})), says("done")])
    both = [("bad", bad(what)), ("good", {"system_transform": note})]
    async with opened(tmp_path, model, plugins=both, hook_seconds=0.05) as loop:
        assert (await loop.prompt("go")).text == "done"
        assert results(loop)[0].output == "hi"
        assert all("from the good one" in request.system[-1] for request in model.port_requests)
        failures = loop.setup.hooks.failures
        assert {one.plugin for one in failures} <= {"bad"} and failures


async def test_a_tool_of_a_plugin_that_fails_or_hangs_is_a_failed_call(tmp_path: Path) -> None:
    async def hang(arguments: object, call: object) -> str:
        await asyncio.sleep(60)
        return ""

    def fail(arguments: object, call: object) -> str:
        raise ValueError("no such table")

    def tool(given: object, output: hooks.Tools) -> None:
        for name, run in (("hang", hang), ("fail", fail), ("long", lambda *_: "x" * 100_000)):
            output.tools[name] = hooks.ToolDefinition(name, name, {"type": "object", "properties": {}}, run)

    model = InProcessModel([uses(ScriptedCall("hang"), ScriptedCall("fail"), ScriptedCall("long")), says("done")])
    rules = replace(QUICK, plugin_tool_seconds=0.1)
    async with opened(tmp_path, model, plugins=[("odd", {"tool": tool})], settings=rules) as loop:
        assert (await loop.prompt("go")).text == "done"
        hung, failed, long = results(loop)
        assert "no answer within" in hung.error and "no such table" in failed.error
        assert len(long.output) < 40_000 and "left out" in long.output


@pytest.mark.slow
async def test_a_plugin_that_hangs_is_set_aside_and_its_tools_say_so(tmp_path: Path) -> None:
    async def hang(given: object, output: object) -> None:
        await asyncio.sleep(60)

    def give(given: object, output: hooks.Tools) -> None:
        output.tools["dice"] = hooks.ToolDefinition("dice", "d", {"type": "object", "properties": {}}, lambda *_: "4")

    closed: list[bool] = []

    class Odd:
        tool = staticmethod(give)
        chat_params = staticmethod(hang)
        chat_headers = staticmethod(hang)

        def close(self) -> None:
            closed.append(True)

    steps = [uses(ScriptedCall("dice")), uses(ScriptedCall("dice")), says("done"), says("more")]
    model = InProcessModel(steps)
    async with opened(tmp_path, model, plugins=[("odd", Odd())], hook_seconds=0.05) as loop:
        events = loop.events()
        assert (await loop.prompt("go")).text == "done"
        await loop.prompt("more")
        first, second = results(loop)
        assert first.output == "4"
        assert "set aside for this session" in second.error and "odd" in second.error
        kinds = [one.failure.kind for one in events.take() if isinstance(one, told.PluginFailed)]
        assert kinds == ["time-out"] * 3 + ["aside"]
        assert [name for name, _ in loop.problems] == ["odd"] and "3 calls" in loop.problems[0][1]
        offered = [request.tools for request in model.port_requests]
        assert all(tools == offered[0] for tools in offered), "the prefix stays as it is"
        await loop.compact()
        model.play(says("after"))
        await loop.prompt("on")
        assert "dice" not in {one.name for one in model.port_requests[-1].tools}, "a new epoch is without its tools"
    assert closed == [True]


@pytest.mark.slow
async def test_a_plugin_speaks_to_the_session_through_its_client(tmp_path: Path) -> None:
    said: list[str] = []

    def plugin(given: PluginInput) -> dict[str, Any]:
        def event(one: hooks.HookEvent, output: hooks.NoOutput) -> None:
            if one.type == "session.idle" and not said:
                said.append(given.client.messages(one.session_id)[-1].parts[0].text)  # type: ignore[union-attr]
                given.client.prompt(one.session_id, "and now the tests")
                given.client.summarise(one.session_id)

        return {"event": event}

    model = InProcessModel([says("written"), says("tested")])
    async with opened(tmp_path, model, plugins=[("next", plugin)]) as loop:
        await loop.prompt("write it")
        while len(model.chats) < 2 or not model.of("compaction"):
            await asyncio.sleep(0.01)
        assert said == ["written"]
        while loop.busy:
            await asyncio.sleep(0.01)
        assert "and now the tests" in str(loop.messages)


PLUGIN = """
def plugin(given):
    def system_transform(call, output):
        output.system.append("from " + given.options.get("who", "a file"))
    return {"system_transform": system_transform}
"""


def places(tmp_path: Path) -> SectionPaths:
    (tmp_path / "user").mkdir(exist_ok=True)
    return SectionPaths(tmp_path / "user", tmp_path / "trusted")


@pytest.mark.slow
async def test_a_project_s_plugin_runs_only_with_the_bytes_that_were_trusted(tmp_path: Path) -> None:
    folder = tmp_path / "project" / ".hudkit" / "plugins"
    folder.mkdir(parents=True)
    file = folder / "hello.py"
    file.write_text(PLUGIN + "\nopen('ran', 'w')\n")
    os.chdir(tmp_path)
    here = places(tmp_path)

    async def system(options: dict[str, Any]) -> tuple[str, list[tuple[str, str]]]:
        model = InProcessModel()
        found = discover_plugins(here, tmp_path / "project", entries=False)
        async with opened(tmp_path, model, discovered_plugins=found, plugin_options=options) as loop:
            await loop.prompt("hi")
            return "\n".join(model.port_requests[0].system), loop.problems

    text, wrong = await system({})
    assert "from a file" not in text and "not trusted" in wrong[0][1] and not (tmp_path / "ran").exists()
    trust_plugin(file, here)
    text, wrong = await system({"hello": {"who": "the options"}})
    assert "from the options" in text and wrong == []
    file.write_text(file.read_text() + "# changed\n")
    text, wrong = await system({})
    assert "from a file" not in text and "not trusted" in wrong[0][1]


def test_what_is_no_plugin_s_file_is_said(tmp_path: Path) -> None:
    here = places(tmp_path)
    (here.user / "own.py").write_text(PLUGIN)
    (here.user / "open.py").write_text(PLUGIN)
    (here.user / "open.py").chmod(0o666)
    (here.user / "link.py").symlink_to(here.user / "own.py")
    (here.user / "long.py").write_text("#" * (plugins._MAX_BYTES + 1))
    os.mkfifo(here.user / "pipe.py")
    found = {one.name: one for one in discover_plugins(here, entries=False)}
    assert found["own"].trusted and not found["own"].problem
    assert "written by others" in found["open"].problem and "cannot be read" in found["link"].problem
    assert "more than" in found["long"].problem and "not a file" in found["pipe"].problem
    with pytest.raises(ConfigError):
        trust_plugin(here.user / "missing.py", here)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["", "def plugin(given): raise OSError('x')", "def plugin(given): pass", "plugin = 3", "import nothing_at_all"],
)
async def test_a_plugin_that_cannot_be_loaded_is_named_and_left_out(tmp_path: Path, text: str) -> None:
    here = places(tmp_path)
    (here.user / "broken.py").write_text(text)
    (here.user / "fine.py").write_text(PLUGIN)
    model = InProcessModel()
    async with opened(tmp_path, model, discovered_plugins=discover_plugins(here, entries=False)) as loop:
        await loop.prompt("hi")
        assert [name for name, _ in loop.problems] == ["broken"]
        assert "from a file" in model.port_requests[0].system[-1]


@pytest.mark.slow
async def test_the_example_that_formats_files_after_an_edit(tmp_path: Path) -> None:
    script = tmp_path / "fmt.py"
    script.write_text(
        "import sys; p = sys.argv[1]; t = open(p).read(); open(p, 'w').write(t.replace('x=1', 'x = 1'))"
    )
    found = plugins.DiscoveredPlugin(
        "format", "user", EXAMPLES / "format_after_edit.py", raw=(EXAMPLES / "format_after_edit.py").read_bytes()
    )
    write = uses(
        ScriptedCall("write", {"path": "a.py", "content": "x=1\n"}),
        ScriptedCall("write", {"path": "b.txt", "content": "x=1\n"}),
    )
    async with opened(
        tmp_path,
        InProcessModel([write]),
        discovered_plugins=[found],
        plugin_options={"format": {"command": [sys.executable, str(script)]}},
    ) as loop:
        await loop.prompt("go")
        assert loop.problems == [] and not loop.setup.hooks.failures
        assert (tmp_path / "project" / "a.py").read_text() == "x = 1\n"
        assert (tmp_path / "project" / "b.txt").read_text() == "x=1\n"
        assert "formatter has changed" in results(loop)[0].output and "formatter" not in results(loop)[1].output


@pytest.mark.slow
async def test_the_example_that_guards_secrets(tmp_path: Path) -> None:
    raw = (EXAMPLES / "guard_secrets.py").read_bytes()
    found = plugins.DiscoveredPlugin("guard", "user", EXAMPLES / "guard_secrets.py", raw=raw)
    key = "ghp_" + "aB3" * 12
    calls = uses(
        ScriptedCall("bash", {"command": f"echo {key}; echo house-word"}),
        ScriptedCall("read", {"path": ".env"}),
        ScriptedCall("bash", {"command": "printenv"}),
    )
    model = InProcessModel([calls])
    async with opened(
        tmp_path, model, discovered_plugins=[found], plugin_options={"guard": {"words": ["house-word"]}}
    ) as loop:
        (tmp_path / "project" / ".env").write_text("TOKEN=1")
        await loop.prompt("go")
        assert loop.problems == [] and not loop.setup.hooks.failures
        shown, read, env = results(loop)
        assert key not in shown.output and "house-word" not in shown.output and "[covered]" in shown.output
        assert "not permitted" in read.error and "not shown here" in env.output
