"""The files under `fixtures/`: one of each kind that hudkit writes and reads again.

They were written by this script with the code of efd1816, the last commit before the redesign of the package, and are
never written again: what they prove is that later versions read what that one wrote. Later code cannot run this
script, and it refuses to run where the files are. It stands here so that a reader sees what is in them.

Time and ids count up. What still differs from run to run: the key of the loop's project (device and inode), and what
SQLite leaves in its pages.
"""

# ruff: noqa: I001 (the order of imports as that commit had it: its modules are not there any more to be sorted)
from __future__ import annotations

import asyncio
import contextlib
import io
import itertools
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
from hudkit.session.course import Rules
from hudkit.session.store import SessionStore
from hudkit.rooms.book import Book
from hudkit.rooms.founding import found, read_founding

from hudkit import cli
from hudkit.session import hud_plugin
from hudkit.session import records as r
from hudkit.session.loop import Loop
from hudkit.session.permissions import Rule
from hudkit.session.plugins import trust as trust_plugin
from hudkit.api import Hud, Session
from hudkit.compaction.carried import Output
from hudkit.events import PAYLOADS, Origin
from hudkit.events import payloads as p
from hudkit.rooms import events as e
from hudkit.rooms.architect import Architect
from hudkit.rooms.beats import JumpingClock, Runner
from hudkit.rooms.minds import Minds, Scripted
from hudkit.rooms.prompts import write_prompts
from hudkit.custom import Places
from hudkit.custom.files import trust as trust_section
from hudkit.testing.in_process import InProcessModel
from hudkit.testing.replies import Call, Reply
from hudkit.tokens import Window
from hudkit.search import open_past

HERE = Path(__file__).parent / "fixtures"
WORKSHOP = Path("/tmp/orchard")
"""Where all is made before it is copied, outside of any project; removed afterwards."""
FIXTURES = WORKSHOP / "fixtures"
DATA = FIXTURES / "data"
CONFIG = FIXTURES / "config"
PROJECT = FIXTURES / "project"
ROOMS = FIXTURES / "rooms"
ORCHARD = "/home/ada/orchard"
"""The project of the sessions of a host; there need not be one."""
START = 1_795_000_000_000


class Ticking:
    """Time and ids that count up."""

    def __init__(self, first: int = 1) -> None:
        self._ids = itertools.count(first)
        self.now = START + first * 1_000

    def clock(self) -> int:
        self.now += 1_000
        return self.now

    def ids(self) -> str:
        return f"01a00000-0000-7000-8000-{next(self._ids):012x}"


# -- files that people write ------------------------------------------------------------------------------------

SECTION = """\
# title: Glance
# reads: steps, notes
# priority: 40
def section(steps, notes):
    return {"full": [f"{len(steps)} steps", f"{len(notes)} notes"], "minimal": f"{len(steps)} steps"}
"""

HOUSE_SECTION = """\
# title: House rules
# reads: decisions
def section(decisions):
    return {"rows": [["decisions"], [str(len(decisions))]]}
"""

PLUGIN = '''\
"""Adds a header to each prompt."""


def plugin(given):
    def system_transform(chat, output):
        output.system = [*output.system, f"House rule of {given.project!r}: be brief."]

    return {"system_transform": system_transform}
'''

AGENT = """\
---
description: Reads code and reports
mode: subagent
model: script:reader
temperature: 0.2
steps: 12
tools: [read, grep, glob]
disallowedTools: bash
permission:
  edit: deny
  bash:
    "git log *": allow
    "*": ask
---
You read and report. You change nothing.
"""

COMMAND = """\
---
description: Review a file
agent: build
model: script:reviewer
---
Review $1 with care, and mind: $ARGUMENTS
"""

SKILL = """\
---
name: grafting
description: How scions are joined to a stock
---
Cut both at one angle.
"""

PROJECT_TOML = """\
[bands]
yellow = 60
red = 80
critical = 90
hysteresis = 3

[limits]
decisions = 7
notes = 8

[budget]
percent = 3
least = 350
most = 900

[project]
notes = ["The orchard has three fields"]
files = ["src/orchard.py"]
conventions = ["Trees are named by row and place"]
"""

SETTINGS = """\
window = 64000

[bands]
yellow = 65
red = 82
critical = 91
hysteresis = 1.5

[limits]
decisions = 9
notes = 18
files = 14
blockers = 8
steps = 11
constraints = 19
errors = 6
todos = 12

[budget]
percent = 2.5
least = 320
most = 1400

[cache]
minutes = 7

[overflow]
auto = false
reserved = 12000

[pruning]
enabled = true
protect = 9000
minimum = 5000
tools = ["webfetch", "mcp_*"]

[compaction]
least = 45
frees = 12
calls = 4

[custom]
agent = true
wait = 60
time = 4000
memory = 24

[staleness]
hours = 36
calls = 120

[memory]
index = false

[telemetry]
enabled = true
endpoint = "http://127.0.0.1:4318"
content = true
limit = 12000

[session]
model = "anthropic:claude-sonnet-4-6"
"""

WORLD = """\
name = "harbour"
seed = 7
model = "scripted"

[rules.tempo]
least = 1.5
most = 12.0
step = 0.4
decay = 0.2
first = 4.0
jitter = 0.05
quiet = 30.0
looping = 45.0

[rules.words]
wpm = 90
least_wpm = 12
most_wpm = 180
least = 8
most = 150
first = 160
room_wpm = 350

[rules.tokens]
total = 9000
static = 4500
messages = 4000
knowledge = 2500
metadata = 180
actions = 15

[rules.caps]
name = 40
message = 3000
depth = 2
agents_of = 6
keys = 15
guesses = 4
wakes = 5
beats_without_people = 900
cost = 2.5
idle_seconds = 3600.0

[[agents]]
name = "Ann"
kind = "persona"
background = "You keep the harbour's log book."
model = "scripted"
interval = 3.0
can_create = true
input_format = "json"
output_format = "json"
rooms = ["Bob"]
billboard = "Harbour office: reports, please"
wpm = 100
knowledge = { goals = ["know every ship"] }

[[agents]]
name = "Bob"
kind = "bot"
background = "The tide table: high water, low water, wind."
input_format = "compact"
rooms = ["Ann"]

[[agents]]
name = "Cid"
background = "You mend nets and listen."
input_format = "toon"
output_format = "toon"
rooms = ["Ann", "Bob"]

[[messages]]
room = "Ann"
text = "Good morning. What came in last night?"
"""

SCRIPT_TOML = """\
[[answer]]
text = "I look at it first."
reasoning = "The file comes first."
calls = [{ name = "read", arguments = { path = "trees.txt" }, id = "call_read" }]
usage = { read = 100, written = 50, fresh = 700, output = 20 }

[[answer]]
refuse = { status = 429, kind = "rate_limit", code = "busy", message = "later", headers = { retry-after = "0" } }

[[answer]]
text = "Four trees."
delay = 0.001
pace = 0.0
cut = false
finish = ""

[[answer]]
for = "compaction"
text = "Goal: count the trees."

[[answer]]
for = "title"
text = "Counting trees"

[[answer]]
for = "otherwise"
text = "Done."
"""

SCRIPT_JSONL = """\
{"text": "Four trees."}
{"for": "otherwise", "text": "Done."}
"""


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def hand_written() -> None:
    write(CONFIG / "config.toml", SETTINGS)
    write(CONFIG / "sections" / "glance.py", SECTION)
    write(CONFIG / "plugins" / "header.py", PLUGIN)
    write(CONFIG / "agents" / "reader.md", AGENT)
    write(CONFIG / "commands" / "review.md", COMMAND)
    write(CONFIG / "skills" / "grafting" / "SKILL.md", SKILL)
    write(PROJECT / ".hudkit.toml", PROJECT_TOML)
    write(PROJECT / ".hudkit" / "sections" / "house.py", HOUSE_SECTION)
    write(PROJECT / ".hudkit" / "plugins" / "project_header.py", PLUGIN)
    write(PROJECT / ".hudkit" / "agents" / "house-reader.md", AGENT)
    write(PROJECT / ".hudkit" / "commands" / "count.md", "Count the trees of $ARGUMENTS.\n")
    write(ROOMS / "harbour.toml", WORLD)
    write(FIXTURES / "script.toml", SCRIPT_TOML)
    write(FIXTURES / "script.jsonl", SCRIPT_JSONL)
    trust_section(
        PROJECT / ".hudkit" / "sections" / "house.py", Places(CONFIG / "sections", DATA / "trusted-sections")
    )
    trust_plugin(
        PROJECT / ".hudkit" / "plugins" / "project_header.py",
        Places(CONFIG / "plugins", DATA / "trusted-plugins"),
    )
    hudkit("project", "trust", "--project", PROJECT, "--db", WORKSHOP / "none.db")
    for name in ("trusted-sections", "trusted-plugins"):  # the paths are only for who reads the file
        file = DATA / name
        file.write_text(file.read_text().replace(str(PROJECT), ORCHARD))


class Bloom(p.Payload, frozen=True, tag="orchard.bloom"):
    """An event of a type that no version knows: it is kept, and passed over."""

    V = 2
    row: str
    trees: int


# -- the log of sessions ----------------------------------------------------------------------------------------


def sample(kind: Any, name: str) -> Any:
    """A value of a field's type that is not its default."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return filled(kind)
    if get_origin(kind) in (Union, UnionType):
        return sample(next(one for one in get_args(kind) if one is not type(None)), name)
    if get_origin(kind) is Literal:
        return get_args(kind)[-1] or get_args(kind)[0]
    if get_origin(kind) is tuple:
        return (sample(get_args(kind)[0], name), sample(get_args(kind)[0], f"{name} again"))
    if get_origin(kind) is dict:
        return {f"{name} key": sample(get_args(kind)[1], name)}
    plain = {str: f"{name} of this event", int: 3, float: 0.5, bool: True}
    return plain[kind]


def filled(kind: Any, **given: Any) -> Any:
    """A struct with a value in every field."""
    fields = msgspec.structs.fields(kind)
    return kind(**{field.name: given.get(field.name, sample(field.type, field.name)) for field in fields})


SPECIAL: dict[str, dict[str, Any]] = {
    "event.restate": {"seq": 1, "v": 1, "body": '{"type":"blocker.add","description":"a [redacted] gate"}'},
    "event.undo": {"seq": 3},
    "redact": {"seq": 1},
    "compact.before": {"state": "{}"},
    "compact.undone": {"seq": 4},
    "context.snapshot": {"source": "reported"},
    "section.define": {"name": "tally", "source": "def section():\n    return 'four'\n", "reads": ("notes", "steps")},
    "section.replace": {"section": "notes", "values": ("first", "second")},
    "section.clear": {"section": "blockers"},
    "section.prepared": {"name": "tally", "full": "", "compact": "", "minimal": ""},
    "step.reorder": {"ids": ("s1",)},
    "frame.delta": {"heard": (2, 3)},
}
"""Fields of which a value of the type alone would mean nothing."""


def every_event(hud: Hud) -> None:
    """A session in which every type of event happens once, with a value in every field."""
    session = hud.session("ses_every")
    origins = itertools.cycle(Origin)
    for turn, (tag, kind) in enumerate(sorted(PAYLOADS.items())):
        session.append(filled(kind, **SPECIAL.get(tag, {})), origin=next(origins), turn=turn)


def story(hud: Hud) -> Session:
    """A session of a host from its first call over two compactions, with all that an agent and a user do."""
    session = hud.session("ses_orchard", project=ORCHARD, host="opencode")
    session.start(
        host="opencode", title="The orchard", model="anthropic/claude-sonnet-4-6", agent="build", directory=ORCHARD
    )
    session.append(p.SessionStart(request="Count the trees and write the report"), origin=Origin.HOST)
    user = {"origin": Origin.USER}
    session.call("task.set", {"description": "Write the report on the orchard"}, **user)
    session.append(p.ConstraintAdd("Never touch legacy/", derived=True, source="never touch legacy/ please"), **user)
    session.append(p.ConstraintAdd("Reports are in metric units"), **user)
    session.append(p.DecisionRecord("Count by rows", "rows are straight, fields are not"))
    transcript = [("m1", "user")]

    def frame(used: int, anchor: str, role: str, **more: Any) -> None:
        transcript.append((anchor, role))
        session.frame(used_tokens=used, limit_tokens=64_000, budget=500, transcript=tuple(transcript), **more)

    frame(4_000, "m2", "user", model="anthropic/claude-sonnet-4-6", parts=p.Parts(4_000, 9_000, 300))
    session.tool("hud", {"tool": "notes.add", "args": {"content": "Row 3 has a gap at place 7"}})
    session.tool("hud", '{"tool": "steps.add", "args": {"description": "Count row 1"}}')
    session.call("steps.add", {"description": "Count row 2"})
    session.append(p.FileOpen("src/orchard.py"), p.FileEdit("src/orchard.py"), p.FileOpen("README.md", "referenced"))
    session.append(p.TodoSync(filled_todos()), origin=Origin.HOST)
    sent = p.Sent(4, 2_400, 300, 2, p.Departure("m2", "user", "changed", 1, 20, 30, 600))
    frame(16_000, "m3", "tool", sent=sent)
    session.append(p.StepComplete("s1"))
    session.append(p.ErrorEncountered("pytest: 1 failed", key="pytest", by_call="call_1"), origin=Origin.TOOL)
    session.append(p.TestsRan("pytest -q", 11, 1, 0, "pytest"), p.CommitMade("a1b2c3d", "Count rows", "main"))
    frame(22_000, "m4", "tool")
    frame(23_000, "m5", "user")
    session.append(
        p.ContextSnapshot(
            23_500, 64_000, 120, "anthropic/claude-sonnet-4-6", "reported", spent=p.Spent(900, 21_000, 1_500, 120)
        )
    )
    session.append(p.ErrorResolved(key="pytest"), p.BlockerAdd("The gate of field 3 is shut"))
    session.call("decisions.record", {"summary": "Count by trees", "details": "rows differ", "supersedes": "d1"})
    outputs = tuple(Output(f"call_{n}", "bash", 40_000, 40_000 * (6 - n), 2 * (6 - n)) for n in range(1, 6))
    frame(58_000, "m6", "tool", outputs=outputs, parts=p.Parts(4_000, 9_000, 1_200, (p.Brought("bash", 200_000),)))
    frame(59_500, "m7", "user", density="minimal")
    session.append(p.CompactBefore("auto", 59_500, "{}"), origin=Origin.HOST)
    session.append(
        p.CompactAfter("Goal: the report. Rows 1 and 2 are counted.", "auto", 9_000, START, "m7", "m8", "m6", "m8"),
        origin=Origin.HOST,
    )
    transcript[:] = [("m8", "user")]
    frame(9_500, "m9", "user")
    session.append(p.PlanSync("PLAN.md", filled_points()), p.NoteAdd("The secret gate code is 4711-orchard"))
    frame(11_000, "m10", "tool")
    session.append(p.NoteUpdate("n1", "Row 3 has two gaps"), p.BlockerRemove("b1"))
    session.append(p.EventUndo(session.state.seq, "the user took it back"), origin=Origin.HOST)
    frame(12_000, "m11", "user")
    session.frame(used_tokens=12_500, limit_tokens=64_000, budget=300, placement="system")
    session.append(p.CompactBefore("manual", 12_500, "{}"), origin=Origin.HOST)
    session.append(
        p.CompactAfter("All rows are counted.", "manual", 3_000, by="static", why="empty"), origin=Origin.HOST
    )
    session.append(p.TaskUpdate("Write and send the report"), **user)
    frame(3_500, "m12", "user")
    return session


def filled_todos() -> tuple[Any, ...]:
    field = next(one for one in msgspec.structs.fields(p.TodoSync) if one.name == "todos")
    kind = get_args(field.type)[0]
    return (
        filled(kind, content="Count row 1", status="completed"),
        filled(kind, content="Count row 2", status="pending"),
    )


def filled_points() -> tuple[Any, ...]:
    field = next(one for one in msgspec.structs.fields(p.PlanSync) if one.name == "points")
    return (filled(get_args(field.type)[0]),)


def log() -> None:
    tick = Ticking()
    places = Places(CONFIG / "sections", DATA / "trusted-sections")
    index = WORKSHOP / "data" / "hudkit.search.db"
    nowhere = WORKSHOP / "no"
    with (
        closing(open_past(index, opencode=nowhere, claude=nowhere, codex=nowhere)) as past,
        Hud.open(DATA / "hudkit.db", clock=tick.clock, ids=tick.ids, sections=places, past=past) as hud,
    ):
        parent = story(hud)
        own = hud.project(ORCHARD)
        own.call("project.add", {"kind": "conventions", "text": "Trees are named by row"}, origin=Origin.USER)
        child = hud.session("ses_child", project=ORCHARD, host="opencode")
        child.start(host="opencode", title="Count row 4", agent="general", directory=ORCHARD)
        child.append(p.SessionLink("parent", parent.id), origin=Origin.HOST)
        child.call("task.set", {"description": "Count row 4"})
        child.frame(used_tokens=2_000, limit_tokens=64_000, budget=400, transcript=(("c1", "user"),))
        child.append(p.ShareReport("Row 4 has 11 trees"), Bloom("Row 4", 3))
        child.frame(used_tokens=2_500, limit_tokens=64_000, transcript=(("c1", "user"), ("c2", "tool")))
        parent.append(p.SessionLink("child", child.id), origin=Origin.HOST)
        parent.frame(
            used_tokens=4_000, limit_tokens=64_000, transcript=(("m8", "user"), ("m12", "user"), ("m13", "tool"))
        )
        every_event(hud)
        exported = parent.call("export").data["path"]
    shutil.copyfile(exported, FIXTURES / "ses_orchard.json")
    secret = WORKSHOP / "secret.txt"
    secret.write_text("4711-orchard")
    hudkit("redact", "--text-file", secret, "--reason", "a code", "--db", DATA / "hudkit.db")
    hudkit("archive", "--session", "ses_orchard", "--db", DATA / "hudkit.db")
    with Hud.open(DATA / "hudkit.db", clock=tick.clock, ids=tick.ids) as hud:
        session = hud.session("ses_orchard", project=ORCHARD, host="opencode")
        session.append(p.StepComplete("s2"))
        session.frame(used_tokens=5_000, limit_tokens=64_000, transcript=(("m8", "user"), ("m14", "user")))
        session.call("notes.add", {"content": "The report is in the post"})
        session.frame(
            used_tokens=5_500, limit_tokens=64_000, transcript=(("m8", "user"), ("m14", "user"), ("m15", "tool"))
        )
        for name in hud.sessions():
            session = hud.session(name)
            assert session.state.seq
            session._save()


# -- a world ----------------------------------------------------------------------------------------------------

ANN: list[Mapping[str, Any]] = [
    {
        "responses": [{"room_id": 1, "message": "Two trawlers, and a yacht from the north."}],
        "actions": [
            {"type": "set", "path": "ships.count", "value": 3, "w": 0.8},
            {"type": "set", "path": "ships.names", "value": ["Alke", "Mina"]},
            {"type": "append", "path": "ships.names", "value": "Skua"},
            {"type": "set_billboard", "message": "Three ships in"},
            {"type": "set_wpm", "wpm": 120},
            {"type": "create_key", "label": "pilots", "uses": 2},
            {"type": "create_agent", "name": "Dot", "background_prompt": "You count gulls."},
            {"type": "fly", "to": "the moon"},
        ],
    },
    {"responses": [], "actions": [{"type": "delete", "path": "ships.count"}, {"type": "wake_agent", "agent_id": 2}]},
    {"responses": [], "actions": [{"type": "revoke_key", "label": "pilots"}, {"type": "clear_billboard"}]},
]
BOB: list[Mapping[str, Any]] = [
    {
        "responses": [{"room_id": 2, "message": "High water at 14:20."}],
        "actions": [{"type": "react", "message_id": 1, "reaction": "brain"}],
    },
    {
        "responses": [],
        "actions": [{"type": "set_attention", "room_id": 1, "value": "40%"}, {"type": "set_name", "name": "Tide"}],
    },
    {"responses": [], "actions": [{"type": "request_access", "room_id": 3, "key": "wrong"}]},
]
CID: list[Any] = [
    {"responses": [{"room_id": 1, "message": "Nets are dry."}], "actions": []},
    {"responses": [], "actions": [{"type": "leave_room", "room_id": 2}]},
    {"responses": [], "actions": [{"type": "sleep", "until": "2027-01-16T00:00:00Z"}]},
]


def world() -> None:
    numbers, bits = itertools.count(1), itertools.count(1)
    clock = JumpingClock(1_800_000_000_000)
    founding = read_founding(ROOMS / "harbour.toml")
    made = {
        "clock": clock.wall,
        "ids": lambda: f"01a00000-0000-7000-8000-{next(numbers):012x}",
        "secret": lambda: f"{next(bits):048x}",
        "every": 60,
    }
    with Book.create(ROOMS / "harbour.db", name="harbour", seed=7, rules=founding.rules, **made) as book:
        found(book, founding)
        runner = Runner(book, Minds({"scripted": Scripted({1: ANN, 2: BOB, 3: CID})}), clock=clock)
        architect = Architect(book, runner.now)
        asyncio.run(runner.run(beats=12))
        architect.say(2, "When is low water?", None)
        architect.react(2, "heart")
        key = architect.make_key(3, "mates", 1)
        architect.remove(1, 2)
        with book.commit(Origin.SYSTEM, at=runner.now()) as commit:
            for one in unlikely(book):
                commit.tell(one)
        assert key
        architect.tempo(1, 2.5)
        architect.alter(
            2,
            background="The tide table, and the moon's.",
            can_create=True,
            input_format="json",
            output_format="toon",
        )
        architect.teach(1, "people.Cid", "mends nets")
        architect.set_rules(
            msgspec.structs.replace(founding.rules, caps=msgspec.structs.replace(founding.rules.caps, wakes=4))
        )
        architect.set_prompts({"directives.rooms": "A room is a conversation by the water."})
        architect.speed(2.0)
        architect.pause("for tea")
        architect.resume()
        architect.retire(4)
        asyncio.run(runner.run(beats=8))
        told = {str(what.__struct_config__.tag) for _, what in book.happenings()}
        assert told == set(e.KINDS), set(e.KINDS) - told
        book.fork(ROOMS / "low-water.db", 60, name="low-water").close()
    hudkit(
        "rooms", "export", "--world", ROOMS / "harbour.db", "--format", "jsonl", "--output", ROOMS / "harbour.jsonl"
    )
    write_prompts(
        ROOMS / "prompts",
        {"directives.rooms": "A room is a conversation by the water.", "memory.full": "Write less."},
    )


def unlikely(book: Book) -> Iterator[e.Happening]:
    """What the scripts do not bring about."""
    number = book.world.next_request
    yield e.AccessAsked(number, 3, 1, "mates")
    yield e.AccessGranted(number, e.ARCHITECT)
    yield e.AccessAsked(number + 1, 3, 2, "mates")
    yield e.AccessDenied(number + 1, 3)
    yield e.AccessFailed(2, 3, True)
    yield e.Slowed(2, 3, 1, book.world.now + 1)
    yield e.Scheduled(1, book.world.now + 500)


# -- our own agent loop -----------------------------------------------------------------------------------------


async def loop_session() -> str:
    tick = Ticking(10_000)
    project = WORKSHOP / "project"
    write(project / "trees.txt", "apple\npear\nplum\nquince\n")
    write(project / "AGENTS.md", "Count twice.\n")
    model = InProcessModel(
        [
            Reply("I look first.", (Call("read", {"path": "trees.txt"}, "call_1"),), reasoning="A file comes first."),
            Reply(
                "",
                (
                    Call(
                        "todo",
                        {"todos": [{"content": "Count", "status": "in_progress", "priority": "high"}]},
                        "call_2",
                    ),
                ),
            ),
            Reply(
                "",
                (
                    Call("edit", {"path": "trees.txt", "old": "plum", "new": "cherry"}, "call_3"),
                    Call("read", {"path": "no.txt"}, "call_4"),
                ),
            ),
            Reply("", (Call("write", {"path": "report.md", "content": "Four trees.\n"}, "call_5"),)),
            Reply("", (Call("hud", {"tool": "notes.add", "args": {"content": "Four trees"}}, "call_6"),)),
            Reply(
                "", (Call("task", {"description": "Look", "prompt": "Look around", "agent": "general"}, "call_7"),)
            ),
            Reply("Nothing else is here."),
            Reply("Four trees are there."),
            Reply("It is sent."),
        ],
        name="scripted:orchard",
        window=Window(40_000, 4_000, None, "host"),
    )
    hud = Hud.open(DATA / "hudkit.db", clock=tick.clock, ids=tick.ids)
    loop = await Loop.open(
        project,
        model,
        data=DATA,
        plugins=[("hud", hud_plugin.hud_plugin(hud))],
        permissions=(Rule("*", "*", "allow"),),
        rules=Rules(delay=0.001, most_delay=0.01, frees=0),
        clock=tick.clock,
        ids=tick.ids,
    )
    try:
        await loop.prompt(
            "How many trees are there?",
            [r.File("", path="trees.txt"), r.File("", media_type="image/png", data=b"\x89PNG\r\n")],
        )
        await loop.compact()
        await loop.prompt("Send it.")
        return loop.id
    finally:
        await loop.close()
        hud.close()


def sessions() -> None:
    asyncio.run(loop_session())
    with SessionStore.open(DATA / "sessions.db") as store:
        every_record(store)


def every_record(store: SessionStore) -> None:
    """A session with a part of every kind, and a value in every field."""
    usage = filled(r.Reported)
    session = r.Session(
        "ses_kinds",
        "/home/ada/orchard",
        "",
        ORCHARD,
        "Every kind",
        "build",
        "scripted:orchard",
        START,
        START,
        asked_by="msg_0",
    )
    store.create(session)
    parts = (
        r.Text("prt_1", "Count.", synthetic=True, ignored=True, meta={"id": "t1"}),
        r.File("prt_2", "trees.txt", "text/plain", b"apple\n"),
        r.Marker("prt_3", True, True, "msg_1"),
    )
    store.put(r.Message("msg_1", "ses_kinds", "user", START, agent="build", model="scripted:orchard", parts=parts))
    call = r.Call("prt_6", "bash", "call_1", "running", {"command": "ls"}, started=START)
    answer = r.Message(
        "msg_2", "ses_kinds", "assistant", START, parent_id="msg_1", agent="build", model="scripted:orchard"
    )
    store.put(answer)
    store.put_parts(
        "ses_kinds",
        "msg_2",
        (r.Text("prt_4", "I list."), r.Reasoning("prt_5", "A list first.", {"signature": "s"}), call),
    )
    done = r.Call(
        "prt_6",
        "bash",
        "call_1",
        "completed",
        {"command": "ls"},
        "trees.txt",
        "",
        "ls",
        {"exit": 0},
        START,
        START + 5,
    )
    store.put_parts("ses_kinds", "msg_2", (done,))
    store.put_parts(
        "ses_kinds", "msg_2", (msgspec.structs.replace(done, compacted=START + 9), r.Patch("prt_7", ("trees.txt",)))
    )
    store.put_parts(
        "ses_kinds", "msg_2", (r.Call("prt_8", "read", "call_2", "error", error="cut off", interrupted=True),)
    )
    store.put(
        msgspec.structs.replace(answer, completed=START + 10, finish="stop", summary=True, usage=usage, cost=0.25)
    )
    failed = r.Message(
        "msg_3", "ses_kinds", "assistant", START, START + 1, "msg_1", error="interrupted", aborted=True
    )
    store.put(failed)
    store.set_todos("ses_kinds", (filled(r.Todo),))
    store.add_diffs("ses_kinds", (r.FileDiff("msg_2", "trees.txt", "@@ -1 +1 @@\n-plum\n+cherry\n", 1, 1, START),))


# -- what is installed ------------------------------------------------------------------------------------------


def installed() -> None:
    home = WORKSHOP / "home"
    write(home / ".config" / "opencode" / "opencode.json", '{\n  "theme": "night"\n}\n')
    write(home / ".cursor" / "mcp.json", '{\n  "mcpServers": {}\n}\n')
    os.environ["HUDKIT_DATA"] = str(home / "data")
    hudkit("install", "opencode", "--anyway")
    hudkit("install", "mcp", "--client", "cursor", "--anyway")
    for file in (
        "data/install/opencode.json",
        "data/install/mcp.json",
        ".config/opencode/opencode.json",
        ".cursor/mcp.json",
    ):
        text = (home / file).read_text().replace(str(home), "@HOME@").replace(sys.executable, "@PYTHON@")
        write(FIXTURES / "home" / file.replace(".config", "config").replace(".cursor", "cursor"), text)


def hudkit(*words: object) -> None:
    """One command line, which has to go well."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = cli.main([str(word) for word in words])
    assert code == 0, (words, code, printed.getvalue())


def main() -> None:
    if HERE.exists():
        raise SystemExit(f"{HERE} is there: these files are never written again")
    shutil.rmtree(WORKSHOP, ignore_errors=True)
    (WORKSHOP / "data").mkdir(parents=True)
    home = WORKSHOP / "home"
    os.environ.update(HOME=str(home), HUDKIT_DATA=str(DATA), HUDKIT_CONFIG=str(CONFIG / "config.toml"))
    os.environ.update(XDG_CONFIG_HOME=str(home / ".config"), XDG_DATA_HOME=str(home / ".share"))
    os.umask(0o077)
    try:
        hand_written()
        os.environ.pop("HUDKIT_CONFIG")
        log()
        world()
        sessions()
        installed()
        for claims in DATA.glob("*.claims"):
            shutil.rmtree(claims)
        for reading in ("-wal", "-shm"):  # of who looked at it only: all is in the file
            for left in FIXTURES.rglob(f"*.db{reading}"):
                assert reading == "-shm" or not left.stat().st_size
                left.unlink()
        shutil.copytree(FIXTURES, HERE)
    finally:
        shutil.rmtree(WORKSHOP, ignore_errors=True)


if __name__ == "__main__":
    main()
