"""What pi's own ways with sessions do to the HUD: compactions that the agent asks for, steps back in the tree."""

from __future__ import annotations

from pathlib import Path

import pytest
from pi_host import Pi, PiData

from hudkit.api import Hud
from hudkit.cli.replays.known_histories import find_history
from hudkit.log.payloads import CompactAfter
from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.sections.state import HudState
from hudkit.testing.assertions import hud_base
from hudkit.testing.model_server import ScriptedModel
from hudkit.transcripts import ToolPart, open_pi
from hudkit.transcripts.history_segments import read_segments
from hudkit.transcripts.recorded_calls import CallReader
from hudkit.transcripts.transcript_follower import TranscriptFollower

pytestmark = [pytest.mark.slow, pytest.mark.hosts]

BACK = """
export default function (pi) {
  pi.registerCommand("back", { handler: async (_args, ctx) => {
    const users = ctx.sessionManager.getBranch().filter((entry) => entry.message?.role === "user");
    await ctx.navigateTree(users.at(-1).id, { summarize: false });
  } });
}
"""
"""What a person does in pi's tree of a session, as a command."""


def note(text: str) -> ScriptedCall:
    return ScriptedCall("hud", {"operation": "notes.add", "text": text})


def state(data: PiData, project: Path, session: str = "s1") -> HudState:
    with Hud.open(data.db) as hud:
        return hud.session(session, project=project, host="pi").state


def test_a_step_back_in_the_tree_takes_back_what_it_recorded(
    model: ScriptedModel, data: PiData, project: Path, tmp_path: Path
) -> None:
    (tmp_path / "back.js").write_text(BACK)
    files = [data.write_extension(), tmp_path / "back.js"]
    with Pi(tmp_path / "home", project, model.url, "s1", extensions=files) as host:
        model.play(uses(note("prices are in cents")), says("done"))
        host.say("Please begin.")
        model.play(uses(note("all is in Rust now")), says("done"))
        host.say("Never touch legacy/.")
        assert len(state(data, project).notes) == 2
        host.run_command("/back")
        model.play(says("done"))
        host.say("Something else, please.")
    assert [item.content for item in state(data, project).notes] == ["prices are in cents"]
    assert "Rust" not in model.chats[-1].text and "legacy/" not in model.chats[-1].text


def test_a_person_sees_the_hud_and_pins_a_line_without_the_model(
    model: ScriptedModel, data: PiData, project: Path, tmp_path: Path
) -> None:
    with Pi(tmp_path / "home", project, model.url, "s1", extensions=[data.write_extension()]) as host:
        model.play(uses(note("prices are in cents")), says("done"))
        host.say("Please begin.")
        host.run_command("/pin Releases go out on Tuesdays only")
        host.run_command("/hud")
        pinned, shown = host.notices[-2:]
        assert "prices are in cents" in shown and "Releases go out on Tuesdays only" in shown
        host.run_command("/pin")
        assert "usage: hudkit pin" in host.notices[-1]
        requests = len(model.chats)
        model.play(says("done"))
        host.say("Go on.")
    assert len(model.chats) == requests + 1, "no model was asked about a command"
    assert "Releases go out on Tuesdays only" in model.chats[-1].text
    assert "usage: hudkit" not in model.chats[-1].text and pinned not in model.chats[-1].text


def test_the_agent_can_ask_for_a_compaction(
    model: ScriptedModel, data: PiData, project: Path, tmp_path: Path
) -> None:
    with Pi(tmp_path / "home", project, model.url, "s1", extensions=[data.write_extension()]) as host:
        model.play(uses(note("prices are in cents")), says("words " * 400, used=25_000))
        host.say("Please begin.")
        model.play(uses(ScriptedCall("hud_compact", {})), says("words " * 400, used=26_000))
        host.say("And now?")
        host.wait_for("compaction_end")
        model.play(says("done"))
        host.say("Go on.")
    summaries = [request.text for request in model.of("compaction")]
    assert len(summaries) == 2, "what was before the turn, and how the turn began"
    for text in summaries:
        assert "on record" in text and "prices are in cents" in text, "each is told what is kept"
    assert "prices are in cents" in hud_base(model.chats[-1])
    with Hud.open(data.db) as hud:
        events = [event.payload for event in hud.session("s1", project=project, host="pi").events()]
    (compaction,) = [payload for payload in events if isinstance(payload, CompactAfter)]
    assert "What was done so far is done." in compaction.summary


def test_the_reader_of_its_files_sees_what_the_extension_told(
    model: ScriptedModel, data: PiData, project: Path, tmp_path: Path
) -> None:
    with Pi(tmp_path / "home", project, model.url, "s1", extensions=[data.write_extension()]) as host:
        model.play(
            uses(ScriptedCall("bash", {"command": "echo two; exit 3"}), text="Let me look."), says("words " * 400)
        )
        host.say("Please begin.")
        host.ask("compact")
        model.play(says("done", used=1_234, output=6))
        host.say("Go on.")
    transcript = open_pi(host.transcript)
    (row,) = transcript.sessions()
    messages = list(transcript.messages("s1"))
    assert (row.id, row.host, row.directory, row.title) == ("s1", "pi", str(project), "Please begin.")
    roles = ["user", "assistant", "assistant", "user", "assistant", "user", "assistant"]
    assert [message.role for message in messages] == roles
    command = messages[1].parts[1]
    assert isinstance(command, ToolPart) and command.status == "error" and "exited with code 3" in command.error
    assert messages[4].summary and messages[-1].usage is not None and messages[-1].usage.used == 1_240
    window = TranscriptFollower("pi", host.transcript).read()
    assert window.anchors[:2] == (messages[3].id, messages[4].id), "the compaction comes first"
    assert messages[0].id not in window.anchors and window.all_anchors[0] == messages[0].id
    assert window.usage == messages[-1].usage and (window.compactions, window.responses) == (1, 3)
    with Hud.open(data.db) as hud:
        text = "".join(str(event.payload) for event in hud.session("s1", project=project, host="pi").events())
    assert messages[4].id in text, "the log knows the summary by the name that the reader gives it"
    history = find_history(host.home / ".pi")
    assert history is not None and (history.host, history.files) == ("pi", (host.transcript,))
    before, after = read_segments(row, host.transcript)
    assert before.summary is not None and before.summary.id == messages[4].id and before.before_tokens
    assert [message.id for message in before.messages] == [message.id for message in messages[:3]]
    assert before.remaining == {messages[2].id}, "what the compaction kept"
    assert [message.id for message in after.messages] == [message.id for message in messages[5:]]
    calls = list(CallReader("pi", host.transcript).calls())
    assert [call.summary for call in calls] == [False, False, True, False]
