"""Definitions in the forms of ten public collections: each loads, or it is said why not.

The files in `collections/` are written anew in the forms of the collections that their folders are called after:
keys of the front matter, YAML that is none, lists of tools, models, placeholders, folders. No text is copied.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from loops import QUICK, opened

from hudkit.agent.events import ModelSubstituted
from hudkit.agent.permissions import PermissionReply, PermissionRequest, Permissions
from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.models.scripted_model import InProcessModel

COLLECTIONS = Path(__file__).with_name("collections")

pytestmark = [pytest.mark.anyio]

LOADED = {
    "anomalyco-opencode": ({"glaze-writer", "pricer"}, set(), {"changes"}),
    "anthropics-claude-code": ({"glaze-explorer", "kiln-watcher"}, set(), {"commit-glaze"}),
    "anthropics-skills": (set(), {"price-list", "receipt", "template-skill"}, set()),
    "contains-studio-agents": ({"shop-prototyper", "glaze-namer", "firing-tracker"}, set(), set()),
    "github-awesome-copilot": ({"kiln-foundry", "4.1-Potter"}, set(), {"glaze-recipe"}),
    "obra-superpowers": ({"firing-reviewer"}, {"fire-before-glaze", "asking-the-potter"}, {"write-firing-plan"}),
    "superclaude-framework": ({"wheel-master"}, set(), {"sc:throw"}),
    "vijaythecoder-awesome-claude-agents": ({"studio-lead-orchestrator", "raku-expert", "all-rounder"}, set(), set()),
    "voltagent-subagents": ({"clay-designer", "kiln-firmware-4.8-expert", "shard-auditor"}, set(), set()),
    "wshobson-agents": (
        {"kiln-architect", "glaze-debugger"},
        set(),
        {"tools:fire-schedule", "workflows:full-review"},
    ),
}
"""The agents, skills and commands of each."""

LEFT_OUT = {
    "anomalyco-opencode": {"old-kiln.md": "it says `disable: true`"},
    "vijaythecoder-awesome-claude-agents": {
        "two words.md": "its name may have",
        "wrong-one.md": '"description" again',
    },
}
"""What cannot be used, and why."""


def project(tmp_path: Path, collection: str) -> Path:
    shutil.copytree(COLLECTIONS / collection, tmp_path / "project")
    return tmp_path


def test_there_are_ten_collections_and_each_file_is_counted() -> None:
    assert sorted(path.name for path in COLLECTIONS.iterdir()) == sorted(LOADED)
    for name, (agents, skills, commands) in LOADED.items():
        files = [
            path for path in (COLLECTIONS / name).rglob("*.md") if path.name not in ("README.md", "REFERENCE.md")
        ]
        assert len(files) == len(agents) + len(skills) + len(commands) + len(LEFT_OUT.get(name, {})), name


@pytest.mark.slow
@pytest.mark.parametrize("collection", sorted(LOADED))
async def test_each_definition_loads_or_says_why_not(tmp_path: Path, collection: str) -> None:
    agents, skills, commands = LOADED[collection]
    model = InProcessModel([says("hello")])
    async with opened(project(tmp_path, collection), model) as loop:
        await loop.prompt("hi")
        assert {name for name, agent in loop.setup.agents.items() if agent.level == "project"} == agents
        assert set(loop.commands) == commands
        offered = "\n".join(model.port_requests[-1].system)
        assert set(re.findall(r"^- ([a-z0-9-]+): ", offered.partition("\nSkills (")[2], re.MULTILINE)) == skills
        problems = {Path(path).name: reason for path, reason in loop.problems}
        expected = LEFT_OUT.get(collection, {})
        assert set(problems) == set(expected)
        for name, words in expected.items():
            assert words in problems[name]
        for name in agents:
            agent = loop.setup.agents[name]
            assert agent.description and "\\n" not in agent.description and "<example>" not in agent.description
            assert agent.prompt
            assert agent.tools is None or agent.may_use("read") or agent.may_use("grep"), (
                "it is not left without tools"
            )


@pytest.mark.slow
@pytest.mark.parametrize("collection", sorted(name for name, (agents, _, _) in LOADED.items() if agents))
async def test_each_agent_works_as_a_sub_agent(tmp_path: Path, collection: str) -> None:
    names = sorted(LOADED[collection][0])
    calls = [
        ScriptedCall("task", {"description": "a part", "prompt": f"do it, {name}", "agent": name}) for name in names
    ]
    model = InProcessModel([uses(*calls), *[says(f"part {n} is done") for n in range(len(names))], says("all done")])
    async with opened(project(tmp_path, collection), model, settings=QUICK) as loop:
        events = loop.events()
        ended = await loop.prompt("let them work")
        assert ended.text == "all done"
        results = [part for message in loop.messages for part in message.parts if getattr(part, "tool", "") == "task"]
        assert [part.status for part in results] == ["completed"] * len(names)  # type: ignore[union-attr]
        # a model that cannot be opened here is replaced, and that is told
        wanting = {loop.setup.agents[name].model for name in names} - {"", "inherit"}
        told = {event.wanted for event in events.take() if isinstance(event, ModelSubstituted)}
        assert told == wanting


async def test_tools_are_called_by_our_names(tmp_path: Path) -> None:
    async with opened(project(tmp_path, "anthropics-claude-code"), InProcessModel()) as loop:
        explorer, watcher = (loop.setup.agents[name] for name in ("glaze-explorer", "kiln-watcher"))
        assert (explorer.steps, explorer.effort, explorer.model) == (12, "high", "sonnet")
        assert {name for name in ("glob", "grep", "read", "todo", "bash") if explorer.may_use(name)} == {
            *("glob", "grep", "read", "todo", "bash")
        }
        assert not explorer.may_use("edit")
        assert watcher.may_use("bash") and watcher.may_use("kilns_read_cone") and watcher.may_use("sheets_anything")
        assert not watcher.may_use("kilns_fire") and not watcher.may_use("write")
        assert any((rule.tool, rule.action) == ("edit", "deny") for rule in watcher.rules)


async def test_a_projects_agent_of_another_host_gets_no_more_than_the_session(tmp_path: Path) -> None:
    async with opened(project(tmp_path, "anomalyco-opencode"), InProcessModel()) as loop:
        writer = loop.setup.agents["glaze-writer"]
        assert not writer.may_use("write") and not writer.may_use("bash") and writer.may_use("read")
        assert all(rule.action != "allow" for rule in (*writer.rules, *loop.setup.agents["pricer"].rules))
        assert ("outside", "deny") in {(rule.tool, rule.action) for rule in writer.rules}
        Permissions(writer.rules, workspace=loop.setup.workspace)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("collection", "name", "arguments", "sent"),
    [
        ("superclaude-framework", "sc:throw", "porcelain bowl", "1. **Centre**: porcelain bowl"),
        ("wshobson-agents", "tools:fire-schedule", "stoneware", "schedule for: stoneware"),
        ("wshobson-agents", "workflows:full-review", "all of it", "Review all of it with several agents."),
        ("anthropics-claude-code", "commit-glaze", "Add tenmoku", "with the message Add tenmoku."),
        ("obra-superpowers", "write-firing-plan", "", "this command is deprecated"),
        ("github-awesome-copilot", "glaze-recipe", "", "Write a recipe"),
        ("anomalyco-opencode", "changes", "cones 'the last ones'", "and cones above all: the last ones"),
    ],
)
async def test_each_command_becomes_a_prompt(
    tmp_path: Path, collection: str, name: str, arguments: str, sent: str
) -> None:
    async def ask(request: PermissionRequest) -> PermissionReply:
        assert request.need.values[0].startswith("git "), "commands that the file names are run by permission"
        return PermissionReply("once")

    model = InProcessModel([says("done")])
    async with opened(project(tmp_path, collection), model, ask_user=ask) as loop:
        assert (await loop.command(name, arguments)).text == "done"
        assert sent in str(model.port_requests[-1].messages)
        assert "!`" not in str(model.port_requests[-1].messages)
