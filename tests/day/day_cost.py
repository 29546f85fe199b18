"""What the work of the day costs in a host with the HUD and without it, in the simulator of the provider's cache.

The same work twice: the turns of the day, a sub-agent and a turn that is taken back among them. Without the HUD a
command stands for each call of its tools, so that both days have the same calls of the model. What is about hudkit
alone, and compactions, which come at different places, are in neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from day_hosts import DAY_MARKS, HOSTS, hudkit_variables
from day_result import DayCost
from day_run import DayRun
from day_script import Day, DayCall, DayReply, DayStep
from msgspec.structs import replace

from hudkit.context.caching import ANTHROPIC, simulate_cache, usd_cost
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import Answer, says
from hudkit.testing.host_conformance import INSTRUCTIONS
from hudkit.testing.model_server import ScriptedModel
from hudkit.tokens import count_tokens, prices_of

_WORK = ("install", "talk", "sub-agent", "revert", "kill-daemon", "damage")
_STAND_IN = DayCall("run", {"command": "true"})


class WorkingDay(DayRun):
    """The work of a day, with the HUD or without it; nothing is looked at."""

    def __init__(
        self, name: str, home: Path, project: Path, model: ScriptedModel, day: Day, *, with_hud: bool
    ) -> None:
        work = tuple(step for step in day.steps if step.kind in _WORK and step.kind not in HOSTS[name]().missing)
        super().__init__(name, home, project, model, Day(day.files, work))
        self._with_hud = with_hud
        self.place = replace(self.place, instructions=INSTRUCTIONS)

    def requests(self) -> list[CapturedRequest]:
        """Do the work, and return the calls of the model."""
        self.run()
        return list(self.model.chats)

    def _do_install(self, _: DayStep) -> None:
        self.place.project.joinpath(".git").mkdir(exist_ok=True)
        (self.place.project / "AGENTS.md").write_text(INSTRUCTIONS)
        if self._with_hud:
            self.suite.install(self.place)
        self.place.folder.mkdir(parents=True, exist_ok=True)

    def _talk(self) -> Any:
        if self._conversation is None:
            opened = self.suite.open(self.place, "day", hud=self._with_hud)
            self._conversation = self._open.enter_context(opened)
        return self._conversation

    def _do_talk(self, step: DayStep) -> None:
        self._say(step)

    _do_kill_daemon = _do_damage = _do_talk

    def _do_sub_agent(self, step: DayStep) -> None:
        own, *rest = step.model
        self._say(replace(step, model=(own, *step.child, *rest)))

    def _do_revert(self, step: DayStep) -> None:
        self._say(step)
        if self.suite.reopen_before(self.place, "day", step.prompt):
            self._close()
        else:
            self.suite.take_back(self._talk())
        self.model.play(says("All right."))
        self._talk().say("How does it look now?")

    def _played(self, replies: Sequence[DayReply]) -> Iterator[Answer]:
        for reply in replies:
            own = tuple(call for call in reply.calls if self._with_hud or call.name not in ("hud", "memory"))
            calls = own or (_STAND_IN,) * bool(reply.calls)
            yield from super()._played((replace(reply, calls=calls, fill=False),))


def measure_cost(
    name: str, folder: Path, homes: Sequence[Path], day: Day, set_variables: Callable[[dict[str, str]], None]
) -> DayCost:
    """Return what the work costs with the HUD ÷ without it, by Anthropic's rules and prices. The projects are in
    `folder`, the days in the two `homes`."""
    spent, calls = [], []
    for with_hud, home in zip((True, False), homes, strict=True):
        project = folder / ("with" if with_hud else "without")
        project.mkdir()
        with ScriptedModel(marks=DAY_MARKS) as model:
            working = WorkingDay(name, home, project, model, day, with_hud=with_hud)
            set_variables(hudkit_variables(working.place))
            chats = working.requests()
        told = [chat for chat in chats if "Your HUD" in chat.text or "HUD of" in chat.text]
        assert bool(told) is with_hud, f"{len(told)} of {len(chats)} calls have a HUD"
        calls.append(len(chats))
        sent = [chat.request(count_tokens, timestamp=1_000 * number) for number, chat in enumerate(chats)]
        spent.append(usd_cost(simulate_cache(sent, ANTHROPIC), prices_of("claude-sonnet-4-5")))
    assert calls[0] == calls[1], f"not the same calls: {calls}"
    return DayCost(spent[0] / spent[1], calls[0])
