"""What every host with the HUD must do, as plain methods that any test runner can collect.

Subclass `HostConformance`, give `open`, and let pytest collect the subclass. The host's agent talks to a scripted
model on loopback through the host's own client, so that requests are what a provider would have got.

    class TestMyHost(HostConformance):
        host = "my-host"
        def open(self, place, session, *, hud=True, resume=""): ...
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace

from hudkit.api import Hud
from hudkit.context.caching import ANTHROPIC, OPENAI, simulate_cache, usd_cost
from hudkit.log.payloads import CompactAfter, ContextSnapshot, SessionStart, TaskSet
from hudkit.sections.state import HudState
from hudkit.testing.captured import MARKS, Captured
from hudkit.testing.host_script import (
    DECISION,
    INSTRUCTIONS,
    LIMIT,
    NOTE,
    ROOMY,
    RULE,
    SHOP,
    TASK,
    TEST,
    TESTS,
    Place,
    Talk,
    hud,
    lay_out,
    part,
    task,
    turn,
)
from hudkit.testing.model import ScriptedModel
from hudkit.testing.replies import Call, Reply, says, uses
from hudkit.testing.seen import base_of, breaks, told
from hudkit.tokens import count_tokens, prices_of


class HostConformance:
    """The suite. A host that cannot do something says so in `cannot`: the name of the test, and why."""

    host: ClassVar[str] = ""
    shape: ClassVar[str] = "openai"
    marks: ClassVar[dict[str, tuple[str, ...]]] = dict(MARKS)
    """How requests for titles and summaries are known."""
    cannot: ClassVar[dict[str, str]] = {}
    turns: ClassVar[int] = 20
    """Turns of the day that is priced; with less than 20 the longer day is left out."""

    def open(self, place: Place, session: str, *, hud: bool = True, resume: str = "") -> AbstractContextManager[Talk]:
        """A conversation; the same `session` again goes on where it stood, also in a new process. `resume` names a
        session of another host whose task is taken up."""
        raise NotImplementedError

    def call(self, what: str, **arguments: Any) -> Call:
        """A call of one of the agent's tools, by what it does: `read` (path), `write` (path, content), `edit` (path,
        old, new), `run` (command). Names are those of `hudkit.testing.workshop`, unless the host brings its own."""
        name = {"read": "read_file", "write": "write_file", "edit": "edit_file", "run": "run_command"}[what]
        return Call(name, arguments)

    def delegate(self, prompt: str) -> Call:
        """A call that gives a task to a sub-agent."""
        return Call("delegate", {"prompt": prompt})

    # -- injection ---------------------------------------------------------------------------------------------

    def test_every_call_carries_the_hud_once(self, tmp_path: Path) -> None:
        with self._at(tmp_path) as (place, model), self.open(place, "s1") as talk:
            model.play(
                uses(hud("task.set", description=TASK)), uses(self.call("run", command="echo 1")), says("done")
            )
            assert talk.say("Please begin.") == "done"
            chats = model.chats
            assert len(chats) == 3
            assert len({base_of(chat) for chat in chats}) == 1, "the base stays as it was"
            assert all(chat.text.count("[hud ") <= 4 for chat in chats)
            assert any(TASK in line for line in told(chats[-1])) or TASK in chats[-1].text
            assert "Context: " in chats[0].text or self._is_free("the tail"), "usage is told where a turn starts"

    def test_nothing_of_the_hud_is_kept_by_the_host(self, tmp_path: Path) -> None:
        """What was injected is not in the transcript: with the HUD taken away, the host sends none of it."""
        with self._at(tmp_path) as (place, model):
            with self.open(place, "s1") as talk:
                model.play(uses(hud("notes.add", content=NOTE)), says("done"))
                talk.say("Please begin.")
            model.requests.clear()
            with self.open(place, "s1", hud=False) as talk:
                model.play(says("again"))
                talk.say("And now?")
            (chat,) = model.chats
            assert "Please begin." in chat.text, "the transcript goes on"
            assert "[hud " not in chat.text and "Context: " not in chat.text

    # -- tools -------------------------------------------------------------------------------------------------

    def test_the_routers_read_and_write(self, tmp_path: Path) -> None:
        with self._at(tmp_path) as (place, model), self.open(place, "s1") as talk:
            model.play(
                uses(hud("task.set", description=TASK), hud("decisions.record", summary=DECISION)),
                uses(Call("memory", {"tool": "history", "args": {}})),
                uses(hud("task.sett", description="x")),
                uses(Call("hud", "{broken") if self.shape == "openai" else hud("nonsense")),
                says("done"),
            )
            assert talk.say("Please begin.") == "done"
            state = self._state(place, talk)
            assert state.task.description == TASK
            assert [one.summary for one in state.decisions] == [DECISION]
            answers = [text for role, text in model.chats[-1].messages if role == "tool"]
            assert any(TASK in text for text in answers), "memory told the state"
            assert any("no operation" in text and "task.set" in text for text in answers), answers
            assert {"hud", "memory", "hud_compact", "memory_compact"} <= set(model.chats[0].tools) or self._is_free(
                "compaction tools"
            )

    # -- derived events ----------------------------------------------------------------------------------------

    def test_what_happens_is_recorded_without_the_agent(self, tmp_path: Path) -> None:
        with self._at(tmp_path) as (place, model), self.open(place, "s1") as talk:
            lay_out(place.project)
            model.play(
                uses(self.call("read", path=self._path(place, "calc.py"))),
                uses(self.call("run", command=TEST)),
                uses(self.call("edit", path=self._path(place, "calc.py"), old="a - b", new="a + b")),
                says("one thing is left"),
                uses(self.call("write", path=self._path(place, "shop.py"), content=SHOP)),
                uses(self.call("run", command=TEST)),
                says("done"),
            )
            talk.say(f"Please make the total right. {RULE}")
            state = self._state(place, talk)
            assert any("unittest" in one.message for one in state.errors.open), "a test that fails is an open error"
            assert {one.path for one in state.files.active} == {"calc.py"}
            talk.say("Go on.")
            state = self._state(place, talk)
            assert not state.errors.open, "the test that failed has passed"
            assert {one.path for one in state.files.active} >= {"calc.py", "shop.py"}
            assert any("test_shop.py" in one.text for one in state.constraints), "the user's rule"
            assert state.session.request == "Go on."
            assert state.session.host == self.host

    def test_usage_and_window_are_those_of_the_host(self, tmp_path: Path) -> None:
        with self._at(tmp_path) as (place, model), self.open(place, "s1") as talk:
            model.play(says("done", used=9_000, output=600), says("done"))
            talk.say("Please begin.")
            talk.say("And now?")
            state = self._state(place, talk)
            snapshots = [one for one in self._events(place, talk) if isinstance(one, ContextSnapshot)]
            assert state.window.limit_tokens == LIMIT[0]
            assert any(one.used_tokens == 9_600 for one in snapshots), snapshots
            assert "Context: 30% (10k/32k)" in model.chats[1].text, "the agent reads it"

    # -- pressure and compaction -------------------------------------------------------------------------------

    def test_the_hud_gets_denser_as_the_window_fills(self, tmp_path: Path) -> None:
        with self._at(tmp_path) as (place, model), self.open(place, "s1") as talk:
            model.play(uses(hud("task.set", description=TASK)), says("done", used=5_000))
            talk.say("Please begin.")
            model.play(says("done", used=25_600))
            talk.say("More.")
            model.play(says("done", used=1_000))
            talk.say("More.")
            calls = [one for one in self._events(place, talk) if isinstance(one, ContextSnapshot) and one.call]
            bands = [one.call.band for one in calls if one.call is not None]
            assert bands[0] == "unknown" and "green" in bands and bands[-1] == "yellow", bands
            assert "Context: 80% (26k/32k)" in model.chats[-1].text, "the agent is told"

    def test_a_task_is_done_over_three_compactions_and_nothing_live_is_lost(self, tmp_path: Path) -> None:
        with self._at(tmp_path, compaction=says("I am fixing the shop.")) as (place, model):
            lay_out(place.project)
            with self.open(place, "s1") as talk:
                model.play(*task(self.call, lambda name: self._path(place, name)))
                assert talk.say(f"Please make the shop's total right. {RULE}") == "The total is right now."
                state = self._state(place, talk)
                compactions = [one for one in self._events(place, talk) if isinstance(one, CompactAfter)]
            last = model.chats[-1]
        assert len(compactions) == 3 and model.left == 0
        done = subprocess.run(TEST, shell=True, cwd=place.project, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        assert (place.project / "test_shop.py").read_text() == TESTS
        assert state.task.description == TASK
        assert [one.summary for one in state.decisions] == [DECISION]
        assert [one.content for one in state.notes] == [NOTE]
        assert {one.path for one in state.files.active} >= {"calc.py", "shop.py"}
        assert not state.errors.open
        for words in (TASK, DECISION, NOTE, "test_shop.py"):
            assert words in base_of(last), f"{words!r} is in the base after the last compaction"
        assert "I am fixing the shop." in last.text

    # -- cache -------------------------------------------------------------------------------------------------

    def test_a_request_begins_with_the_one_before(self, tmp_path: Path) -> None:
        with self._at(tmp_path, limit=ROOMY) as (place, model), self.open(place, "s1") as talk:
            for number in range(3):
                model.play(
                    uses(hud("notes.add", content=f"note {number}")),
                    uses(self.call("run", command="exit 3")),
                    uses(self.call("run", command=f"echo {number}")),
                    says(f"turn {number} is done"),
                )
                talk.say(f"Now part {number}, please.")
            assert len(model.chats) == 12
            assert breaks(model.chats) == []
            assert len({base_of(chat) for chat in model.chats}) == 1

    def test_a_conversation_goes_on_in_a_new_process_as_if_nothing_had_been(self, tmp_path: Path) -> None:
        with self._at(tmp_path, limit=ROOMY) as (place, model):
            for number in range(3):
                with self.open(place, "s1") as talk:
                    model.play(
                        uses(hud("notes.add", content=f"note {number}")),
                        uses(self.call("run", command=f"exit {number + 3}")),
                        says("done"),
                    )
                    talk.say(f"Now part {number}, please.")
            assert breaks(model.chats) == []
            payloads = self._events(place, talk)
            state = self._state(place, talk)
            assert [one.content for one in state.notes] == ["note 0", "note 1", "note 2"]
            requests = [one.request for one in payloads if isinstance(one, SessionStart) and one.request]
            assert requests == [f"Now part {number}, please." for number in range(3)], "each is told once"
            assert len(state.errors.open) == 3

    def test_the_hud_costs_little(self, tmp_path: Path) -> None:
        """Captured requests in the same simulator as without the HUD: 42 calls at most 1.05, 120 at most 1.04.
        Without pruning, whose savings would hide what the HUD's layers cost."""
        prices = prices_of("claude-sonnet-4-5")
        day = {on: self._day(tmp_path / f"day-{on}", self.turns, with_hud=on) for on in (False, True)}
        sent = {
            on: [one.request(count_tokens, at=1000 * n) for n, one in enumerate(chats)] for on, chats in day.items()
        }
        for turns, most in ((7, 1.05), (20, 1.04)):
            for policy in (ANTHROPIC, OPENAI) if turns <= self.turns else ():
                spent = {
                    on: usd_cost(simulate_cache(requests[: turns * 6], policy), prices)
                    for on, requests in sent.items()
                }
                ratio = spent[True] / spent[False]
                print(f"{self.host}, {policy.name}: {turns * 6} calls, x {ratio:.3f}")
                assert ratio <= most, (policy.name, ratio)

    # -- several at once ---------------------------------------------------------------------------------------

    def test_conversations_side_by_side_keep_their_own(self, tmp_path: Path) -> None:
        def answer(asked: Captured) -> Reply:
            name = next(word for word in ("anna", "bert", "cleo") if f"I am {word}" in asked.text)
            return (
                says("done") if f"note of {name}" in asked.text else uses(hud("notes.add", content=f"note of {name}"))
            )

        with self._at(tmp_path, script=answer) as (place, _):

            def live(name: str) -> HudState:
                with self.open(place, name) as talk:
                    assert talk.say(f"I am {name}.") == "done"
                    assert talk.say(f"I am {name} again.") == "done"
                    return self._state(place, talk)

            with ThreadPoolExecutor(3) as threads:
                states = list(threads.map(live, ("anna", "bert", "cleo")))
        assert [[one.content for one in state.notes] for state in states] == [
            ["note of anna"], ["note of bert"], ["note of cleo"],
        ]  # fmt: skip

    def test_a_sub_agent_has_a_hud_of_its_own(self, tmp_path: Path) -> None:
        def answer(asked: Captured) -> Reply:
            child = "Count the files." in [text.partition("\n")[0] for role, text in asked.messages if role == "user"]
            if child:
                done = "Counting" in asked.text
                return says("there are 3") if done else uses(hud("task.set", description="Counting"))
            if "there are 3" in asked.text:
                return says("done")
            if any(role == "tool" for role, _ in asked.messages):
                return uses(self.delegate("Count the files."))
            return uses(hud("task.set", description=TASK), hud("decisions.record", summary=DECISION))

        with self._at(tmp_path, script=answer) as (place, model), self.open(place, "s1") as talk:
            assert talk.say("Please begin.") == "done"
            state = self._state(place, talk)
            assert state.task.description == TASK
            with Hud.open(place.log) as board:
                others = [board.session(key).state for key in board.sessions() if not key.startswith("@")]
            (child,) = [one for one in others if one.task.description == "Counting"]
            assert any(link.relation == "parent" for link in child.session.links)
            asked = next(chat for chat in model.chats if "Count the files." in chat.text and "Counting" in chat.text)
            assert DECISION in base_of(asked), "what holds for the parent holds for the child"

    # -- faults ------------------------------------------------------------------------------------------------

    def test_a_log_that_cannot_be_used_stops_nobody(self, tmp_path: Path) -> None:
        with self._at(tmp_path) as (place, model):
            place.log.parent.mkdir(parents=True, exist_ok=True)
            place.log.write_bytes(b"this is no log" * 1_000)
            with self.open(place, "s1") as talk:
                model.play(uses(hud("notes.add", content=NOTE)), says("done"))
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
            base = base_of(model.chats[0])
            assert TASK in base and DECISION in base and "write total" in base
            assert state.task.description == TASK
            assert any(link.relation == "resume" and link.session_id == "ses_begun" for link in state.session.links)

    # -- inside ------------------------------------------------------------------------------------------------

    @contextmanager
    def _at(
        self, folder: Path, *, limit: tuple[int, int] = LIMIT, **given: Any
    ) -> Iterator[tuple[Place, ScriptedModel]]:
        project = folder / "project"
        project.mkdir(parents=True)
        (project / ".git").mkdir()
        with ScriptedModel(**given, marks=self.marks) as model:
            yield self.place(folder, project, model.url, limit), model

    def place(self, folder: Path, project: Path, url: str, limit: tuple[int, int]) -> Place:
        """Where a test happens."""
        return Place(project, folder / "data" / "hudkit.db", folder, url, limit)

    def _day(self, folder: Path, turns: int, *, with_hud: bool) -> list[Captured]:
        """The chat calls of a coding day of so many turns."""
        with self._at(folder, limit=ROOMY) as (place, model), _settings(folder, "[pruning]\nenabled = false\n"):
            for n in range(4):
                (place.project / f"part_{n}.txt").write_text(part(n))
            (place.project / "AGENTS.md").write_text(INSTRUCTIONS)
            place = replace(place, instructions=INSTRUCTIONS)
            with self.open(place, "day", hud=with_hud) as talk:
                for number in range(turns):
                    model.play(*turn(self.call, lambda name: self._path(place, name), number, with_hud=with_hud))
                    talk.say(f"Now part {number}, please; keep the columns as they are.")
            assert len(model.chats) == turns * 6
            return model.chats

    def _begun(self, place: Place) -> None:
        """A session of another host, in the same project: `ses_begun`."""
        with Hud.open(place.log) as board:
            begun = board.session("ses_begun", project=place.project, host="elsewhere")
            begun.append(TaskSet(TASK))
            begun.call("decisions.record", {"summary": DECISION})
            begun.call("steps.add", {"description": "write total"})

    def _is_free(self, what: str) -> bool:
        return what in self.cannot

    def _path(self, place: Place, name: str) -> str:  # noqa: ARG002 (hosts with absolute paths use the place)
        return name

    def _state(self, place: Place, talk: Talk) -> HudState:
        with Hud.open(place.log) as board:
            return board.session(talk.id, project=place.project, host=self.host).state

    def _events(self, place: Place, talk: Talk) -> list[Any]:
        with Hud.open(place.log) as board:
            session = board.session(talk.id, project=place.project, host=self.host)
            return [event.payload for event in session.events()]


@contextmanager
def _settings(folder: Path, text: str) -> Iterator[None]:
    """The user's settings are these, for what is opened meanwhile."""
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
