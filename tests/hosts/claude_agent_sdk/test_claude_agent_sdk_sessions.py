"""Sessions of the real Claude Agent SDK, and what of the HUD reached the model in them."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import claude_agent_sdk as sdk
import pytest
from anyio.from_thread import start_blocking_portal
from sdk_host import ClaudeAgentSdkHost, conversation, sdk_options, session_id, transcript_of

from hudkit import Hud
from hudkit.hosts.claude_agent_sdk import HudHooks, program_hooks
from hudkit.log.payloads import CompactAfter
from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply, says, uses
from hudkit.testing.assertions import kept_base, kept_bases, prefix_difference
from hudkit.testing.host_conformance import HostWorkspace
from hudkit.testing.model_server import ScriptedModel

pytestmark = [pytest.mark.slow, pytest.mark.hosts]

SUITE = ClaudeAgentSdkHost()
hud_call, fill_window, summary = SUITE.hud_call, SUITE.fill_window, SUITE.summary
RULE = "Never change the columns."


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(compaction=summary("The mapping is half done.")) as server:
        yield server


@pytest.fixture
def place(tmp_path: Path, model: ScriptedModel) -> HostWorkspace:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    return HostWorkspace(project, tmp_path / "data" / "hudkit.db", tmp_path, model.url)


def run(command: str) -> ScriptedCall:
    return ScriptedCall("Bash", {"command": command})


def blocks_that_hold(text: str, base: str) -> str:
    """The base and, of a request's text, the lines of the blocks that begin with its tag."""
    tag = base[base.index("[hud ") :].partition("]")[0] + "]"
    blocks = [part.partition("</system-reminder>")[0] for part in text.split(tag)[2:]]
    return "\n".join((base, *blocks))


@pytest.mark.parametrize("how", ["manual", "automatic"])
def test_a_compaction_leaves_each_live_item_once_and_nothing_superseded(
    model: ScriptedModel, place: HostWorkspace, how: str
) -> None:
    with conversation(place, "s1") as talk:
        model.play(
            uses(
                hud_call("task.set", description="Port the report"),
                hud_call("decisions.record", summary="Amounts are floats"),
                hud_call("notes.add", content="finance reads by position"),
                run("exit 3"),
            ),
            says("begun"),
        )
        talk.say(f"Port the report. {RULE}")
        model.play(uses(hud_call("decisions.record", summary="Amounts are integers")), says("better"))
        talk.say("Look at the amounts again.")
        model.play(uses(hud_call("decisions.supersede", id="d1", by="d2")), says("settled"))
        talk.say("Go on.")
        for n in range(4):
            model.play(uses(run(f"echo {n}")), says(f"step {n}"))
            talk.say("Go on.")
        if how == "manual":
            talk.say("/compact")
            model.play(says("on"))
        else:
            model.play(*fill_window(uses(run("echo last"))), says("on"))
        talk.say("And on.")
        model.play(uses(run("echo behind")), says("done"))
        talk.say("To the end.")
        talk.portal.call(talk.hooks.flush)
        with Hud.open(place.log) as hud:
            events = [
                event.payload for event in hud.session(talk.id, project=place.project, host="claude-code").events()
            ]
    assert sum(isinstance(payload, CompactAfter) for payload in events) == 1
    (asked,) = [text for role, text in model.of("compaction")[0].messages[-1:]]
    assert ("<hud>" in asked) is (how == "automatic"), "what a person's /compact is shown of it names no item"
    assert "comes back behind your summary" in asked or how == "automatic"
    for chat in model.chats[-3:]:
        base = kept_base(chat)
        hold = blocks_that_hold(chat.text, base)
        for words in ("Port the report", "Amounts are integers", "finance reads by position", "columns (derived)"):
            assert hold.count(words) == 1, (words, hold)
        assert "exit 3" in hold and "floats" not in hold
        assert "Amounts are floats" not in chat.text, "nor does it stand anywhere else"


def test_the_host_tells_the_remaining_tokens_or_the_hud_does(model: ScriptedModel, place: HostWorkspace) -> None:
    for who in ("host", "hud"):
        with conversation(place, who, remaining_tokens=who) as talk:
            model.play(says("done", used=150_000), says("done"))
            talk.say("Begin.")
            talk.say("Go on.")
    host, hud = model.chats[1].text, model.chats[3].text
    assert "tokens left</total_tokens>" in host and "context now: yellow" in host and "% (150k" not in host
    assert "tokens left</total_tokens>" not in hud and "context now: 75% (150k/200k), yellow" in hud


def test_a_window_of_a_million_tokens_is_known_by_its_beta(model: ScriptedModel, place: HostWorkspace) -> None:
    with conversation(place, "s1", betas=["context-1m-2025-08-07"]) as talk:
        model.play(says("done", used=150_000), says("done", used=750_000), says("done"))
        for prompt in ("Begin.", "Go on.", "And on."):
            talk.say(prompt)
    assert "context now" not in model.chats[1].text, "of 200,000 it would be yellow"
    assert "context now: 75% (750k/" in model.chats[2].text


def test_what_the_options_have_stays(model: ScriptedModel, place: HostWorkspace) -> None:
    seen: list[str] = []

    async def own_hook(asked: Any, _call: str | None, _context: Any) -> Any:
        seen.append(asked["hook_event_name"])
        output = {"hookEventName": "UserPromptSubmit", "additionalContext": "a text of the program's own"}
        return {"hookSpecificOutput": output}

    @sdk.tool("greet", "Greets", {"name": str})
    async def greet(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": f"hello {arguments['name']}"}]}

    own: dict[str, Any] = {
        "hooks": {"UserPromptSubmit": [sdk.HookMatcher(hooks=[own_hook])]},
        "mcp_servers": {"own": sdk.create_sdk_mcp_server("own", tools=[greet])},
        "allowed_tools": ["mcp__own__greet"],
        "system_prompt": "You are brief.",
    }
    plain = sdk_options(place, "s1", **own)
    with conversation(place, "s1", **own) as talk:
        model.play(uses(ScriptedCall("mcp__own__greet", {"name": "Ada"})), says("done"))
        assert talk.say("Begin.") == "done"
    first, second = model.chats
    assert seen == ["UserPromptSubmit"] and "a text of the program's own" in first.text
    assert "hello Ada" in second.text
    assert "You are brief." in first.system and not any("HUD" in text for text in first.system)
    assert kept_base(first) == kept_base(second)
    assert len(plain.hooks or {}) == 1 and list(plain.mcp_servers) == ["own"], "the options themselves are as before"


def test_servers_may_be_named_by_a_file(model: ScriptedModel, place: HostWorkspace) -> None:
    named = place.project / "servers.json"
    named.write_text(json.dumps({"mcpServers": {"none": {"command": "true"}}}))
    hooks = HudHooks(place.log)
    for servers in (str(named), Path("servers.json"), named.read_text()):
        filled = hooks.options(sdk.ClaudeAgentOptions(mcp_servers=servers, cwd=place.project))
        assert isinstance(filled.mcp_servers, dict) and list(filled.mcp_servers) == ["none", "hudkit"]
        assert hooks.options(filled) is filled, "the HUD is there once"
    with pytest.raises(Exception, match="no servers can be read there"):
        hooks.options(sdk.ClaudeAgentOptions(mcp_servers="nowhere.json"))
    hooks.close()


def test_a_query_of_one_prompt_has_the_hud(model: ScriptedModel, place: HostWorkspace) -> None:
    async def ask(options: sdk.ClaudeAgentOptions) -> list[str]:
        return [
            m.result or "" async for m in sdk.query(prompt=f"Begin. {RULE}", options=options) if hasattr(m, "result")
        ]

    hooks = HudHooks(place.log)
    options = hooks.options(sdk_options(place, "s1"))
    with start_blocking_portal() as portal:
        model.play(uses(hud_call("notes.add", content="a fact")), says("done"))
        assert portal.call(ask, options) == ["done"]
    hooks.close()
    assert "Your HUD" in kept_base(model.chats[0])
    with Hud.open(place.log) as hud:
        state = hud.session(session_id(place, "s1"), project=place.project, host="claude-code").state
    assert [note.content for note in state.notes] == ["a fact"]
    assert any("columns" in rule.text for rule in state.constraints), "what was said last is recorded at the end"


def test_calls_of_agents_at_once_are_each_of_its_own_session(model: ScriptedModel, place: HostWorkspace) -> None:
    """A sub-agent that works in the background calls the same tool, with the same arguments, as its parent."""
    task = {"description": "look", "prompt": "Look around.", "subagent_type": "general-purpose"}
    shown: dict[str, str] = {}

    def answer(request: Any) -> ScriptedReply:
        is_child = any(
            line == "Look around." for role, text in request.messages if role == "user" for line in text.split("\n")
        )
        who = "child" if is_child else "parent"
        if "a snapshot of all" in request.text:
            shown[who] = request.messages[-1][1]
            return says(f"{who} is done")
        if f"note of the {who}" in request.text:
            return uses(SUITE.router_call("memory", {"operation": "notes.list", "text": "a snapshot of all"}))
        note = uses(hud_call("notes.add", content=f"note of the {who}"))
        return note if is_child else uses(ScriptedCall("Agent", {**task, "run_in_background": True}), *note.calls)

    model.play(*[answer] * 40)
    with conversation(place, "s1") as talk:
        talk.say("Begin.")
        model.wait("chat", 6)
        talk.say("And now?")
        talk.portal.call(talk.hooks.flush)
    with Hud.open(place.log) as hud:
        states = [hud.session(key).state for key in hud.sessions() if not key.startswith("@")]
    notes = sorted(tuple(note.content for note in state.notes) for state in states)
    assert notes == [("note of the child",), ("note of the parent",)]
    (child,) = [state for state in states if state.notes[0].content == "note of the child"]
    assert [(link.relation, link.session_id) for link in child.session.links] == [("parent", session_id(place, "s1"))]


def test_a_log_that_is_held_stops_nobody_and_the_base_comes_later(
    model: ScriptedModel, place: HostWorkspace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    Hud.open(place.log).close()
    patient = program_hooks.hook_seconds
    with conversation(place, "s1") as talk:
        monkeypatch.setattr(program_hooks, "hook_seconds", lambda _event: 0.3)
        holding = sqlite3.connect(place.log, isolation_level=None)
        holding.execute("BEGIN EXCLUSIVE")
        model.play(*(uses(run(f"echo {n}")) for n in range(4)), says("without"))
        assert talk.say("Begin.") == "without"
        assert not any(kept_bases(chat) for chat in model.chats)
        late = [record for record in caplog.records if "no answer within" in record.getMessage()]
        assert len(late) == 2, "behind two of them nobody waits for the HUD, until a window begins"
        holding.execute("ROLLBACK")
        holding.close()
        monkeypatch.setattr(program_hooks, "hook_seconds", patient)
        talk.say("/compact")
        model.play(says("with"))
        assert talk.say("Go on.") == "with"
    assert kept_base(model.chats[-1]), "once the log can be written, the base is there"


def test_what_is_resumed_at_an_older_message_forgets_the_newer(model: ScriptedModel, place: HostWorkspace) -> None:
    with conversation(place, "s1") as talk:
        model.play(uses(hud_call("notes.add", content="stays")), says("one"))
        talk.say("Begin.")
        one = next(m.uuid for m in reversed(talk.messages) if isinstance(m, sdk.AssistantMessage))
        model.play(uses(hud_call("decisions.record", summary="Rewrite in Rust")), says("two"))
        talk.say("Use another language.")
    with conversation(place, "s1", resume_session_at=one) as talk:
        model.play(says("three"))
        talk.say("No, stay with Python.")
        model.play(says("four"))
        talk.say("Go on.")
        state = SUITE._state(place, talk)
    assert [note.content for note in state.notes] == ["stays"] and not state.decisions
    assert "Rust" not in model.chats[-1].text


def test_a_fork_goes_on_with_the_task_under_an_id_of_its_own(model: ScriptedModel, place: HostWorkspace) -> None:
    with conversation(place, "s1") as talk:
        model.play(uses(hud_call("task.set", description="Port the report")), says("one"))
        talk.say("Begin.")
    with conversation(place, "s1", fork_session=True) as talk:
        model.play(uses(hud_call("notes.add", content="of the fork")), says("two"))
        talk.say("Go on.")
        fork = next(m.session_id for m in talk.messages if isinstance(m, sdk.ResultMessage))
    with Hud.open(place.log) as hud:
        old = hud.session(session_id(place, "s1"), project=place.project, host="claude-code").state
        new = hud.session(fork, project=place.project, host="claude-code").state
    assert fork != session_id(place, "s1")
    assert new.task.description == old.task.description == "Port the report"
    assert [note.content for note in new.notes] == ["of the fork"] and not old.notes


def test_claude_code_starts_where_its_user_is_and_keeps_its_own_file(
    model: ScriptedModel, place: HostWorkspace
) -> None:
    """Contract 7: what the host keeps is its own; we have read it, and written nothing there."""
    with conversation(place, "s1") as talk:
        model.play(says("done"))
        talk.say("Begin.")
    file = transcript_of(place, "s1")
    assert file is not None
    records = [json.loads(line) for line in file.read_text().splitlines()]
    texts = [
        record for record in records if (record.get("attachment") or {}).get("type") == "hook_additional_context"
    ]
    assert len(texts) == 1 and "Your HUD" in texts[0]["attachment"]["content"][0]
    assert not [path for path in (place.folder / "home").rglob("*") if "hudkit" in path.name and path.is_file()]


def test_importing_hudkit_imports_no_sdk(tmp_path: Path) -> None:
    code = "import hudkit, sys; sys.exit('claude_agent_sdk' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=dict(os.environ), check=False).returncode == 0


def test_a_missing_sdk_is_told_with_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import sys; sys.modules['claude_agent_sdk'] = None\n"
        "from hudkit.errors import ConfigError\n"
        "try:\n    import hudkit.hosts.claude_agent_sdk\n"
        "except ConfigError as error:\n    print(error.hint)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "claude-agent-sdk" in done.stdout, done


def test_a_session_that_goes_on_without_the_hud_is_cached_as_before(
    model: ScriptedModel, place: HostWorkspace
) -> None:
    with conversation(place, "s1") as talk:
        model.play(uses(run("echo 1"), run("exit 2"), run("echo 3")), says("one"))
        talk.say("Begin.")
        model.play(says("two"))
        talk.say("Go on.")
    with conversation(place, "s1") as talk:
        model.play(uses(run("echo 4")), says("three"))
        talk.say("And on.")
    pairs = zip(model.chats, model.chats[1:], strict=False)
    assert [difference for before, after in pairs if (difference := prefix_difference(before, after))] == []
