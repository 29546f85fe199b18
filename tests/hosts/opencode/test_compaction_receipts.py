"""Compactions of real OpenCode: what the agent is told before, what receipts say after, and what undo brings."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hud_seen import hud
from opencode_host import Hosts, OpenCode

from hudkit.api import Hud
from hudkit.cli import main
from hudkit.errors import TranscriptError
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import Refusal, ScriptedCall, ScriptedReply, says, uses
from hudkit.testing.assertions import delta_lines, hud_base
from hudkit.testing.model_server import ScriptedModel
from hudkit.transcripts.search.index_reader import IndexReader
from hudkit.transcripts.search.query import SearchQuery

pytestmark = pytest.mark.slow

HALF = 24_000
"""Tokens of a prompt that fills 60 % of the window."""
PASSES = 36_500
"""Tokens of a prompt after which OpenCode compacts by itself."""

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cli(place: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    """`hudkit compactions …` on the daemon's log."""

    def call(host: OpenCode, *words: object) -> tuple[int, str, str]:
        given = ["compactions", *map(str, words), "--db", str(place / "hudkit.db"), "--opencode", str(host.db)]
        code = main(given)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def memory(operation: str, **args: object) -> ScriptedCall:
    return ScriptedCall("memory", {"tool": operation, "args": args})


def answers(request: CapturedRequest) -> list[str]:
    """What the calls of the request were answered, in order."""
    return [text for role, text in request.messages if role == "tool"]


def facts(cli: Cli, host: OpenCode, *words: object) -> dict[str, Any]:
    code, out, err = cli(host, *words, "--json")
    assert code == 0, err
    return dict(json.loads(out))


def user_texts(request: CapturedRequest) -> list[str]:
    return [text for role, text in request.messages if role == "user"]


BEGIN = (
    uses(
        hud("task.set", description="Move the gauges to the new panel"),
        hud("decisions.record", summary="Needles are drawn, not bitmaps"),
        hud("decisions.record", summary="Dials are bitmaps"),
        hud("notes.add", content="The panel is 320 wide"),
    ),
    uses(
        hud("decisions.record", summary="Dials are drawn, too", supersedes="Dials are bitmaps"),
        ScriptedCall("bash", {"command": "seq 1 400", "description": "count"}),
    ),
)


def searchable(data: Path, word: str) -> bool:
    """Whether a past session with a word is in the index that the daemon keeps."""
    index = data / "hudkit.search.db"
    if not index.exists():
        return False
    try:
        with closing(IndexReader.open(index)) as reader:
            return bool(reader.search(SearchQuery(word)))
    except TranscriptError:  # its tables are being made
        return False


def test_the_agent_compacts_at_a_break_point_and_goes_on(
    opencode: Hosts, model: ScriptedModel, plugin: Path, cli: Cli
) -> None:
    host = opencode(plugins=[plugin])
    host.serve()
    other = host.create("the harbour lights")
    model.play(says("The harbour beacon listens on port 8143."))
    host.prompt(other, "which port has the beacon?")
    assert host.settled(lambda: searchable(plugin.parent, "beacon")), "the daemon reads beside the calls"

    session = host.create("the panel")
    model.compaction = lambda _: says(
        "## Goal\nGauges on the panel.\n\n- Needles are drawn, not bitmaps\n- Half is moved."
    )
    search = memory("search", query="harbour beacon port", role="assistant")
    model.play(*BEGIN, ScriptedReply("halfway there", usage=says("", used=HALF).usage))
    host.prompt(session, "begin")
    model.play(
        ScriptedReply(calls=(memory("context"), search), usage=says("", used=HALF).usage),
        ScriptedReply(calls=(ScriptedCall("hud_compact", {}),), usage=says("", used=HALF).usage),
        says("compacting now", used=HALF),
    )
    host.prompt(session, "is this a good moment?")
    context, found = answers(model.chats[-2])[-2:]
    assert "60" in context and "24,0" in context
    assert "8143" in found and other in found
    announced = answers(model.chats[-1])[-1]
    assert "60 % of the window" in announced and "will be freed (estimated)" in announced
    assert "the task, 2 decisions, 1 note" in announced and "found again by" in announced
    assert len(model.wait("compaction")) == 1
    assert host.settled(lambda: any(one["info"].get("summary") is True for one in host.messages(session)))

    model.play(says("going on"), says("and on"))
    host.prompt(session, "go on")
    host.prompt(session, "and on")
    base = hud_base(model.chats[-1])
    for text in ("Move the gauges", "- Dials are drawn, too", "- The panel is 320 wide"):
        assert text in base
    assert "Half is moved." in model.chats[-1].text and "Half is moved." not in base, "it stands right behind"
    assert base.count("Needles are drawn, not bitmaps") == 1, "the summary repeats it, the base does not"
    assert "Dials are bitmaps" not in base

    (one,) = facts(cli, host, "--session", session)["compactions"]
    assert one["trigger"] == "agent" and one["limit"] == 40_000 and one["lasted_ms"] >= 0
    assert one["reported_before"] == HALF + 10 and 0 < one["reported_after"] < HALF
    assert one["freed"] == one["reported_before"] - one["reported_after"] and one["enough"]
    assert one["lost"] == [] and one["revived"] == []
    assert one["held"]["decisions"] == ["Needles are drawn, not bitmaps", "Dials are drawn, too"]
    before, after = one["before"], one["after"]
    assert (before["system"], before["tools"]) == (after["system"], after["tools"]), "one counter"
    assert before["words"] > after["words"] and before["messages"] > after["messages"]
    for part in (before, after):
        assert part["total"] == sum(part[name] for name in ("system", "tools", "hud", "words")) + sum(
            part["outputs"].values()
        )

    whole = facts(cli, host, "show", 1, "--session", session)
    ids = [message["info"]["id"] for message in host.messages(session)]
    assert whole["dropped"]["first"] == ids[0] and whole["dropped_outputs"]["hud"] == 5
    assert whole["dropped"]["count"] + whole["kept"]["count"] == ids.index(
        next(m["info"]["id"] for m in host.messages(session) if any(p["type"] == "compaction" for p in m["parts"]))
    )
    code, text, _ = cli(host, "show", 1, "--session", session)
    assert code == 0 and "Half is moved." in text and "output of bash" in text and "by the agent" in text
    code, text, _ = cli(host, "diff", 1, "--session", session)
    assert f"- {ids[0]} user: begin" in text and "+ summary: ## Goal" in text and "  notes: The panel" in text
    assert "by the agent" in cli(host, "--session", session)[1]

    model.play(uses(memory("compactions")), says("seen"))
    host.prompt(session, "what was dropped?")
    listed = answers(model.chats[-1])[-1]
    assert "by the agent" in listed and f"{HALF + 10:,} -> " in listed


def test_undo_brings_the_dropped_messages_back(opencode: Hosts, model: ScriptedModel, plugin: Path, cli: Cli) -> None:
    host = opencode(own=True, plugins=[plugin])
    server = host.serve()
    session = host.create("the panel")
    model.compaction = lambda _: says(f"Summary number {len(model.of('compaction'))}.")
    model.play(*BEGIN, says("the first answer"))
    host.prompt(session, "the first words")
    assert host.summarize(session)
    model.play(says("the second answer"))
    host.prompt(session, "the second words")
    assert host.summarize(session)
    model.play(uses(hud("notes.add", content="Learned after the second")), says("the third answer"))
    host.prompt(session, "the third words")
    assert "Summary number 2." in model.chats[-2].text and "2 compactions: memory compactions" in hud_base(
        model.chats[-2]
    )

    code, plan, _ = cli(host, "undo", 2, "--session", session)
    assert code == 0 and "Nothing was done" in plan and len(model.chats) and "messages come back" in plan
    code, out, err = cli(host, "undo", 2, "--session", session, "--server", "http://127.0.0.1:9", "--yes")
    assert code == 2 and "no OpenCode answers" in err and f"/session/{session}/revert" in out
    code, out, err = cli(host, "undo", 2, "--session", session, "--server", server, "--yes")
    assert code == 0, err
    model.play(says("the fourth answer"))
    host.prompt(session, "the fourth words")
    last = model.chats[-1]
    assert any("the second words" in text for text in user_texts(last))
    assert not any("the third words" in text for text in user_texts(last))
    base = hud_base(last)
    assert (
        "Summary number 1." in base and "Summary number 2." not in base and "1 compaction: memory compactions" in base
    )
    assert "- Dials are drawn, too" in base
    assert "Learned after the second" not in base, "the message that noted it was taken back, too"
    first, second = facts(cli, host, "--session", session)["compactions"]
    assert not first["undone"] and second["undone"]
    assert cli(host, "undo", 2, "--session", session)[0] == 2

    assert cli(host, "undo", 1, "--session", session, "--server", server, "--yes")[0] == 0
    model.play(says("the fifth answer"))
    host.prompt(session, "the fifth words")
    last = model.chats[-1]
    assert any("the first words" in text for text in user_texts(last))
    assert "Earlier Context" not in hud_base(last) and "Summary number" not in hud_base(last)
    assert "Dials are bitmaps" not in hud_base(last) + "".join(delta_lines(last))


def test_undo_of_a_full_window_takes_its_turn_back(
    opencode: Hosts, model: ScriptedModel, plugin: Path, cli: Cli
) -> None:
    host = opencode(own=True, plugins=[plugin])
    server = host.serve()
    session = host.create("the panel")
    model.play(*BEGIN, says("the first answer"))
    host.prompt(session, "the first words")
    model.play(says("that was much", used=PASSES), says("going on"))
    host.prompt(session, "the second words")
    code, plan, _ = cli(host, "undo", "--session", session)
    assert code == 0 and "compacts again at the next prompt" in plan
    assert cli(host, "undo", "--session", session, "--server", server, "--turn", "--yes")[0] == 0
    model.play(says("the third answer"))
    host.prompt(session, "the third words")
    assert len(model.of("compaction")) == 1
    texts = user_texts(model.chats[-1])
    assert any("the first words" in text for text in texts) and not any("the second words" in text for text in texts)
    assert "- The panel is 320 wide" in model.chats[-1].text and "Earlier Context" not in hud_base(model.chats[-1])


def test_undo_in_a_copy_leaves_the_session_as_it_is(
    opencode: Hosts, model: ScriptedModel, plugin: Path, cli: Cli, place: Path
) -> None:
    host = opencode(own=True, plugins=[plugin])
    server = host.serve()
    session = host.create("the panel")
    model.play(*BEGIN, says("the first answer"))
    host.prompt(session, "the first words")
    assert host.summarize(session)
    model.play(says("the second answer"))
    host.prompt(session, "the second words")
    done = facts(cli, host, "undo", "--session", session, "--server", server, "--fork", "--yes")
    copy = done["session"]
    assert copy != session and len(host.messages(session)) > len(host.messages(copy))
    model.play(says("the third answer"))
    host.prompt(copy, "the third words")
    assert any("the first words" in text for text in user_texts(model.chats[-1]))
    with Hud.open(place / "hudkit.db") as hud:
        state = hud.session(copy, project=host.project, host="opencode").state
    assert [one.summary for one in state.decisions] == ["Needles are drawn, not bitmaps", "Dials are drawn, too"]
    assert [one.content for one in state.notes] == ["The panel is 320 wide"] and not state.compacted.count
    assert "Dials are drawn, too" in model.chats[-1].text
    assert "Earlier Context" not in hud_base(model.chats[-1])


@pytest.mark.parametrize("full", [True, False], ids=["before its compaction", "after it"])
def test_a_copy_has_the_state_of_its_session(
    opencode: Hosts, model: ScriptedModel, plugin: Path, place: Path, full: bool
) -> None:
    """A copy that is full is compacted before it makes any call of the agent: nothing was told of it until then."""
    host = opencode(plugins=[plugin])
    host.serve()
    session = host.create("the panel")
    model.play(*BEGIN, says("nearly full", used=PASSES))
    host.prompt(session, "the first words")
    marker = next(
        message["info"]["id"]
        for message in host.messages(session)
        if any(part["type"] == "compaction" for part in message["parts"])
    )
    copy = host.fork(session, marker if full else None)
    model.play(says("the second answer"))
    host.prompt(copy, "the second words")
    assert len(model.of("compaction")) == (2 if full else 1)
    base = hud_base(model.chats[-1])
    assert "- Dials are drawn, too" in base and "- The panel is 320 wide" in base
    with Hud.open(place / "hudkit.db") as hud:
        state = hud.session(copy, project=host.project, host="opencode").state
    assert [one.summary for one in state.decisions] == ["Needles are drawn, not bitmaps", "Dials are drawn, too"]
    assert state.compacted.count == 1
    assert any(link.relation == "fork" for link in state.session.links)


REFUSES = says("I'm sorry, but I can't help with summarizing this conversation.")


@pytest.mark.parametrize(("answer", "why"), [(says(""), "empty"), (REFUSES, "refusal")])
def test_the_log_stands_in_for_a_summary_that_failed(
    opencode: Hosts, model: ScriptedModel, plugin: Path, cli: Cli, answer: ScriptedReply, why: str
) -> None:
    host = opencode(plugins=[plugin])
    host.serve()
    session = host.create("the panel")
    model.play(*BEGIN, says("the first answer"))
    host.prompt(session, "the first words")
    model.compaction = lambda _: answer
    assert host.summarize(session)
    for words in ("the second words", "the third words"):
        model.play(says("an answer"))
        host.prompt(session, words)
        base = hud_base(model.chats[-1])
        assert "Last requests:\n\n- the first words" in base
        assert "sorry" not in base
        assert "- Dials are drawn, too" in base and base.count("Dials are drawn, too") == 1
    one = facts(cli, host, "show", "--session", session)
    assert one["summary_by"] == "static" and not one["undone"]
    assert why in cli(host, "show", "--session", session)[1]


def test_a_compaction_whose_model_fails_takes_nothing(
    opencode: Hosts, model: ScriptedModel, plugin: Path, cli: Cli
) -> None:
    host = opencode(plugins=[plugin])
    host.serve()
    session = host.create("the panel")
    model.play(*BEGIN, says("the first answer"))
    host.prompt(session, "the first words")
    model.compaction = lambda _: says("A summary that held.")
    assert host.summarize(session)
    model.play(says("the second answer"))
    host.prompt(session, "the second words")
    model.compaction = lambda _: Refusal(400, "invalid_request_error", "", "no summaries today")
    host.summarize(session)
    model.play(says("the third answer"))
    host.prompt(session, "the third words")
    base = hud_base(model.chats[-1])
    assert "A summary that held." in model.chats[-1].text and "- Dials are drawn, too" in base
    assert len(facts(cli, host, "--session", session)["compactions"]) == 1


def test_a_compaction_that_freed_too_little_is_not_repeated(
    opencode: Hosts, model: ScriptedModel, plugin: Path, cli: Cli
) -> None:
    host = opencode(plugins=[plugin])
    host.serve()
    session = host.create("the panel")
    model.play(*BEGIN, ScriptedReply("much", usage=says("", used=HALF).usage))
    host.prompt(session, "the first words")
    assert host.summarize(session)
    model.play(says("still much", used=HALF - 1_000), says("and again", used=HALF - 1_000), says("third", used=HALF))
    host.prompt(session, "the second words")
    host.prompt(session, "the third words")
    host.prompt(session, "the fourth words")
    tails = [request.text.count("the last compaction freed only 2 %") for request in model.chats[-3:]]
    assert tails == [0, 1, 0], "said once, at the start of the next turn"
    compact = ScriptedReply(calls=(ScriptedCall("hud_compact", {}),), usage=says("", used=HALF).usage)
    model.play(compact, says("not now", used=HALF))
    host.prompt(session, "compact")
    refused = answers(model.chats[-1])[-1]
    assert refused.startswith("Not compacted: the last compaction was 4 model calls ago")
    model.play(says("more", used=HALF), compact, says("not now", used=HALF))
    host.prompt(session, "on")
    host.prompt(session, "compact")
    refused = answers(model.chats[-1])[-1]
    assert "the last compaction freed 2 % of the window" in refused and "new session" in refused
    assert len(model.of("compaction")) == 1
    (one,) = facts(cli, host, "--session", session)["compactions"]
    assert one["enough"] is False and "too little" in cli(host, "--session", session)[1]
