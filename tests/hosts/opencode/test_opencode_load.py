"""OpenCode beside two busy processes a core, with the deadlines that users have: the frame is there where it counts.

In full (`make campaign opencode-load`): ten session starts, four sub-agents at once, three compactions (automatic,
asked for, overflow), a fork, a restart in a session of 3,000 messages. In `make hosts` it is one session start.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from hud_seen import bash, hud
from opencode_host import Hosts, OpenCode
from test_hud_failing import bases

from campaigns import Campaign
from hudkit.hosts.opencode.plugin import PluginPaths, generate_plugin
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import CONTEXT_EXCEEDED, ScriptedCall, says, uses
from hudkit.testing.assertions import prefix_difference, without_tail
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow

LOAD = Campaign("opencode-load", quick=1, full=10)
SECONDS = 900
AGENTS, MESSAGES = 4, 3_000
PASSES = 36_500  # tokens: the window has 40,000, less 4,000 for an answer
LIVE = ("Rename the parser", "Tabs are four wide", "Store cents as integers", "Move the reader")

COUNTED = """
import { appendFileSync as count } from "node:fs";
const holding = Session.prototype.holdOn;
Session.prototype.holdOn = function (...given) {
  count("PLACE", "late\\n");
  return holding.apply(this, given);
};
const composing = Session.prototype.next;
Session.prototype.next = function (...given) {
  count("PLACE", "asked\\n");
  return composing.apply(this, given);
};
"""


class Run(NamedTuple):
    host: OpenCode
    model: ScriptedModel


@pytest.fixture
def load() -> Iterator[int]:
    """How many processes are busy beside the test: two a core."""
    count = 2 * (os.cpu_count() or 1)
    busy = subprocess.Popen([sys.executable, str(Path(__file__).with_name("busy.py")), str(SECONDS), str(count)])
    yield count
    busy.kill()
    busy.wait()


@LOAD
def test_the_frame_is_there_where_it_counts_beside_a_busy_machine(
    opencode: Hosts, model: ScriptedModel, place: Path, load: int, record_property: Callable[[str, object], None]
) -> None:
    plugin, counts = place / "hudkit.js", place / "counts"
    paths = PluginPaths(
        sys.executable, str(place), str(place / "hudkit.db"), str(place / "run" / "d.sock"), str(plugin)
    )
    plugin.write_text(generate_plugin(paths) + COUNTED.replace("PLACE", str(counts)))
    run = Run(opencode(plugins=[plugin], own=True), model)
    run.host.serve()
    sessions = [start(run, number) for number in range(LOAD.rounds)]
    if LOAD.rounds == LOAD.full:
        sub_agents(run, sessions[0])
        compactions(run, sessions[1])
        fork(run, sessions[2])
        restart(run, sessions[3])
    lines = counts.read_text().split()
    late = f"{lines.count('late')} of {lines.count('asked')} calls with an older frame, {load} busy processes"
    record_property("figures", late)


def start(run: Run, number: int) -> str:
    """A session whose first call has its base, and a few steps that record what is to live."""
    host, model = run
    session, first = host.create(f"session {number}"), len(model.chats)
    model.play(
        uses(hud("task.set", description=LIVE[0]), hud("notes.add", content=LIVE[1]), bash("ls nothing.txt")),
        uses(hud("decisions.record", summary=LIVE[2]), hud("steps.add", description=LIVE[3])),
        says("noted"),
        says("going on"),
    )
    host.prompt(session, "begin")
    host.prompt(session, "go on")
    chats = model.chats[first:]
    assert [len(bases(chat)) for chat in chats] == [1] * len(chats), f"session {number}"
    assert real_breaks(chats) == []
    return session


def sub_agents(run: Run, session: str) -> None:
    """Four at once; the first call of each has its base."""
    host, model = run
    first = len(model.chats)
    tasks = [
        ScriptedCall("task", {"description": "look", "prompt": f"look at part {n}", "subagent_type": "general"})
        for n in range(AGENTS)
    ]
    model.play(uses(*tasks), *(says("looked") for _ in range(AGENTS)), says("all looked"))
    host.prompt(session, "have them look")
    children = [chat for chat in model.chats[first:] if chat.messages[0][1].startswith("look at part")]
    assert len(children) == AGENTS
    assert [len(bases(chat)) for chat in children] == [1] * AGENTS


def compactions(run: Run, session: str) -> None:
    """Every call after one has all that lives."""
    host, model = run
    first = len(model.chats)
    model.play(says("that was much", used=PASSES), says("going on"), says("and on"))
    host.prompt(session, "much work")
    host.prompt(session, "go on")
    assert lives_in(model.chats[first + 1 :]), "automatic"
    after = len(model.chats)
    assert host.summarize(session)
    model.play(uses(bash("echo one")), says("going on"))
    host.prompt(session, "go on")
    assert lives_in(model.chats[after:]), "asked for"
    after = len(model.chats)
    model.play(CONTEXT_EXCEEDED, says("going on"), says("and on"))
    host.prompt(session, "too much")
    host.prompt(session, "go on")
    assert lives_in(model.chats[after + 1 :]), "overflow"
    assert all(LIVE[1] in compaction.text for compaction in model.of("compaction")[-3:])
    assert real_breaks(model.chats[first:], epochs=3) == []


def fork(run: Run, session: str) -> None:
    host, model = run
    other = str(host.post(f"/session/{session}/fork")["id"])
    model.play(says("forked"))
    host.prompt(other, "another way")
    assert len(bases(model.chats[-1])) == 1 and all(word in model.chats[-1].text for word in LIVE)


def restart(run: Run, session: str) -> None:
    """Everything but the daemon anew, in a session of 3,000 messages, twice."""
    host, model = run
    host.stop()
    lengthen(host.db, session, MESSAGES)
    found = []
    for words in ("are you there", "and now"):
        host.serve()
        model.play(uses(bash("echo two")), says("here"))
        host.prompt(session, words)
        found += model.chats[-2:]
        host.stop()
    assert [len(bases(chat)) for chat in found] == [1] * 4
    assert len({bases(chat)[0] for chat in found}) == 1
    assert len(found[0].messages) > MESSAGES
    assert real_breaks(found) == []
    host.serve()


def lives_in(chats: Sequence[CapturedRequest]) -> bool:
    """Whether each call has its base, and all that lives is in it."""
    return bool(chats) and all(
        len(bases(chat)) == 1 and all(word in bases(chat)[0] for word in LIVE) for chat in chats
    )


def real_breaks(chats: Sequence[CapturedRequest], epochs: int = 0) -> list[str]:
    """Where a request is not the beginning of the next one, but for tails and for so many new epochs."""
    new = sum(bases(before) != bases(after) for before, after in pairwise(chats))
    broken = [
        difference
        for before, after in pairwise(chats)
        if bases(before) == bases(after) and (difference := prefix_difference(before, after, without_tail))
    ]
    return [*broken, *([f"{new} new bases"] if new > epochs else [])]


def lengthen(db: Path, session: str, count: int) -> None:
    """Put so many messages at the end of a session, each a copy of its last turn's."""
    with sqlite3.connect(db) as opened:
        opened.row_factory = sqlite3.Row
        rows = opened.execute("SELECT * FROM message WHERE session_id = ? ORDER BY id", (session,)).fetchall()
        last = rows[-1]
        turn = [next(row for row in reversed(rows) if json.loads(row["data"])["role"] == "user"), last]
        stamp, at = int(last["id"][4:16], 16), int(last["time_created"])
        for number in range(1, count + 1):
            source = turn[(number + 1) % 2]
            name, before = (f"msg_{stamp + n:012x}{n:014d}" for n in (number, number - 1))
            copy_row(opened, "message", source, name, at + number // 100, parent=before)
            parts = opened.execute("SELECT * FROM part WHERE message_id = ? ORDER BY id", (source["id"],)).fetchall()
            for place, part in enumerate(parts):
                part_id = f"prt_{stamp + number:012x}{number:08d}{place:06d}"
                copy_row(opened, "part", part, part_id, at + number // 100, message=name)
    opened.close()


def copy_row(
    opened: sqlite3.Connection, table: str, row: sqlite3.Row, name: str, at: int, parent: str = "", message: str = ""
) -> None:
    values = dict(row) | {"id": name, "time_created": at, "time_updated": at}
    data = json.loads(values["data"])
    if message:
        values["message_id"] = message
    else:
        data["time"] = dict.fromkeys(data["time"], at)
        if "parentID" in data:
            data["parentID"] = parent
    values["data"] = json.dumps(data)
    marks = ", ".join("?" * len(values))
    opened.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", list(values.values()))
