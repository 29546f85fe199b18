"""What reaches the model of real Codex with hudkit: base, deltas and tools, through compactions and new processes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from codex_host import MODEL, SCRIPTS

from conftest import Codexes
from hudkit import Hud
from hudkit.hosts.codex.codex_install import COMPACT_PROMPT
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply, says, uses
from hudkit.testing.assertions import hud_base, prefix_breaks
from hudkit.testing.model_server import ScriptedModel

pytestmark = [pytest.mark.slow, pytest.mark.hosts]


def hud(operation: str, **arguments: str) -> ScriptedCall:
    return ScriptedCall("hud", {"operation": operation, **arguments})


def run(command: str) -> ScriptedCall:
    return ScriptedCall("exec_command", {"cmd": command})


def bases(request: CapturedRequest) -> int:
    return request.text.count("Your HUD outlives compaction")


def blocks(request: CapturedRequest) -> str:
    """What hooks brought behind the base, in order."""
    return "\n".join(text for text in request.system if text.startswith("[hud "))


def test_the_first_call_has_the_base_and_the_tools(codex: Codexes, model: ScriptedModel) -> None:
    model.play(says("ready"))
    assert codex().exec("Hello.").words == "ready"
    (chat,) = model.chats
    assert "none set yet" in hud_base(chat) and bases(chat) == 1
    assert {"hud", "memory"} <= set(chat.tools) and "hud_hook" not in chat.text + json.dumps(chat.body)


def test_what_changes_is_told_after_tools_and_prompts(codex: Codexes, model: ScriptedModel) -> None:
    """A failed command and an edited file, too, which the agent does not report."""
    host = codex()
    (host.project / "kiln.py").write_text("RAMP = 120\n")
    patch = "*** Begin Patch\n*** Update File: kiln.py\n@@\n-RAMP = 120\n+RAMP = 80\n*** End Patch"
    model.play(
        uses(hud("task.set", text="Fire the kiln"), run("echo overshoot; exit 3")),
        uses(run("ls")),
        uses(run(f"apply_patch <<'EOF'\n{patch}\nEOF")),
        says("The ramp is 80."),
    )
    with host.serve() as server:
        session = server.begin()
        server.say(session, "The kiln overshoots. Never touch legacy/.")
        after_tool = blocks(model.chats[1])
        assert "constraint: Never touch legacy/" in after_tool
        assert (host.project / "kiln.py").read_text() == "RAMP = 80\n"
        model.play(says("Yes."))
        server.say(session, "Is it done?")
    assert "exit 3" in blocks(model.chats[-1])
    state = host.state(session)
    assert [error.message for error in state.errors.open] == ["echo overshoot; exit 3: overshoot"]
    assert [file.path for file in state.files.active] == ["kiln.py"]
    assert state.task.description == "Fire the kiln" and state.session.host == "codex"
    assert prefix_breaks(model.chats) == [] and bases(model.chats[-1]) == 1


def test_tools_that_a_script_calls_are_known_as_well(codex: Codexes, model: ScriptedModel) -> None:
    """Newer models call all tools from scripts, and Codex then lists ours by name only."""
    host = codex(model=SCRIPTS)
    patch = "*** Begin Patch\n*** Add File: fire.txt\n+hot\n*** End Patch\n"
    script = (
        'const ran = await tools.exec_command({cmd: "echo overshoot; exit 3"}); text(ran.output);'
        'text(await tools.mcp__hudkit__hud({operation: "task.set", text: "Fire the kiln"}));'
        f"text(await tools.apply_patch({json.dumps(patch)}))"
    )
    model.play(uses(ScriptedCall("exec", script)), says("done"), says("Yes."))
    with host.serve() as server:
        session = server.begin()
        server.say(session, "Please begin.")
        server.say(session, "Is it done?")
    first, last = model.chats[0], model.chats[-1]
    assert "mcp__hudkit" in first.text and "tools.mcp__hudkit__hud" in first.text
    assert "Set the task." in last.text and "exit 3" in blocks(last)
    assert prefix_breaks(model.chats) == [] and bases(last) == 1
    state = host.state(session)
    assert state.task.description == "Fire the kiln" and len(state.errors.open) == 1
    assert [file.path for file in state.files.active] == ["fire.txt"]


@pytest.mark.parametrize("model_name", [MODEL, SCRIPTS])
@pytest.mark.parametrize("automatic", [False, True], ids=["manual", "automatic"])
def test_after_a_compaction_every_live_item_is_there_once(
    codex: Codexes, model: ScriptedModel, *, automatic: bool, model_name: str
) -> None:
    host = codex(compact_at=60_000 if automatic else 0, model=model_name)
    model.compaction = says("I was firing the kiln.")

    def work(*calls: ScriptedCall, used: int = 20_000) -> ScriptedReply:
        if model_name == SCRIPTS:
            lines = [
                f"text(await tools.{'mcp__hudkit__hud' if call.name == 'hud' else call.name}({call.text}))"
                for call in calls
            ]
            calls = (ScriptedCall("exec", ";".join(lines)),)
        return ScriptedReply("", calls, usage=says("", used=used).usage)

    model.play(
        work(hud("task.set", text="Fire the kiln"), hud("decisions.record", text="Glaze it red")),
        work(hud("decisions.record", text="Glaze it blue"), hud("notes.add", text="cone 6 is 1222 degrees")),
        work(hud("decisions.supersede", item="red", text="Glaze it blue"), hud("steps.add", text="open the damper")),
        says("Noted.", used=90_000 if automatic else 20_000),
    )
    with host.serve() as server:
        session = server.begin()
        server.say(session, "The kiln overshoots. Never touch legacy/.")
        if not automatic:
            server.compact(session)
        model.play(work(run("echo on")), says("Going on."), says("Yes."))
        server.say(session, "Go on.")
        server.say(session, "And now?")
    assert len(model.of("compaction")) == 1
    behind = [chat for chat in model.chats if "I was firing the kiln." in chat.text]
    assert len(behind) == 3 and prefix_breaks(behind) == []
    for chat in behind:
        assert bases(chat) == 1
        base = hud_base(chat)
        for item in ("Fire the kiln", "Glaze it blue", "cone 6 is 1222 degrees", "open the damper"):
            assert (item in base, chat.text.count(item)) == (True, 1), (item, base)
        assert "- Never touch legacy/" in base
        assert "Glaze it red" not in chat.text


@pytest.mark.parametrize("by_command", [False, True], ids=["server", "exec"])
def test_a_new_process_goes_on_without_a_second_base(
    codex: Codexes, model: ScriptedModel, *, by_command: bool
) -> None:
    host = codex()
    session = ""
    for number in range(3):
        model.play(uses(hud("notes.add", text=f"note {number}")), uses(run("exit 4")), says(f"done {number}"))
        if by_command:
            done = host.exec(f"Now part {number}.", session or None)
            session = done.session
            assert done.words == f"done {number}"
            continue
        with host.serve() as server:
            session = server.resume(session) if session else server.begin()
            assert server.say(session, f"Now part {number}.") == f"done {number}"
    assert len(model.chats) == 9 and {bases(chat) for chat in model.chats} == {1}
    assert prefix_breaks(model.chats) == []
    assert [note.content for note in host.state(session).notes] == ["note 0", "note 1", "note 2"]


@pytest.mark.parametrize("model_name", [MODEL, SCRIPTS])
def test_a_sub_agent_is_linked_and_has_the_base_of_its_parent(
    codex: Codexes, model: ScriptedModel, model_name: str
) -> None:
    host = codex(model=model_name)
    v2 = model_name == SCRIPTS

    def of_child(request: CapturedRequest) -> bool:
        return "Count the files." in request.text and "Please delegate." not in request.text

    def answer(request: CapturedRequest) -> ScriptedReply:
        results = [text for role, text in request.messages if role == "tool"]
        if of_child(request):
            return says("there are 3") if results else uses(run("ls; exit 5"))
        if not results:
            return uses(
                hud("decisions.record", text="Glaze it blue")
                if not v2
                else ScriptedCall(
                    "exec", 'await tools.mcp__hudkit__hud({operation: "decisions.record", text: "Glaze it blue"})'
                )
            )
        if len(results) == 1:
            named = {"task_name": "count", "fork_turns": "none"} if v2 else {}
            return uses(ScriptedCall("spawn_agent", {"message": "Count the files.", **named}))
        if len(results) == 2:
            targets = {} if v2 else {"targets": [json.loads(results[1])["agent_id"]]}
            return uses(ScriptedCall("wait_agent", {"timeout_ms": 60_000, **targets}))
        return says("done")

    model.play(*[answer] * 20)
    with host.serve() as server:
        session = server.begin()
        assert server.say(session, "Please delegate.") == "done"
    child = next(chat for chat in model.chats if of_child(chat))
    assert bases(child) == 1 and "Glaze it blue" in hud_base(child)
    with Hud.open(host.log) as log:
        states = {key: log.session(key).state for key in log.sessions() if not key.startswith("@")}
    (own,) = [state for key, state in states.items() if session not in key]
    assert [(link.relation, link.session_id) for link in own.session.links] == [("parent", session)]
    assert [re.sub(": .*", "", error.message) for error in own.errors.open] == ["ls; exit 5"]
    parent = next(state for key, state in states.items() if session in key)
    assert not parent.errors.open and [link.relation for link in parent.session.links] == ["child"]
    assert [(run.result, run.working) for run in parent.subagents.runs] == [("there are 3", False)]


def test_without_a_session_file_the_base_comes_all_the_same(codex: Codexes, model: ScriptedModel) -> None:
    host = codex()
    model.play(uses(hud("notes.add", text="cone 6")), says("done"))
    assert host.exec("Hello.", arguments=["--ephemeral"]).words == "done"
    assert bases(model.chats[0]) == 1 and not list(Path(host.home / "sessions").rglob("*.jsonl"))


def test_the_prompt_of_the_compaction_is_the_one_that_install_offers(codex: Codexes, model: ScriptedModel) -> None:
    host = codex(hud=False)
    host.install(compact_prompt=True)
    model.play(uses(hud("notes.add", text="cone 6")), says("done"), says("Yes."))
    with host.serve() as server:
        session = server.begin()
        server.say(session, "Hello.")
        server.compact(session)
        server.say(session, "And now?")
    (asked,) = model.of("compaction")
    assert asked.messages[-1] == ("user", COMPACT_PROMPT)
    assert "cone 6" in hud_base(model.chats[-1])
