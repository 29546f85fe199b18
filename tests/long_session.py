"""A long session of a coding agent, as data: twelve turns and 111 model calls on a made-up billing service.

It is played by real OpenCode through the scripted model, and by `HostSession` alone. It reads large files, so that
its window fills to more than 100,000 tokens; the agent sets its task when the title is known, decides, notes, plans,
keeps todos, and has failing tests of which most are mended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hudkit.sections.state import HudState

MODULES = (
    "invoice", "exchange", "refunds", "proration", "taxes", "ledger", "customers", "plans", "coupons", "dunning",
    "statements", "webhooks", "payouts", "disputes", "credits", "reports", "archive", "audit",
)  # fmt: skip

TITLE = "Notes about billing"
"""What the host's model made of the first prompt."""

LINES = 170
"""Lines of a module: about 2,500 tokens."""


def source(module: str) -> str:
    """The text of a module."""
    line = "def {0}_{1}(amount: int, currency: str) -> Money:  # keeps cents of {0}"
    return "\n".join(line.format(module, number) for number in range(LINES)) + "\n"


class ToolUse(NamedTuple):
    """A call of a tool, by OpenCode's names; `output` and `exit` come back where no host runs it."""

    tool: str
    arguments: dict[str, object]
    output: str = ""
    exit: int = 0


class Turn(NamedTuple):
    """What the user says, and the agent's steps: the calls of each, then its answer."""

    prompt: str
    steps: Sequence[Sequence[ToolUse]]
    answer: str


def hud(operation: str, **arguments: str) -> ToolUse:
    return ToolUse("hud", {"tool": operation, "args": arguments})


def read(module: str) -> ToolUse:
    return ToolUse("read", {"filePath": f"billing/{module}.py"}, source(module))


def write(module: str, number: int) -> ToolUse:
    text = f"# {module}, version {number}\n" + source(module)[:600]
    return ToolUse(
        "write", {"filePath": f"billing/{module}_{number}.py", "content": text}, "Wrote file successfully."
    )


def run(command: str, output: str, exit: int = 0) -> ToolUse:
    return ToolUse("bash", {"command": command, "description": "run"}, output, exit)


def tests_of(module: str, failed: int) -> ToolUse:
    """A run of a module's tests; the command is one that any machine can run."""
    words = f"{module}: {failed} failed, 8 passed in 0.41s" if failed else f"{module}: 9 passed in 0.38s"
    return run(f"sh check.sh {module}", words, 1 if failed else 0)


def todos(done: int) -> ToolUse:
    """The host's todo list with so many of five done."""
    texts = (
        "Currency on every invoice", "Exchange snapshot per invoice", "Refunds in the paid currency",
        "Statements grouped by currency", "Migration of old invoices",
    )  # fmt: skip
    status = ["completed"] * done + ["in_progress"] + ["pending"] * 4
    listed = [{"content": text, "status": status[n], "priority": "high"} for n, text in enumerate(texts)]
    return ToolUse("todowrite", {"todos": listed}, "ok")


DECISIONS = (
    "Amounts are integers of the smallest unit of a currency",
    "Each invoice stores the exchange rate of its first day",
    "Refunds use the rate of the invoice and not the one of today",
    "Statements have one page for each currency",
    "Webhooks carry both amounts from version four on",
    "The migration runs by customer and can be repeated",
)
NOTES = (
    "The ledger rounds half to even in its totals",
    "Coupons are percentages only since the year of the move",
    "The table of plans has three rows that nobody owns",
    "Payouts are read by finance through a view named cash",
    "The archive keeps its files compressed with an old codec",
)
STEPS = ("Check rounding of refunds in yen", "Ask finance for rates before the move", "Write the note on the release")


def turns() -> list[Turn]:
    """The session's turns; each step is one model call, and so is each answer."""
    rules = {0: " Never change the folder legacy/.", 4: " Always use the fixtures of the finance team for tests."}
    session = []
    for number in range(12):
        first, second, third = (MODULES[(number * 2 + offset) % len(MODULES)] for offset in range(3))
        steps: list[list[ToolUse]] = [
            [read(first), run(f"grep -rn {first} billing | head -40", f"billing/{first}.py: {first}\n" * 60)],
            [read(second)],
            [run(f"sed -n 1,80p billing/{third}.py", source(third)[:5_000])],
            [write(first, number)],
            [tests_of(first, 1 if number % 3 == 0 else 0)],
            [write(second, number)],
            [tests_of(second, 0)],
        ]
        steps.append([run(f"wc -l billing/{first}.py billing/{second}.py", f"{LINES} {first}\n{LINES} {second}")])
        if number in (3, 6, 9):
            steps.append([run("git diff --stat", f" billing/{first}_{number}.py | 12 +\n" * 9)])
        _record(number, steps, first)
        prompt = f"Now part {number}: {first} and {second} have to know the currency." + rules.get(number, "")
        answer = f"Part {number} is done: {first} and {second} are ported and their tests are as they should be. " * 4
        session.append(Turn(prompt, steps, answer))
    return session


def _record(number: int, steps: list[list[ToolUse]], module: str) -> None:
    """Put what the agent records into the steps of a turn, most of it in the middle and at the end."""
    if number == 0:
        steps[0].append(hud("task.set", description="Make the billing service work with several currencies"))
        steps[1].append(todos(0))
        steps[2] += [hud("steps.add", description=text) for text in STEPS]
    if number % 2 == 0:
        steps[3].append(hud("decisions.record", summary=DECISIONS[number // 2], details=f"asked for by {module}"))
    if number % 2 == 1 and number < 10:
        steps[5].append(hud("notes.add", content=NOTES[number // 2]))
        steps[6].append(todos(number // 2))
    if number in (1, 4, 7, 10):
        steps[1].append(tests_of(MODULES[(number * 2 - 2) % len(MODULES)], 1 if number == 7 else 0))
    if number == 8:
        steps[4].append(hud("steps.complete", id=STEPS[0]))


CALLS = sum(len(turn.steps) + 1 for turn in turns())
"""Model calls of the session."""


def live_facts(state: HudState) -> list[str]:
    """The text of each live item of a state: what an agent must not lose."""
    return [
        state.task.description,
        *(rule.text for rule in state.constraints),
        *(blocker.description for blocker in state.blockers),
        *(decision.summary for decision in state.decisions),
        *(note.content for note in state.notes),
        *(step.description for step in state.steps.open),
        *(error.message for error in state.errors.open),
        *(todo.content for todo in state.todos.open),
    ]


def fact_share(state: HudState, layers: str, fresh: str) -> float:
    """The share of live facts that stand in a request's base, blocks and tail, of those that a base written now would
    hold (`fresh`). The first 60 characters of a text stand for it: the layers may cut the rest."""
    held = [fact[:60] for fact in live_facts(state) if fact and fact[:60] in fresh]
    return sum(fact in layers for fact in held) / len(held) if held else 1.0
