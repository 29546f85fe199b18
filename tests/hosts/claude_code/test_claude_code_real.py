"""The plugin in real Claude Code: what reaches the model, and what is known without the agent's help."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from claude_host import TOO_LONG, ClaudeCode, Data, bash, edit, environment, hud, memory, read, uses

from hudkit.api import Hud
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import ScriptedCall, says
from hudkit.sections.state import HudState
from hudkit.testing.assertions import prefix_breaks
from hudkit.testing.model_server import ScriptedModel
from npm_programs import CLAUDE_CODE, executable

pytestmark = [pytest.mark.slow, pytest.mark.hosts]

Claudes = Callable[..., ClaudeCode]
BASE = "Your HUD outlives compaction."
TASK = "Make the shop's total right"
RULE = "Never touch legacy/."


def bases(request: CapturedRequest) -> tuple[int, int]:
    """How often the base is in the system prompt, and among the messages."""
    system = "\n".join(request.system)
    return system.count(BASE), request.text.count(BASE) - system.count(BASE)


def tag_of(request: CapturedRequest) -> str:
    """The tag of the blocks that change a request's base."""
    found = re.search(r"Blocks that begin with \[hud (\w+)\]", "\n".join(request.system))
    assert found is not None
    return found[1]


def state_of(data: Data, session: str) -> HudState:
    with Hud.open(data.db) as board:
        (key,) = [key for key in board.sessions() if session in key]
        return board.session(key).state


def test_the_first_call_has_base_and_tools_and_what_changes_comes_behind(
    claude: Claudes, model: ScriptedModel, data: Data, project: Path
) -> None:
    calc = project / "calc.py"
    model.play(
        uses(hud("task.set", description=TASK), bash("echo broken; exit 3")),
        uses(read(calc)),
        uses(edit(calc, "a - b", "a + b")),
        says("done"),
        uses(memory("history")),
        says("done again"),
    )
    session = claude()
    assert session.say(f"Please begin. {RULE}") == "done"
    assert session.say("And now?") == "done again"
    first = model.chats[0]
    assert bases(first) == (1, 0)
    assert {"mcp__hudkit__hud", "mcp__hudkit__memory"} <= set(first.tools), "not behind a search for tools"
    assert {bases(chat) for chat in model.chats} == {(1, 0)}
    assert TASK in model.chats[1].text
    told = "\n".join(text for _, text in session.contexts())
    assert "echo broken" in told, "with the next prompt, or behind the tools, whichever comes first"
    results = [text for role, text in model.chats[-1].messages if role == "tool"]
    assert any("error.encountered" in text and "exit 3" in text for text in results), "memory tells it"
    assert prefix_breaks(model.chats) == []
    session.close()
    state = state_of(data, session.session)
    assert state.task.description == TASK
    assert [file.path for file in state.files.active] == ["calc.py"]
    assert any("echo broken" in error.message for error in state.errors.open)
    assert any("legacy/" in rule.text for rule in state.constraints)
    assert state.session.host == "claude-code"


@pytest.mark.parametrize("how", ["manual", "auto"])
def test_after_a_compaction_every_live_item_is_there_once_and_nothing_superseded(
    claude: Claudes, model: ScriptedModel, data: Data, how: str
) -> None:
    model.play(
        uses(hud("task.set", description=TASK), hud("decisions.record", summary="Use SQLite", reason="small")),
        uses(hud("decisions.record", summary="Use PostgreSQL", reason="many writers")),
        uses(hud("decisions.supersede", id="d1", by="d2"), hud("notes.add", content="prices are in cents")),
        says("done"),
    )
    session = claude()
    session.say(f"Please begin. {RULE}")
    if how == "manual":
        session.say("/compact keep the prices")
    else:
        model.play(uses(bash("echo 1")), TOO_LONG)
    model.play(uses(bash("echo 2")), says("on"))
    session.say("Go on.")
    last = model.chats[-1]
    assert bases(last) == (1, 0)
    (base,) = [text for text in last.system if BASE in text]
    tag = tag_of(last)
    # Claude Code keeps its newest round word for word, with the block that stands there: the base says it is over.
    kept = [piece.text for piece in last.pieces if piece.message >= 0 and piece.form != "call"]
    told = base + "\n".join(text for text in kept if "[hud " not in text or f"[hud {tag}]" in text)
    for words in (TASK, "legacy/", "Use PostgreSQL", "prices are in cents"):
        assert told.count(words) == 1, (words, told)
    assert "Use SQLite" not in told
    assert how == "auto" or "Use SQLite" not in last.text
    (asked,) = model.of("compaction")
    instructions = asked.messages[-1][1]
    assert "Use PostgreSQL" in instructions and "Additional Instructions" in instructions
    session.close()
    assert len(state_of(data, session.session).compaction_history.last) == 1


def test_ten_resumes_and_two_compactions_leave_one_base(claude: Claudes, model: ScriptedModel) -> None:
    session = claude()
    model.play(uses(hud("notes.add", content="fact 0")), says("done"))
    session.say("Please begin.")
    breaks = []
    for number in range(1, 11):
        session.close()
        before = model.chats[-1]
        session = claude(session.session, resume=True)
        if number in (3, 7):
            session.say("/compact")
        model.play(uses(hud("notes.add", content=f"fact {number}")), says("done"))
        session.say(f"Go on with {number}.")
        if number not in (3, 7):
            breaks += prefix_breaks([before, *model.chats[-2:]])
    assert breaks == []
    assert {bases(chat) for chat in model.chats} == {(1, 0)}
    assert all(f"fact {number}" in model.chats[-1].text for number in range(11))
    assert not [text for event, text in session.contexts() if event == "SessionStart"], "a resume adds nothing"


def test_a_sub_agent_is_linked_and_knows_what_holds(claude: Claudes, model: ScriptedModel, data: Data) -> None:
    def answer(request: CapturedRequest) -> object:
        if request.messages[0][1].startswith("Count") or "Count the files." in request.messages[0][1]:
            done = "counting now" in request.text
            return says("there are 3") if done else uses(hud("notes.add", content="counting now"))
        if "there are 3" in request.text or 'Agent {"description"' in request.text:
            return says("done")
        if any(role == "tool" for role, _ in request.messages):
            look = {"description": "Count", "prompt": "Count the files.", "subagent_type": "general-purpose"}
            return uses(ScriptedCall("Agent", look))
        return uses(hud("decisions.record", summary="Integers only", reason="cents"))

    model.play(*[answer] * 12)  # type: ignore[list-item]
    session = claude()
    session.say(f"Please begin. {RULE}")
    model.wait("chat", 4)
    session.close()
    with Hud.open(data.db) as board:
        (child,) = [board.session(key) for key in board.sessions() if "agent-" in key]
        assert [note.content for note in child.state.notes] == ["counting now"]
        assert any(link.relation == "parent" for link in child.state.session.links)
    asked = next(chat for chat in model.chats if "Count the files." in chat.messages[0][1])
    assert "Integers only" in asked.text, "what holds for the parent holds for the child"


def test_the_persons_commands_are_answered(claude: Claudes, model: ScriptedModel) -> None:
    session = claude()
    model.play(uses(hud("task.set", description=TASK)), says("done"))
    session.say("Please begin.")
    assert TASK in session.say("/hud")
    assert "Added constraint" in session.say("/pin Releases go out on Tuesdays only")
    session.say("/compact")
    assert "1 compaction" in session.say("/compactions")
    assert "<line>" in session.say("/pin")
    model.play(says("on"))
    session.say("Go on.")
    assert "Releases go out on Tuesdays" in model.chats[-1].text


def test_the_plugin_is_valid(claude_code_installed: Path, data: Data, tmp_path: Path) -> None:
    plugin = data.write_plugin(patient=False)
    for folder in (plugin, plugin.parent):
        done = subprocess.run(
            [str(executable(CLAUDE_CODE)), "plugin", "validate", str(folder)],
            env=environment(tmp_path / "home", "http://127.0.0.1:9"),
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Validation passed" in done.stdout and not re.search(r"\d+ warnings?\b.*(?<!directory)", "")
