"""`hudkit show --cache` on a session of real OpenCode, against what the scripted model's prefix cache gave."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hud_plugin import written
from hud_seen import hud
from opencode_host import Hosts, OpenCode

from hudkit.cli import main
from hudkit.context.caching import find_divergence
from hudkit.hosts.opencode.plugin.plugin_source import SUMMARIZER_PROMPT
from hudkit.models.captured_request import CapturedRequest, tokens_by_bytes
from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply, says, uses
from hudkit.testing.assertions import hud_base
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow

LINES = 60
TURNS = 4
MOST_OFF = 128
"""Tokens by which a prediction may miss: a step of OpenAI's cache. The scripted model counts four bytes a token, so
that what the HUD's own counter says of a delta is a little off."""


def day(project: Path) -> Iterator[ScriptedReply]:
    for turn in range(TURNS):
        path = str(project / f"part_{turn}.txt")
        yield uses(ScriptedCall("read", {"filePath": path}), text=f"Reading part {turn}.")
        yield uses(hud("decisions.record", summary=f"Column {turn} stays where it is"))
        yield uses(ScriptedCall("bash", {"command": f"seq 1 60; exit {turn % 2}", "description": "check"}))
        yield says(f"Turn {turn} is done: the part is ported and checked. " * 4)


def shown(db: Path, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    assert main(["show", "--cache", *more, "--db", str(db)]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_what_is_predicted_is_what_the_providers_cache_gives(
    opencode: Hosts, model: ScriptedModel, place: Path, shape: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four turns; then an old output is changed, a turn is taken back, and the session is compacted."""
    model.marks["compaction"] = (SUMMARIZER_PROMPT[:80],)
    files = {f"part_{n}.txt": "".join(f"line {n}.{m}: {'x' * 40}\n" for m in range(LINES)) for n in range(TURNS)}
    host = opencode(shape=shape, plugins=[written(place)], files=files, limit=(200_000, 8_000))
    host.serve()
    session = host.create("a day")
    model.play(*day(host.project))
    for turn in range(TURNS):
        host.prompt(session, f"Now part {turn}, please; keep the columns.")
    changed = shorten_a_read(host, session, "part_2.txt")
    host.prompt(session, "After the change.")
    asked = [message["info"]["id"] for message in host.messages(session) if message["info"]["role"] == "user"]
    host.revert(session, asked[TURNS - 1])
    host.prompt(session, "After the revert.")
    assert host.summarize(session)
    host.prompt(session, "After the compaction.")
    host.prompt(session, "And on.")
    chats, db = model.chats, place / "hudkit.db"

    def facts() -> dict[str, Any]:
        return dict(json.loads(shown(db, capsys, "--json"))["cache"])

    assert host.settled(lambda: facts()["reported_calls"] == len(chats) == TURNS * 4 + 4), facts()["per_call"]
    found = facts()
    calls = found["per_call"]
    assert [(one["request"], one["read"]) for one in calls] == [(chat.cost.total, chat.cost.read) for chat in chats]
    assert found["rules"] == shape
    assert max(abs(one["difference"]) for one in calls[1:]) <= MOST_OFF, [one["difference"] for one in calls]
    whole = found["layers"]["whole"]
    assert whole["predicted"] == pytest.approx(whole["reported"], rel=0.002)
    assert 0.9 < whole["reported"] / whole["tokens"] < 1

    cut, gone, anew = found["prefix_breaks"]
    after_change, after_revert, after_compaction = (chats[number] for number in (-4, -3, -2))
    assert [chats[one["call"] - 1] for one in (cut, gone, anew)] == [after_change, after_revert, after_compaction]
    assert (cut["what"], cut["how"], cut["role"]) == ("message", "changed", "tool")
    assert cut["anchor"].endswith(f":{changed}")
    parted = find_divergence(chats[-5].request(tokens_by_bytes), after_change.request(tokens_by_bytes))
    assert parted is not None
    assert cut["again"] == pytest.approx(parted.again, rel=0.1), "what is processed again, counted on the requests"
    assert cut["offset_tokens"] == pytest.approx(parted.offset, rel=0.02)
    assert (gone["what"], gone["how"], gone["role"], gone["again"]) == ("message", "gone", "user", 0)
    assert (anew["what"], anew["reason"], anew["again"]) == ("base", "compaction", 0)
    assert anew["offset_tokens"] == pytest.approx(first_of(after_compaction), rel=0.02), (
        "the tools and OpenCode's text"
    )

    words = " ".join(shown(db, capsys).split())
    assert f"{len(chats)} calls, 2 bases written" in words
    assert "The prefix broke 3 times" in words and cut["anchor"] in words
    assert "no usage" not in words


def first_of(request: CapturedRequest) -> int:
    """Tokens in front of the base."""
    pieces = [piece for piece in request.pieces if piece.role in ("tools", "system")]
    return sum(tokens_by_bytes(piece.text) for piece in pieces) - tokens_by_bytes(hud_base(request))


def shorten_a_read(host: OpenCode, session: str, file: str) -> str:
    """Change what the model read from a file; gives the id of the call."""
    parts = [part for message in host.messages(session) for part in message["parts"] if part["type"] == "tool"]
    (read,) = (part for part in parts if part["tool"] == "read" and file in part["state"]["input"]["filePath"])
    short = {**read, "state": {**read["state"], "output": "short"}}
    host.request("PATCH", f"/session/{session}/message/{read['messageID']}/part/{read['id']}", short)
    return str(read["callID"])
