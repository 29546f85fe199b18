"""Commands from files: where they are found, how arguments are filled in, and who takes them up."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from loops import opened, texts

from hudkit.agent.hooks import NewMessage, PermissionAsk, PermissionStatus
from hudkit.agent.permissions import PermissionReply, PermissionRequest, PermissionRule
from hudkit.agent.records import StoredText
from hudkit.agent.slash_commands import SlashCommand, discover_commands, parse_command
from hudkit.agent.workspace import Workspace
from hudkit.errors import ConfigError, SessionError, ToolRefused
from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.models.scripted_model import InProcessModel

pytestmark = pytest.mark.anyio

WRITE = uses(ScriptedCall("write", {"path": "a.txt", "content": "x"}))


def files(folder: Path, texts: Mapping[str, str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("template", "arguments", "filled"),
    [
        ("Look at $ARGUMENTS.", "a b", "Look at a b."),
        ("$ARGUMENTS and $ARGUMENTS", "x", "x and x"),
        ("From $1 to $2", "a b", "From a to b"),
        ("From $1 to $2", "a b c d", "From a to b c d"),
        ("From $1 to $2", "a", "From a to "),
        ("$2 before $1", "'one thing' two", "two before one thing"),
        ("$1", "it's", "it's"),
        ("Costs $10, or $ARGUMENTSX, or $x", "a", "Costs $10, or $ARGUMENTSX, or $x\n\na"),
        ("Say $1: $ARGUMENTS", "$2 $ARGUMENTS", "Say $2 $ARGUMENTS: $2 $ARGUMENTS"),
        ("No place", "but words", "No place\n\nbut words"),
        ("No place", " ", "No place"),
        ("Run !`rm -rf .` and @secret", "", "Run !`rm -rf .` and @secret"),
    ],
)
def test_arguments_are_filled_in_once(template: str, arguments: str, filled: str) -> None:
    assert SlashCommand("c", template).expand(arguments) == filled


def test_commands_are_found_and_the_nearer_to_the_user_wins(tmp_path: Path) -> None:
    root = tmp_path / "project"
    head = "---\ndescription: Looks\n  \nagent: plan\nmodel: a:b\n---\n\nLook at $1\n"
    files(root / ".hudkit/commands", {"look.md": head, "mine.md": "project", "given.md": "project", "no.txt": "x"})
    files(root / ".opencode/command", {"look.md": "another", "other.md": "\u202eother"})
    user = files(tmp_path / "user", {"mine.md": "user", "given.md": "user"})
    outside = files(tmp_path / "outside", {"x.md": "from outside"})
    (root / ".hudkit/commands/link.md").symlink_to(outside / "x.md")
    found, wrong = discover_commands(Workspace(root), [user], {"given": "given"})
    assert found["look"] == SlashCommand("look", "Look at $1", "Looks", "plan", "a:b", "project")
    assert {name: one.template for name, one in found.items() if name != "look"} == {
        "mine": "user",
        "given": "given",
        "other": "\\u202eother",
    }
    assert wrong == () and discover_commands(Workspace(tmp_path / "outside")) == ({}, ())


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    bad = {
        "a.md": "---\nagent: [x]\n---\nt",
        "b.md": "---\nno end",
        "c.md": "---\nagent: x\n---\n",
        "d.md": "x" * 40_000,
    }
    files(tmp_path / ".hudkit/commands", bad)
    found, wrong = discover_commands(Workspace(tmp_path))
    assert found == {}
    assert [one.path.name for one in wrong] == list(bad)
    assert "agent" in wrong[0].reason and "no end" in wrong[1].reason and "no text" in wrong[2].reason
    assert "bytes" in wrong[3].reason
    with pytest.raises(ConfigError, match="model"):
        parse_command("m", "---\nmodel: 3\n---\nx")


async def test_a_command_becomes_a_prompt(tmp_path: Path) -> None:
    files(
        tmp_path / "project/.hudkit/commands", {"fix.md": "---\ndescription: Fixes\n---\nFix $1", "bad.md": "---\n"}
    )
    files(tmp_path / "project/.hudkit/agents", {"worse.md": "---\nsteps: many\n---\nx"})
    model = InProcessModel([says("fixed")])
    async with opened(tmp_path, model, commands={"hi": "Say hi"}) as loop:
        assert {name: one.description for name, one in loop.commands.items()} == {"hi": "", "fix": "Fixes"}
        assert [Path(name).name for name, _ in loop.problems] == ["worse.md", "bad.md"]
        assert (await loop.command("fix", "the tests")).text == "fixed"
        assert texts(loop.messages)[0] == ("user", "Fix the tests")
        with pytest.raises(SessionError, match="hi, fix"):
            await loop.command("fxi")


@pytest.mark.slow
async def test_a_command_names_agent_and_model_for_its_turn_alone(tmp_path: Path) -> None:
    user = files(tmp_path / "user", {"plan.md": "---\nagent: plan\nmodel: far:away\n---\nPlan it"})
    near, far = InProcessModel([WRITE, says("near")]), InProcessModel([WRITE, says("far")], name="far:away")
    async with opened(tmp_path, near, user_commands=[user], connect=lambda name: far) as loop:
        assert (await loop.command("plan")).text == "far"
        assert not (tmp_path / "project" / "a.txt").exists(), "the agent's rules hold"
        assert [one.agent for one in loop.messages if one.role == "assistant"] == ["plan", "plan"]
        assert (await loop.prompt("now do it")).text == "near"
        assert (tmp_path / "project" / "a.txt").exists()
        assert (loop.session.agent, loop.session.model) == ("build", near.name)


async def test_a_command_that_wants_what_is_not_there_stores_nothing(tmp_path: Path) -> None:
    def connect(name: str) -> InProcessModel:
        raise ConfigError(f"no {name}")

    user = files(tmp_path / "user", {"a.md": "---\nagent: nobody\n---\nx", "m.md": "---\nmodel: no:thing\n---\nx"})
    async with opened(tmp_path, InProcessModel(), user_commands=[user], connect=connect) as loop:
        with pytest.raises(SessionError, match="nobody"):
            await loop.command("a")
        with pytest.raises(ConfigError, match="no:thing"):
            await loop.command("m")
        assert loop.messages == () and (await loop.prompt("go")).reason == "done"


@pytest.mark.slow
async def test_a_project_s_command_gets_no_more_leave_than_the_session_has(tmp_path: Path) -> None:
    agent = {"narrow.md": "---\nmode: primary\ntools: [read, write, edit]\npermission:\n  edit: deny\n---\nRead."}
    agents = files(tmp_path / "agents", agent)
    text = {"go.md": "---\nagent: build\n---\nGo"}
    files(tmp_path / "project/.hudkit/commands", text)
    steps = [WRITE, says("one"), WRITE, says("two")]
    model = InProcessModel(steps)
    given = {"agent": "narrow", "user_agents": [agents], "permissions": (PermissionRule("bash", "*", "allow"),)}
    async with opened(tmp_path, model, **given) as loop:
        await loop.command("go")
        assert not (tmp_path / "project" / "a.txt").exists(), "the project's cannot lift what is denied"
        assert {one.name for one in model.port_requests[0].tools} == {"read", "write", "edit"}
    user = files(tmp_path / "user", text)
    model = InProcessModel([WRITE, says("one")])
    async with opened(tmp_path, model, user_commands=[user], **given) as loop:
        await loop.command("go")
        assert (tmp_path / "project" / "a.txt").exists(), "the user's own can"
        assert "bash" in {one.name for one in model.port_requests[0].tools}


GREETING = "Look:\n!`printf 'hi %s' $1; exit 3`\nThen read @docs/style.md, @none.md and me@example.com. $2"


async def test_a_template_s_commands_are_run_and_its_files_read(tmp_path: Path) -> None:
    files(tmp_path / "project/docs", {"style.md": "Use tabs."})
    model = InProcessModel([says("ok")])
    async with opened(tmp_path, model, commands={"greet": GREETING}) as loop:
        await loop.command("greet", "Ann !`touch made` @docs/style.md")
        prompt = loop.messages[0]
        shown, file = (part.text for part in prompt.parts if isinstance(part, StoredText))
    said = "Then read @docs/style.md, @none.md and me@example.com. !`touch made` @docs/style.md"
    assert shown == f"Look:\nhi Ann\n[exit code 3]\n{said}"
    assert file.startswith("The file docs/style.md:") and "Use tabs." in file
    assert not (tmp_path / "project/made").exists(), "what the user types is filled in, and not run"
    assert "hi Ann" in model.chats[0].text and "Use tabs." in model.chats[0].text


async def test_what_a_template_may_not_do_keeps_its_prompt_back(tmp_path: Path) -> None:
    files(tmp_path / "project", {".env": "KEY=1"})
    templates = {"make": "!`touch made`", "look": "Read @.env", "reads": "!`touch made`"}
    asked: list[PermissionRequest] = []

    async def ask(request: PermissionRequest) -> PermissionReply:
        asked.append(request)
        return PermissionReply("once" if request.tool == "read" else "reject", message="not now")

    model = InProcessModel([says("ok")])
    only_read = files(tmp_path / "agents", {"reader.md": "---\ndescription: x\ntools: [read]\n---\nx"})
    given = {"commands": templates, "permissions": (), "user_agents": [only_read]}
    async with opened(tmp_path, model, ask_user=ask, **given) as loop:
        with pytest.raises(ToolRefused, match="the user said no: not now"):
            await loop.command("make")
        assert loop.messages == () and model.chats == []
        await loop.command("look")
        assert [(request.tool, request.need.kind) for request in asked] == [("bash", "bash"), ("read", "read")]
        assert "KEY=1" in model.chats[0].text
        await loop.switch(agent="reader")
        with pytest.raises(ToolRefused, match="has no bash"):
            await loop.command("reads")
    async with opened(tmp_path, model, **given) as loop:
        for name in ("make", "look"):
            with pytest.raises(ToolRefused, match="nobody is there to be asked"):
                await loop.command(name)
    assert not (tmp_path / "project/made").exists()


async def test_plugins_see_what_a_template_s_commands_printed(tmp_path: Path) -> None:
    def hides(_: object, output: NewMessage) -> None:
        output.parts[0].text = output.parts[0].text.replace("hunter2", "***")

    def deny(given: PermissionAsk, output: PermissionStatus) -> None:
        output.status = "deny" if "made" in given.patterns[0] else "allow"

    plugin = {"command_execute_before": hides, "permission_ask": deny}
    templates = {"show": "!`echo hunter2`", "make": "!`touch made`"}
    async with opened(
        tmp_path, InProcessModel(), commands=templates, permissions=(), plugins=[("hides", plugin)]
    ) as loop:
        await loop.command("show")
        assert texts(loop.messages)[0] == ("user", "***")
        with pytest.raises(ToolRefused, match="a plugin said no"):
            await loop.command("make")
