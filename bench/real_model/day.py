"""A working day of a person with a real small model, in our own agent: `python -m bench.real_model.day`.

The person's words are fixed, what the model does with them is its own. After each step stands what the model called
and how that was answered, and whether what must be true whatever the model does is: what the person said stands, what
was taken back does not, and a compaction and a new process change nothing of it. Of the model it says what it did of
what it was asked to.

Nothing helps the model to make a call: small ones write calls as text, which is none. With `large` it is the larger
one.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from bench.real_model.server import model_server
from bench.real_model.weights import LARGE, SMALL
from hudkit import Hud
from hudkit.agent import AgentDefinition, AgentLoop, LoopOptions, LoopSettings, PermissionRule, hud_plugin
from hudkit.agent.hooks import ToolExecuteAfter, ToolOutput
from hudkit.models import open_model
from hudkit.sections.state import HudState
from hudkit.tokens import Window

_CONTEXT, _MOST = 16_384, 200
_STEPS = 5
"""Calls of the model in a turn."""

_PROMPT = "You work on the user's task step by step, through tools. When a step is done, say so in one sentence."
_FILES = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "shop.py": (
        "from calc import add\n\n\ndef total(rows):\n    s = 0\n    for n, p in rows:\n        s = add(s, n * p)\n"
        "    return s\n"
    ),
    "test_shop.py": (
        "import unittest\nfrom shop import total\n\n\nclass Shop(unittest.TestCase):\n    def test_total(self):\n"
        "        self.assertEqual(total([(2, 3), (1, 4)]), 10)\n"
    ),
}


class Step(NamedTuple):
    """What the person says, or does (`undo`, `compact`, `restart`), and what the model would do if it followed."""

    words: str
    wanted: str = ""
    did: Callable[[HudState, Path, str], bool] = lambda _state, _project, _answer: True


DAY = (
    Step(
        "Make the shop's total right. Never change test_shop.py. I prefer short functions.",
        "records the task",
        lambda state, _project, _answer: bool(state.task.description),
    ),
    Step(
        "Record as a decision with the tool hud: we use integers only, because sums of floats drift.",
        "records the decision",
        lambda state, _project, _answer: any("integer" in each.summary.lower() for each in state.decisions),
    ),
    Step(
        "Note down two steps with the tool hud: mend add() in calc.py, run the test.",
        "records the steps",
        lambda state, _project, _answer: len(state.steps) >= 2,
    ),
    Step(
        "Now mend add() in calc.py: it subtracts, and it must add.",
        "mends calc.py",
        lambda _state, project, _answer: "a + b" in (project / "calc.py").read_text("utf-8"),
    ),
    Step("Rewrite all of it in Rust. Never use Python again."),
    Step("undo"),
    Step("compact"),
    Step(
        "Which file may you never change? Answer in one sentence.",
        "answers it",
        lambda _state, _project, answer: "test_shop" in answer,
    ),
    Step("restart"),
    Step(
        "With what kind of numbers do we work, and why? Answer in one sentence.",
        "answers it",
        lambda _state, _project, answer: "integer" in answer.lower() and "drift" in answer.lower(),
    ),
)


class RealDay:
    """A day in one folder. Afterwards `did` tells of each thing that the model was asked to whether it did it, and
    `wrong` has what was not as it must be."""

    def __init__(self, folder: Path, address: str, name: str) -> None:
        self._address, self._name = address, name
        self.project = folder / "project"
        self.log = folder / "data" / "hudkit.db"
        self._session = ""
        self.calls: list[str] = []
        self.did: list[bool] = []
        self.wrong: list[str] = []

    async def run(self) -> None:
        """Play the day, and print each step."""
        for path in (self.project, self.log.parent):
            path.mkdir(parents=True)
        for name, text in _FILES.items():
            (self.project / name).write_text(text)
        loop = await self._open()
        try:
            for step in DAY:
                began, self.calls, answer = perf_counter(), [], ""
                before = self.state()
                if step.words == "undo":
                    await loop.undo()
                elif step.words == "compact":
                    freed = await loop.compact()
                    self.calls = [] if freed else ["nothing was compacted"]
                elif step.words == "restart":
                    await loop.close()
                    loop = await self._open()
                else:
                    ended = await loop.prompt(step.words)
                    answer = f"{ended.reason}: {ended.text}"
                self._tell(step, answer, before, perf_counter() - began)
        finally:
            await loop.close()

    async def _open(self) -> AgentLoop:
        model = open_model(
            f"openai-chat:{self._name}",
            key="none",
            base_url=f"{self._address}/v1",
            window=Window(_CONTEXT, _MOST, None, "host"),
        )

        def note(call: ToolExecuteAfter, output: ToolOutput) -> None:
            self.calls.append(f"{call.tool} {str(dict(call.arguments))[:90]} -> {output.text[:90]!r}")

        loop = await AgentLoop.open(
            self.project,
            model,
            data=self.log.parent,
            session=self._session,
            options=LoopOptions(
                agent="worker",
                agents=[AgentDefinition("worker", prompt=_PROMPT, temperature=0.0, tools=_TOOLS)],
                plugins=[("hud", hud_plugin(self.log)), ("calls", {"tool_execute_after": note})],
                permissions=[PermissionRule("*", "*", "allow")],
                settings=LoopSettings(steps=_STEPS, max_output=_MOST, retries=0, summaries=True, record=False),
                hook_seconds=120.0,
            ),
        )
        self._session = loop.id
        return loop

    def state(self) -> HudState:
        """The session's state, from the log."""
        with Hud.open(self.log) as hud:
            (key,) = [key for key in hud.sessions() if self._session and self._session in key] or [""]
            return hud.session(key or "none").state

    def _tell(self, step: Step, answer: str, before: HudState, seconds: float) -> None:
        state = self.state()
        print(f"\n{step.words}  ({seconds:.0f} s)")
        for call in self.calls:
            print(f"    {call}")
        if answer:
            print(f"    {answer[:300]!r}")
        if step.wanted:
            self.did.append(step.did(state, self.project, answer))
            print(f"    {'' if self.did[-1] else 'NOT '}{step.wanted}")
        self.wrong += [f"{step.words}: {what}" for what in _wrong(step, state, before)]


_TOOLS = frozenset({"read", "write", "edit", "bash", "hud", "memory"})


def _wrong(step: Step, state: HudState, before: HudState) -> list[str]:
    """What is not as it must be, whatever the model does."""
    rules = " ".join(rule.text for rule in state.constraints)
    wrong = []
    if "test_shop.py" not in rules:
        wrong.append("the user's rule does not stand")
    if not any("short functions" in each.text for each in state.preferences):
        wrong.append("the user's preference does not stand")
    if step.words != DAY[4].words and "Never use Python" in rules:
        wrong.append("a rule that was taken back stands")
    if step.words in ("compact", "restart") and _words(state) != _words(before):
        wrong.append("it changed what stands")
    return wrong


def _words(state: HudState) -> list[list[str]]:
    return [
        [state.task.description],
        [rule.text for rule in state.constraints],
        [each.text for each in state.preferences],
        [each.summary for each in state.decisions],
        [each.description for each in state.steps],
        [each.content for each in state.notes],
    ]


def main(arguments: list[str]) -> int:
    """Play the day with the smaller model, or with `large` the larger one; return 1 where something is not as it must
    be."""
    weights = LARGE if "large" in arguments else SMALL
    with tempfile.TemporaryDirectory(prefix="day-") as folder, model_server(weights, _CONTEXT) as server:
        day = RealDay(Path(folder), server.address, weights.name.partition(" ")[0].lower())
        asyncio.run(day.run())
    print(f"\n{weights.name}: did {sum(day.did)} of {len(day.did)} that it was asked to")
    print("\n".join(day.wrong) or "What must be true is, after every step.")
    return 1 if day.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
