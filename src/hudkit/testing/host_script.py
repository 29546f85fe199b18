"""The lines of the host conformance suite: places, the shop's task, a coding day, as a scripted model plays them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from hudkit.context.caching import CallCost
from hudkit.testing.replies import Call, Reply, says, uses

LIMIT = (32_000, 4_000)
"""The window of the model, and the most that it answers, in tokens."""
ROOMY = (400_000, 8_000)

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
FULL = 28_500
"""Tokens in use at which the window of `LIMIT` is full."""


class Place(msgspec.Struct, frozen=True):
    """Where a test happens: the agent's project, the HUD's log, a folder for what the host keeps, the model's
    address (both shapes are below its `/v1`), its window and most output in tokens, and what the agent is told
    of the project where its host reads no `AGENTS.md` there."""

    project: Path
    log: Path
    folder: Path
    url: str
    limit: tuple[int, int] = LIMIT
    instructions: str = "Work in the project through your tools."


class Talk(Protocol):
    """A conversation with the host's agent."""

    @property
    def id(self) -> str:
        """The host's id of the session."""
        ...

    def say(self, text: str) -> str:
        """Send a user's message; the agent's last words. Raises what the host raises."""
        ...


Tool = Callable[..., Call]
"""A call of one of the agent's tools, by what it does: `HostConformance.call`."""


def hud(operation: str, **args: Any) -> Call:
    return Call("hud", {"tool": operation, "args": args})


def filled(reply: Reply) -> Reply:
    return msgspec.structs.replace(reply, usage=CallCost(0, 0, FULL, 50))


def lay_out(project: Path) -> None:
    (project / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (project / "test_shop.py").write_text(TESTS)


def part(n: int) -> str:
    return "".join(f"line {n}.{m}: {'x' * 40}\n" for m in range(110))


TEST = f"{sys.executable} -B -m unittest -q test_shop"
SUM = "s = 0\n    for n, p in rows:\n        s = add(s, n * p)\n    return s"
SHOP = f"from calc import add\n\n\ndef total(rows):\n    {SUM}\n"
TESTS = """import unittest
from shop import total


class Shop(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([(2, 3), (1, 4)]), 10)
"""


def task(call: Tool, path: Callable[[str], str]) -> Iterator[Reply]:
    """The model's part of the shop's task: three of its responses leave the window full."""
    calc, shop = path("calc.py"), path("shop.py")
    yield uses(hud("task.set", description=TASK), call("read", path=calc))
    yield uses(hud("decisions.record", summary=DECISION))
    yield uses(hud("notes.add", content=NOTE))
    yield filled(uses(call("run", command=TEST), text="The test fails. " + "thinking " * 300))
    yield uses(call("write", path=shop, content=SHOP.replace(SUM, "return 0")))
    yield filled(uses(call("run", command=TEST), text="Still red. " + "thinking " * 300))
    yield uses(call("edit", path=calc, old="a - b", new="a + b"))
    yield uses(call("read", path=shop))
    yield filled(uses(call("edit", path=shop, old="return 0", new=SUM)))
    yield uses(call("run", command=TEST))
    yield says("The total is right now.")


def turn(call: Tool, path: Callable[[str], str], number: int, *, with_hud: bool) -> Sequence[Reply]:
    """A turn of a coding day; without the HUD, a command stands for what the agent would note down."""
    note = (
        hud("task.set", description="Port the report to the new API")
        if number == 0
        else hud("decisions.record", summary=f"Column {number} stays where it is, finance reads it by position")
    )
    return (
        uses(call("read", path=path(f"part_{number % 4}.txt")), text=f"Reading part {number}."),
        uses(call("run", command=f"echo checking {number} && seq 1 60")),
        uses(note if with_hud else call("run", command=f"echo noted {number}")),
        uses(call("write", path=path(f"out_{number}.txt"), content=f"row {number}\n")),
        uses(call("run", command=f"echo test {number}; exit {number % 3 == 1:d}")),
        says(f"Turn {number} is done: the part is ported and checked. " * 8),
    )
