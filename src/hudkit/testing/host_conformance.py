"""What every host with the HUD must do, as plain methods that any test runner can collect.

Subclass `HostConformance`, give `open`, and let pytest collect the subclass. The host's agent talks to a scripted
model on loopback through the host's own client, so that requests are what a provider would have got.

    class TestMyHost(HostConformance):
        host = "my-host"
        def open(self, place, session, *, hud=True, resume=""): ...

The script comes first: a shop whose total is wrong, and a day of coding. The suite follows.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Protocol

import msgspec
from msgspec.structs import replace

from hudkit.api import Hud
from hudkit.context.caching import (
    ANTHROPIC,
    OPENAI,
    CacheBlock,
    CachePolicy,
    CacheRequest,
    CallCost,
    simulate_cache,
    usd_cost,
)
from hudkit.log.payloads import CompactAfter, ContextSnapshot, SessionStart, TaskSet
from hudkit.models.captured_request import KIND_MARKS, CapturedRequest
from hudkit.models.scripted_answers import Answer, ScriptedCall, ScriptedReply, says, uses
from hudkit.sections.state import HudState
from hudkit.testing.assertions import (
    calls_in,
    delta_lines,
    hud_base,
    kept_base,
    prefix_breaks,
    prefix_difference,
    recovered_output,
)
from hudkit.testing.model_server import ScriptedModel
from hudkit.tokens import count_tokens, prices_of

SMALL_WINDOW = (32_000, 4_000)
"""The window of the model, and the most that it answers, in tokens."""
LARGE_WINDOW = (400_000, 8_000)
"""The same of a model with room for everything."""

PRUNING = "[pruning]\nenabled = true\nmin_used_percent = 5\n[cache]\nttl_minutes = 0.0001\n"
"""Settings with which old outputs leave the window soon: the cache passes for cold at each call."""

TASK = "Make the shop's total right"
DECISION = "Integers only, no floats"
NOTE = "prices are in cents"
RULE = "Never change test_shop.py."
INSTRUCTIONS = "# How we work here\n\n" + "".join(
    f"- Part {n}: {what}.\n"
    for n in range(64)
    for what in (
        f"reports of quarter {n} are made from the tables below `part_{n}`, and finance reads columns by position",
        f"amounts are integers in cents; rates of table {n} are strings with a point and at most {n % 5 + 2} digits",
        f"a change there needs the check `make part-{n}` to pass, and a line in the changelog of that part",
    )
)
"""What an agent is told of its work, about 5,600 tokens; OpenCode tells its agent about 8,300 with its tools."""
FULL_WINDOW_TOKENS = 28_500
"""Tokens in use at which the window of `SMALL_WINDOW` is full."""


class HostWorkspace(msgspec.Struct, frozen=True):
    """Where a test happens: the agent's project, the HUD's log, a folder for what the host stores.

    `url` is the model's address (every shape is below its `/v1`), `limit` its window and most output in tokens,
    `instructions` what the agent is told of the project where its host reads no `AGENTS.md` there.
    """

    project: Path
    log: Path
    folder: Path
    url: str
    limit: tuple[int, int] = SMALL_WINDOW
    instructions: str = "Work in the project through your tools."


class HostConversation(Protocol):
    """A conversation with the host's agent."""

    @property
    def id(self) -> str:
        """Return the host's id of the session."""
        ...

    def say(self, text: str) -> str:
        """Send a user's message and return the agent's last words. Raises what the host raises."""
        ...


def hud_call(operation: str, **args: Any) -> ScriptedCall:
    """Return a call of the tool `hud`, with arguments that its definition does not list."""
    return ScriptedCall("hud", {"operation": operation, **args})


def with_full_window(reply: ScriptedReply) -> ScriptedReply:
    """Return the reply with a usage that leaves the small window full."""
    return msgspec.structs.replace(reply, usage=CallCost(0, 0, FULL_WINDOW_TOKENS, 50))


def _write_shop(project: Path) -> None:
    """Write the files that the shop's task begins with."""
    (project / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (project / "test_shop.py").write_text(SHOP_TESTS)


def _part_text(n: int) -> str:
    """Return the text of a file that a coding day reads, about 5,500 characters."""
    return "".join(f"line {n}.{m}: {'x' * 40}\n" for m in range(110))


TEST_COMMAND = f"{sys.executable} -B -m unittest -q test_shop"
TOTAL_BODY = "s = 0\n    for n, p in rows:\n        s = add(s, n * p)\n    return s"
SHOP_SOURCE = f"from calc import add\n\n\ndef total(rows):\n    {TOTAL_BODY}\n"
SHOP_TESTS = """import unittest
from shop import total


class Shop(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([(2, 3), (1, 4)]), 10)
"""


def _shop_task(suite: HostConformance, path: Callable[[str], str]) -> Iterator[Answer]:
    """Yield the model's part of the shop's task: three of its responses leave the window full."""
    call, note, fill = suite.call, suite.hud_call, suite.fill_window
    calc, shop = path("calc.py"), path("shop.py")
    yield uses(note("task.set", description=TASK), call("read", path=calc))
    yield uses(note("decisions.record", summary=DECISION))
    yield uses(note("notes.add", content=NOTE))
    yield from fill(uses(call("run", command=TEST_COMMAND), text="The test fails. " + "thinking " * 300))
    yield uses(call("write", path=shop, content=SHOP_SOURCE.replace(TOTAL_BODY, "return 0")))
    yield from fill(uses(call("run", command=TEST_COMMAND), text="Still red. " + "thinking " * 300))
    yield uses(call("edit", path=calc, old="a - b", new="a + b"))
    yield uses(call("read", path=shop))
    yield from fill(uses(call("edit", path=shop, old="return 0", new=TOTAL_BODY)))
    yield uses(call("run", command=TEST_COMMAND))
    yield says("The total is right now.")


def _day_of_many_items(suite: HostConformance) -> Iterator[Answer]:
    """Yield responses that leave more in the HUD than a base can show, and answers that go on in pages."""
    note, fill = suite.hud_call, suite.fill_window

    def memory(operation: str, **args: Any) -> ScriptedReply:
        return uses(suite.router_call("memory", {"operation": operation, **args}))

    yield uses(note("task.set", description=TASK))
    yield uses(
        *(note("decisions.record", summary=f"Decision {n}: {'a reason, ' * 12}", reason="x") for n in range(14)),
        *(note("notes.add", content=f"Note {n}: {'a fact, ' * 20}") for n in range(14)),
        *(note("steps.add", description=f"Step {n}: {'work, ' * 12}") for n in range(14)),
        *(note("blockers.add", description=f"Blocker {n}") for n in range(5)),
    )
    yield uses(note("notes.ad", content=NOTE))
    yield uses(note("decisions.list", limit=3))
    yield memory("help")
    yield memory("messages", tokens=200)
    yield memory("history", limit=3)
    yield memory("search", query="total")
    yield memory("sessions")
    yield from fill(memory("snapshot"))
    if "compaction tools" not in suite.cannot:
        yield with_full_window(uses(ScriptedCall("hud_compact", {})))
    yield says("The window is full.")


def _coding_day_turn(
    suite: HostConformance, path: Callable[[str], str], number: int, *, with_hud: bool
) -> Sequence[ScriptedReply]:
    """Return a turn of a coding day; without the HUD, a command stands for what the agent would note down."""
    call = suite.call
    note = (
        suite.hud_call("task.set", description="Port the report to the new API")
        if number == 0
        else suite.hud_call(
            "decisions.record", summary=f"Column {number} stays where it is, finance reads it by position"
        )
    )
    return (
        uses(call("read", path=path(f"part_{number % 4}.txt")), text=f"Reading part {number}."),
        uses(call("run", command=f"echo checking {number} && seq 1 60")),
        uses(note if with_hud else call("run", command=f"echo noted {number}")),
        uses(call("write", path=path(f"out_{number}.txt"), content=f"row {number}\n")),
        uses(call("run", command=f"echo test {number}; exit {number % 3 == 1:d}")),
        says(f"Turn {number} is done: the part is ported and checked. " * 8),
    )


class HostConformance:
    """The suite. A host that cannot do something says so in `cannot`: the name of the test, and why."""

    host: ClassVar[str] = ""
    shape: ClassVar[str] = "openai"
    marks: ClassVar[dict[str, tuple[str, ...]]] = dict(KIND_MARKS)
    """How requests for titles and summaries are known."""
    cannot: ClassVar[dict[str, str]] = {}
    turns: ClassVar[int] = 20
    """Turns of the day that is priced; with less than 20 the longer day is left out."""
    most_cost: ClassVar[tuple[tuple[int, float], ...]] = ((7, 1.05), (20, 1.04))
    """What so many turns of that day may cost at most, as a multiple of the same without the HUD."""
    small_window: ClassVar[tuple[int, int]] = SMALL_WINDOW
    large_window: ClassVar[tuple[int, int]] = LARGE_WINDOW
    """The windows of the model; both may be the one that the host takes for its model's."""
    keeps_texts: ClassVar[bool] = False
    """The host keeps our texts in its own transcript, each where it was first put: the base stands among the
    messages, once in each window, nothing is re-inserted, there is no tail, and usage is told with a new band."""

    named: ClassVar[frozenset[str]] = frozenset({"messages", "snapshot"})
    """Operations that the texts of a long day name, at least."""

    def open(
        self, place: HostWorkspace, session: str, *, hud: bool = True, resume: str = ""
    ) -> AbstractContextManager[HostConversation]:
        """Return an open conversation; the same `session` again goes on where it stood, also in a new process.

        `resume` names a session of another host whose task is taken up.
        """
        raise NotImplementedError

    def call(self, what: str, **arguments: Any) -> ScriptedCall:
        """Return a call of one of the agent's tools, by what it does.

        `read` (path), `write` (path, content), `edit` (path, old, new), `run` (command). Names are those of
        `hudkit.testing.project_tools`, unless the host brings its own.
        """
        name = {"read": "read_file", "write": "write_file", "edit": "edit_file", "run": "run_command"}[what]
        return ScriptedCall(name, arguments)

    def router_call(self, router: str, arguments: Mapping[str, Any] | str) -> ScriptedCall:
        """Return a call of `hud` or `memory`, by the name that the host's model knows it by."""
        return ScriptedCall(router, arguments)

    def hud_call(self, operation: str, **args: Any) -> ScriptedCall:
        """Return a call of `hud`, with arguments that its definition does not list."""
        return self.router_call("hud", {"operation": operation, **args})

    def fill_window(self, reply: ScriptedReply) -> Sequence[Answer]:
        """Return the answers that leave the small window full, so that the host compacts before it goes on.

        A host may need more than a usage: that the next request is refused.
        """
        usage = CallCost(0, 0, self.tokens(FULL_WINDOW_TOKENS), 50)
        return (msgspec.structs.replace(reply, usage=usage),)

    def summary(self, text: str) -> ScriptedReply:
        """Return the answer to the request for a summary, in the form that the host takes."""
        return says(text)

    def settle(self, talk: Any) -> None:
        """Wait until what was said in a conversation is recorded, where that is some time after the agent's words."""
        del talk

    def measure(self, talk: Any) -> None:
        """Have the host tell how large the window is, where it does so only when its program asks."""
        del talk

    def tokens(self, of_small_window: int) -> int:
        """Return tokens of the host's small window that are the same share of it as these are of `SMALL_WINDOW`."""
        return of_small_window * self.small_window[0] // SMALL_WINDOW[0]

    def take_back(self, talk: Any) -> bool:
        """Take back the last prompt of a conversation (what `open` gave) with all that followed, as the host's user
        does; return whether it was. `False`: the host has nothing of the kind."""
        del talk
        return False

    def delegate(self, prompt: str) -> ScriptedCall:
        """Return a call that gives a task to a sub-agent."""
        return ScriptedCall("delegate", {"prompt": prompt})

    # -- injection ---------------------------------------------------------------------------------------------

    def test_every_call_carries_the_hud_once(self, tmp_path: Path) -> None:
        with self._at(tmp_path) as (place, model), self.open(place, "s1") as talk:
            model.play(
                uses(self.hud_call("task.set", description=TASK)),
                uses(self.call("run", command="echo 1")),
                says("done"),
            )
            assert talk.say("Please begin.") == "done"
            chats = model.chats
            assert len(chats) == 3
            assert len({self._base(chat) for chat in chats}) == 1, "the base stays as it was"
            assert all(chat.text.count("[hud ") <= 4 for chat in chats)
            if self.keeps_texts:
                assert all("Context: " not in chat.text for chat in chats), "what changes is not kept"
                return
            assert any(TASK in line for line in delta_lines(chats[-1])) or TASK in chats[-1].text
            assert "Context: " in chats[0].text or self._is_free("the tail"), "usage is told where a turn starts"

    def test_nothing_of_the_hud_is_kept_by_the_host(self, tmp_path: Path) -> None:
        """What was injected is not in the transcript: with the HUD taken away, the host sends none of it.

        Where the host keeps our texts: with the HUD taken away, it sends what was there, and nothing is new."""
        with self._at(tmp_path) as (place, model):
            with self.open(place, "s1") as talk:
                model.play(uses(self.hud_call("notes.add", content=NOTE)), says("done"))
                talk.say("Please begin.")
                model.play(says("done"))
                talk.say("Go on.")
            before = model.chats[-1]
            model.requests.clear()
            with self.open(place, "s1", hud=False) as talk:
                model.play(says("again"))
                talk.say("And now?")
            (chat,) = model.chats
            assert "Please begin." in chat.text, "the transcript goes on"
            if self.keeps_texts:
                assert self._base(chat) == self._base(before)
                assert chat.text.count("[hud ") == before.text.count("[hud "), "nobody tells anything any more"
            else:
                assert "[hud " not in chat.text and "Context: " not in chat.text

    # -- tools -------------------------------------------------------------------------------------------------

    def test_the_routers_read_and_write(self, tmp_path: Path) -> None:
        with self._at(tmp_path) as (place, model), self.open(place, "s1") as talk:
            model.play(
                uses(
                    self.hud_call("task.set", description=TASK), self.hud_call("decisions.record", summary=DECISION)
                ),
                uses(self.router_call("memory", {"operation": "history"})),
                uses(self.hud_call("task.sett", description="x")),
                uses(self.router_call("hud", "{broken") if self.shape == "openai" else self.hud_call("nonsense")),
                says("done"),
            )
            assert talk.say("Please begin.") == "done"
            state = self._state(place, talk)
            assert state.task.description == TASK
            assert [decision.summary for decision in state.decisions] == [DECISION]
            answers = [text for role, text in model.chats[-1].messages if role == "tool"]
            assert any(TASK in text for text in answers), "memory told the state"
            assert any("no operation" in text and "task.set" in text for text in answers), answers
            routers = {self.router_call(name, {}).name for name in ("hud", "memory")}
            assert routers <= set(model.chats[0].tools), "they are there from the first call on"
            assert {"hud_compact", "memory_compact"} <= set(model.chats[0].tools) or self._is_free("compaction tools")

    # -- derived events ----------------------------------------------------------------------------------------

    def test_what_happens_is_recorded_without_the_agent(self, tmp_path: Path) -> None:
        with self._at(tmp_path) as (place, model), self.open(place, "s1") as talk:
            _write_shop(place.project)
            model.play(
                uses(self.call("read", path=self._path(place, "calc.py"))),
                uses(self.call("run", command=TEST_COMMAND)),
                uses(self.call("edit", path=self._path(place, "calc.py"), old="a - b", new="a + b")),
                says("one thing is left"),
                uses(self.call("write", path=self._path(place, "shop.py"), content=SHOP_SOURCE)),
                uses(self.call("run", command=TEST_COMMAND)),
                says("done"),
            )
            talk.say(f"Please make the total right. {RULE}")
            state = self._state(place, talk)
            assert any("unittest" in error.message for error in state.errors.open), (
                "a test that fails is an open error"
            )
            assert {file.path for file in state.files.active} == {"calc.py"}
            talk.say("Go on.")
            state = self._state(place, talk)
            assert not state.errors.open, "the test that failed has passed"
            assert {file.path for file in state.files.active} >= {"calc.py", "shop.py"}
            assert any("test_shop.py" in constraint.text for constraint in state.constraints), "the user's rule"
            assert state.session.request == "Go on."
            assert state.session.host == self.host

    def test_usage_and_window_are_those_of_the_host(self, tmp_path: Path) -> None:
        with self._at(tmp_path) as (place, model), self.open(place, "s1") as talk:
            used = self.tokens(9_600) - 600
            model.play(says("done", used=used, output=600), says("done"))
            talk.say("Please begin.")
            self.measure(talk)
            talk.say("And now?")
            state = self._state(place, talk)
            snapshots = [event for event in self._events(place, talk) if isinstance(event, ContextSnapshot)]
            assert state.window.limit_tokens == self.small_window[0]
            assert any(snapshot.used_tokens == used + 600 for snapshot in snapshots), snapshots
            assert self.keeps_texts or "Context: 30% (10k/32k)" in model.chats[1].text, "the agent reads it"

    # -- pressure and compaction -------------------------------------------------------------------------------

    def test_the_hud_gets_denser_as_the_window_fills(self, tmp_path: Path) -> None:
        with self._at(tmp_path) as (place, model), self.open(place, "s1") as talk:
            model.play(uses(self.hud_call("task.set", description=TASK)), says("done", used=self.tokens(5_000)))
            talk.say("Please begin.")
            model.play(says("done", used=self.tokens(25_600)))
            talk.say("More.")
            model.play(says("done", used=self.tokens(1_000)))
            talk.say("More.")
            calls = [
                event for event in self._events(place, talk) if isinstance(event, ContextSnapshot) and event.call
            ]
            bands = [call.call.band for call in calls if call.call is not None]
            assert bands[0] == "unknown" and "green" in bands and bands[-1] == "yellow", bands
            usage = f"80% ({self.tokens(25_600) / 1000:.0f}k/{self.small_window[0] // 1000}k)"
            words = f"context now: {usage}" if self.keeps_texts else f"Context: {usage}"
            assert words in model.chats[-1].text, "the agent is told"

    def test_a_task_is_done_over_three_compactions_and_nothing_live_is_lost(self, tmp_path: Path) -> None:
        with self._at(tmp_path, compaction=self.summary("I am fixing the shop.")) as (place, model):
            _write_shop(place.project)
            with self.open(place, "s1") as talk:
                model.play(*_shop_task(self, lambda name: self._path(place, name)))
                assert talk.say(f"Please make the shop's total right. {RULE}") == "The total is right now."
                state = self._state(place, talk)
                compactions = [event for event in self._events(place, talk) if isinstance(event, CompactAfter)]
            last = model.chats[-1]
        assert len(compactions) == 3 and model.left == 0
        done = subprocess.run(TEST_COMMAND, shell=True, cwd=place.project, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        assert (place.project / "test_shop.py").read_text() == SHOP_TESTS
        assert state.task.description == TASK
        assert [decision.summary for decision in state.decisions] == [DECISION]
        assert [note.content for note in state.notes] == [NOTE]
        assert {file.path for file in state.files.active} >= {"calc.py", "shop.py"}
        assert not state.errors.open
        for words in (TASK, DECISION, NOTE, "test_shop.py"):
            assert words in self._base(last), f"{words!r} is in the base after the last compaction"
        assert "I am fixing the shop." in last.text

    # -- undo and revert ---------------------------------------------------------------------------------------

    def test_what_the_host_takes_back_is_asserted_no_more(self, tmp_path: Path) -> None:
        with self._at(tmp_path, limit=self.large_window) as (place, model), self.open(place, "s1") as talk:
            model.play(uses(self.hud_call("notes.add", content=NOTE)), says("noted"))
            talk.say("Please begin.")
            model.play(
                uses(self.hud_call("task.set", description="Rewrite everything in Rust")),
                uses(self.hud_call("decisions.record", summary="Store cents as floats")),
                uses(self.call("write", path=self._path(place, "main.rs"), content="fn main() {}\n")),
                uses(self.call("run", command="exit 3")),
                says("done"),
            )
            talk.say("Never touch test_shop.py again. Use another language.")
            if not self.take_back(talk):
                return
            model.play(says("ok"))
            talk.say("How does it look now?")
            text, state = model.chats[-1].text, self._state(place, talk)
            lost = ("Rust", "cents as floats", "main.rs", "exit 3", "test_shop.py", "another language")
            assert [words for words in lost if words in text] == []
            assert not (state.decisions or state.errors.open or state.files.active or state.constraints)
            assert [note.content for note in state.notes] == [NOTE], "what was before stands"
            assert NOTE in text and state.session.request == "How does it look now?"

    # -- cache -------------------------------------------------------------------------------------------------

    def test_a_request_begins_with_the_one_before(self, tmp_path: Path) -> None:
        with self._at(tmp_path, limit=self.large_window) as (place, model), self.open(place, "s1") as talk:
            for number in range(3):
                model.play(
                    uses(self.hud_call("notes.add", content=f"note {number}")),
                    uses(self.call("run", command="exit 3")),
                    uses(self.call("run", command=f"echo {number}")),
                    says(f"turn {number} is done"),
                )
                talk.say(f"Now part {number}, please.")
            assert len(model.chats) == 12
            assert self._breaks(model.chats) == []
            assert len({self._base(chat) for chat in model.chats}) == 1

    def test_a_conversation_goes_on_in_a_new_process_as_if_nothing_had_been(self, tmp_path: Path) -> None:
        with self._at(tmp_path, limit=self.large_window) as (place, model):
            for number in range(3):
                with self.open(place, "s1") as talk:
                    model.play(
                        uses(self.hud_call("notes.add", content=f"note {number}")),
                        uses(self.call("run", command=f"exit {number + 3}")),
                        says("done"),
                    )
                    talk.say(f"Now part {number}, please.")
            assert self._breaks(model.chats) == []
            assert len({self._base(chat) for chat in model.chats}) == 1, "a new process brings no second base"
            payloads = self._events(place, talk)
            state = self._state(place, talk)
            assert [note.content for note in state.notes] == ["note 0", "note 1", "note 2"]
            requests = [
                payload.request for payload in payloads if isinstance(payload, SessionStart) and payload.request
            ]
            assert requests == [f"Now part {number}, please." for number in range(3)], "each is told once"
            assert len(state.errors.open) == 3

    def test_the_hud_costs_little(self, tmp_path: Path) -> None:
        """Captured requests in the same simulator as without the HUD: at most what `most_cost` says.
        Without pruning, as is the default: its savings would hide what the HUD's layers cost."""
        day = {on: self._day(tmp_path / f"day-{on}", self.turns, with_hud=on) for on in (False, True)}
        sent = {
            on: [chat.request(count_tokens, timestamp=1000 * n) for n, chat in enumerate(chats)]
            for on, chats in day.items()
        }
        for turns, most in self.most_cost:
            for policy in (ANTHROPIC, OPENAI) if turns <= self.turns else ():
                spent = {on: _price(requests[: turns * 6], policy) for on, requests in sent.items()}
                ratio = spent[True] / spent[False]
                print(f"{self.host}, {policy.name}: {turns * 6} calls, x {ratio:.4f}")
                assert ratio <= most, (policy.name, ratio)

    # -- what was taken away -----------------------------------------------------------------------------------

    def test_what_was_taken_away_comes_back(self, tmp_path: Path) -> None:
        """The call in each line that stands for an output gets its very text, in a new process too.

        What is read twice leaves the window once; the newest read of each file stays, and all that is not older than
        the turn before. Where the host keeps all itself, it is its compactions that take away: see below."""
        if self.keeps_texts:
            self._find_what_a_compaction_took(tmp_path)
            return
        with self._at(tmp_path, limit=self.large_window) as (place, model), _settings(tmp_path, PRUNING):
            for n in range(4):
                lines = (f'{n}.{m}\t{"x" * (m % 60)} \\ "é"' for m in range(1_000))
                (place.project / f"long_{n}.txt").write_text("\n".join(lines))
            with self.open(place, "s1") as talk:
                for n in range(8):
                    model.play(
                        uses(self.call("read", path=self._path(place, f"long_{n % 4}.txt"))),
                        uses(self.call("run", command=f"echo part {n}")),
                        says("I have read it."),
                    )
                    talk.say(f"Read part {n}.")
            pruned = _STUB.findall(model.chats[-1].text)
            assert 1 <= len(pruned) <= 4, "old outputs have left the window, the newest of each file have not"
            for chat in model.chats:
                newest = chat.messages[-1][1]
                assert not _STUB.search(newest), "what was read just now"
            outputs = [text for chat in model.chats for role, text in chat.messages if role == "tool"]
            with self.open(place, "s1") as talk:
                for stub, size in pruned[:3]:
                    text = self._recovered(model, talk, calls_in(stub)[0])
                    assert len(text) == int(size.replace(",", ""))
                    assert any(_is_output(text, output) for output in outputs), f"{stub} gave {text[:200]!r}"

    def _find_what_a_compaction_took(self, folder: Path) -> None:
        """An output that a compaction took out of the window is found by its words, and read to the byte."""
        lines = [f'{n}\t{"x" * (n % 60)} \\ "é" quince{n}' for n in range(200)]
        with self._at(folder, compaction=self.summary("I have read the list.")) as (place, model):
            # No file that is read: Claude Code shows those again after a compaction.
            (place.project / "list.py").write_text(f"for line in {lines!r}:\n    print(line)\n", encoding="utf-8")
            with self.open(place, "s1") as talk:
                model.play(uses(self.call("run", command=f"{sys.executable} list.py")), says("I have read it."))
                talk.say("Read the list.")
                for n in range(3):
                    model.play(uses(self.call("run", command=f"echo part {n}")), says("done"))
                    talk.say(f"Now part {n}.")
                model.play(*self.fill_window(uses(self.call("run", command="echo last"))), says("done"))
                talk.say("Now the last part.")
            (call,) = re.findall(r" list\.py\b.*#(\S+)", model.chats[1].text)
            assert "quince99" in model.chats[1].text and "quince99" not in model.chats[-1].text, "it is gone"
            with self.open(place, "s1") as talk:
                model.play(uses(self.router_call("memory", {"operation": "search", "query": "quince99"})), says("ok"))
                talk.say("What was in the list?")
                hits = [text for role, text in model.chats[-1].messages if role == "tool"][-1]
                assert '"é" quince' in hits, f"the search finds the output itself: {hits}"
                asked = {"operation": "output", "item": call}
                assert self._recovered(model, talk, ("memory", asked)) == "\n".join(lines)

    def test_every_call_that_a_text_names_works(self, tmp_path: Path) -> None:
        """What bases, deltas, tails and answers of tools tell the agent to call is called, and answered."""
        with self._at(tmp_path) as (place, model), self.open(place, "s1") as talk:
            model.play(*_day_of_many_items(self))
            talk.say(f"Please make the total right. {RULE}")
            model.play(says("Going on."))
            talk.say("And now?")
            called: list[tuple[str, dict[str, Any]]] = []
            for _ in range(3):  # answers name calls, too
                named = dict.fromkeys(map(repr, calls_in("\n".join(chat.text for chat in model.chats))))
                new = [call for call in map(literal_eval, named) if call not in called]
                for router, arguments in new[:25]:
                    called.append((router, arguments))
                    model.play(uses(self.router_call(router, arguments)), says("done"))
                    talk.say("Go on.")
                    answer = [text for role, text in model.chats[-1].messages if role == "tool"][-1]
                    assert not _REFUSED.search(answer), f"{router}({arguments}) was answered {answer[:300]!r}"
            tools = {str(arguments["operation"]) for _, arguments in called}
            assert tools >= self.named, tools

    # -- several at once ---------------------------------------------------------------------------------------

    def test_conversations_side_by_side_keep_their_own(self, tmp_path: Path) -> None:
        def answer(request: CapturedRequest) -> ScriptedReply:
            name = next(word for word in ("anna", "bert", "cleo") if f"I am {word}" in request.text)
            return (
                says("done")
                if f"note of {name}" in request.text
                else uses(self.hud_call("notes.add", content=f"note of {name}"))
            )

        with self._at(tmp_path, script=answer) as (place, _):

            def live(name: str) -> HudState:
                with self.open(place, name) as talk:
                    assert talk.say(f"I am {name}.") == "done"
                    assert talk.say(f"I am {name} again.") == "done"
                    return self._state(place, talk)

            with ThreadPoolExecutor(3) as threads:
                states = list(threads.map(live, ("anna", "bert", "cleo")))
        assert [[note.content for note in state.notes] for state in states] == [
            ["note of anna"], ["note of bert"], ["note of cleo"],
        ]  # fmt: skip

    def test_a_sub_agent_has_a_hud_of_its_own(self, tmp_path: Path) -> None:
        def answer(request: CapturedRequest) -> ScriptedReply:
            # A host may put texts of its own in front of what the sub-agent is asked.
            child = "Count the files." in [
                line for role, text in request.messages if role == "user" for line in text.split("\n")
            ]
            if child:
                done = "Counting" in request.text
                return says("there are 3") if done else uses(self.hud_call("task.set", description="Counting"))
            if "there are 3" in request.text:
                return says("done")
            if any(role == "tool" for role, _ in request.messages):
                return uses(self.delegate("Count the files."))
            return uses(
                self.hud_call("task.set", description=TASK), self.hud_call("decisions.record", summary=DECISION)
            )

        with self._at(tmp_path, script=answer) as (place, model), self.open(place, "s1") as talk:
            assert talk.say("Please begin.") == "done"
            state = self._state(place, talk)
            assert state.task.description == TASK
            with Hud.open(place.log) as board:
                others = [board.session(key).state for key in board.sessions() if not key.startswith("@")]
            (child,) = [other for other in others if other.task.description == "Counting"]
            assert any(link.relation == "parent" for link in child.session.links)
            asked = next(chat for chat in model.chats if "Count the files." in chat.text and "Counting" in chat.text)
            assert DECISION in self._base(asked), "what holds for the parent holds for the child"

    # -- faults ------------------------------------------------------------------------------------------------

    def test_a_log_that_cannot_be_used_stops_nobody(self, tmp_path: Path) -> None:
        with self._at(tmp_path) as (place, model):
            place.log.parent.mkdir(parents=True, exist_ok=True)
            place.log.write_bytes(b"this is no log" * 1_000)
            with self.open(place, "s1") as talk:
                model.play(uses(self.hud_call("notes.add", content=NOTE)), says("done"))
                assert talk.say("Please begin.") == "done"
            answers = [text for role, text in model.chats[-1].messages if role == "tool"]
            assert any(re.search(r"not recorded|not available|[Nn]othing was recorded", text) for text in answers), (
                answers
            )
            assert place.log.read_bytes() == b"this is no log" * 1_000

    # -- from host to host -------------------------------------------------------------------------------------

    def test_a_session_of_another_host_is_resumed(self, tmp_path: Path) -> None:
        with self._at(tmp_path) as (place, model):
            self._begun(place)
            with self.open(place, "s1", resume="ses_begun") as talk:
                model.play(says("done"))
                talk.say("Go on, please.")
                state = self._state(place, talk)
            base = self._base(model.chats[0])
            assert TASK in base and DECISION in base and "write total" in base
            assert state.task.description == TASK
            assert any(link.relation == "resume" and link.session_id == "ses_begun" for link in state.session.links)

    # -- inside ------------------------------------------------------------------------------------------------

    @contextmanager
    def _at(
        self, folder: Path, *, limit: tuple[int, int] | None = None, **options: Any
    ) -> Iterator[tuple[HostWorkspace, ScriptedModel]]:
        project = folder / "project"
        project.mkdir(parents=True)
        (project / ".git").mkdir()
        with ScriptedModel(**options, marks=self.marks) as model:
            yield self.place(folder, project, model.url, limit or self.small_window), model

    def place(self, folder: Path, project: Path, url: str, limit: tuple[int, int]) -> HostWorkspace:
        """Return where a test happens."""
        return HostWorkspace(project, folder / "data" / "hudkit.db", folder, url, limit)

    def _day(self, folder: Path, turns: int, *, with_hud: bool) -> list[CapturedRequest]:
        """Return the chat calls of a coding day of so many turns."""
        with self._at(folder, limit=self.large_window) as (place, model):
            for n in range(4):
                (place.project / f"part_{n}.txt").write_text(_part_text(n))
            (place.project / "AGENTS.md").write_text(INSTRUCTIONS)
            place = replace(place, instructions=INSTRUCTIONS)
            with self.open(place, "day", hud=with_hud) as talk:
                for number in range(turns):
                    model.play(
                        *_coding_day_turn(self, lambda name: self._path(place, name), number, with_hud=with_hud)
                    )
                    talk.say(f"Now part {number}, please; keep the columns as they are.")
            assert len(model.chats) == turns * 6
            return model.chats

    def _begun(self, place: HostWorkspace) -> None:
        """Make a session of another host in the same project: `ses_begun`."""
        with Hud.open(place.log) as board:
            begun = board.session("ses_begun", project=place.project, host="elsewhere")
            begun.append(TaskSet(TASK))
            begun.call("decisions.record", {"summary": DECISION})
            begun.call("steps.add", {"description": "write total"})

    def _recovered(self, model: ScriptedModel, talk: HostConversation, call: tuple[str, dict[str, Any]]) -> str:
        """Return what an agent reads that follows a stub's call, page after page."""
        router, arguments = call
        text = ""
        following: dict[str, Any] | None = arguments
        while following:
            model.play(
                uses(self.router_call(router, {**following, "operation": arguments["operation"]})), says("read")
            )
            talk.say("Read it again.")
            answers = [text for role, text in model.chats[-1].messages if role == "tool"]
            page, following = recovered_output(answers[-1].partition("\n[hud ")[0])
            text += page
        return text

    def _is_free(self, what: str) -> bool:
        return what in self.cannot

    def _base(self, chat: CapturedRequest) -> str:
        """Return the HUD in a request, which is there once: in the system prompt, or where the host keeps it."""
        return kept_base(chat) if self.keeps_texts else hud_base(chat)

    def _breaks(self, chats: Sequence[CapturedRequest]) -> list[str]:
        """Return where a request is not the beginning of the next one; to the byte where the host keeps our texts."""
        if self.keeps_texts:
            return [*filter(None, (prefix_difference(before, after) for before, after in pairwise(chats)))]
        return prefix_breaks(chats)

    def _path(self, place: HostWorkspace, name: str) -> str:  # noqa: ARG002 (hosts with absolute paths use the place)
        return name

    def _state(self, place: HostWorkspace, talk: HostConversation) -> HudState:
        self.settle(talk)
        with Hud.open(place.log) as board:
            return board.session(talk.id, project=place.project, host=self.host).state

    def _events(self, place: HostWorkspace, talk: HostConversation) -> list[Any]:
        self.settle(talk)
        with Hud.open(place.log) as board:
            session = board.session(talk.id, project=place.project, host=self.host)
            return [event.payload for event in session.events()]


def _price(requests: Sequence[CacheRequest], policy: CachePolicy) -> float:
    """Return what a run costs in US dollars, as the mean over system prompts of so many lengths.

    A cache that keeps prefixes in steps of 128 tokens reads up to 127 less of a call than is there, by where its
    blocks happen to end: in one run that is as much as .0015 of its price.
    """
    leads = [CacheBlock("lead", tokens, "system") for tokens in range(0, policy.step, 8)]
    runs = [[replace(each, blocks=(lead, *each.blocks)) for each in requests] for lead in leads]
    prices = prices_of("claude-sonnet-4-5")
    return sum(usd_cost(simulate_cache(run, policy), prices) for run in runs) / len(runs)


_STUB = re.compile(r"(\[pruned: [^\]\n]*?, ([\d,]+) characters; memory output [^\]\n]+ gets it\])")

_REFUSED = re.compile(
    r"^(Error: )?(not recorded|not available|there is no|no output|this host)|\. Example: (hud|memory)\("
)
"""How answers begin, or end, that refuse a call."""


def _is_output(text: str, shown: str) -> bool:
    """Return whether a text is what a request has as an output, whatever the HUD has put behind it."""
    return shown == text or (shown.startswith(text) and shown[len(text) :].lstrip().startswith("[hud "))


@contextmanager
def _settings(folder: Path, text: str) -> Iterator[None]:
    """Make these the user's settings for what is opened meanwhile."""
    before = os.environ.get("HUDKIT_CONFIG")
    file = folder / "config.toml"
    file.write_text(text, encoding="utf-8")
    os.environ["HUDKIT_CONFIG"] = str(file)
    try:
        yield
    finally:
        if before is None:
            del os.environ["HUDKIT_CONFIG"]
        else:
            os.environ["HUDKIT_CONFIG"] = before
