"""What the HUD costs in real OpenCode: the same session with and without it, priced on the captured requests."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hud_plugin import written
from opencode_host import Hosts

from hudkit.caching import ANTHROPIC, OPENAI, Request, cost, simulate, totals
from hudkit.daemon import client
from hudkit.testing.captured import Captured
from hudkit.testing.model import ScriptedModel
from hudkit.testing.replies import Call, Reply, says, uses
from hudkit.tokens import count, prices_of

pytestmark = pytest.mark.slow

STEPS = 5
"""Tool steps of a turn; a turn has one call more, the answer."""


LINES = 110
"""Lines of a file that is read: with them a session grows by about 430 tokens a call, as the recorded day does."""


@pytest.fixture
def plugin() -> Iterator[Path]:
    place = Path(tempfile.mkdtemp(prefix="hk"))
    yield written(place)
    client.stop(place / "run" / "d.sock")
    shutil.rmtree(place, ignore_errors=True)


def hud(operation: str, **args: str) -> Call:
    return Call("hud", {"tool": operation, "args": args})


def day(project: Path, turns: int, with_hud: bool) -> Iterator[Reply]:
    """Turns of a coding session: reads, commands that succeed and fail, an edit, and what the agent notes down."""
    for turn in range(turns):
        notes = (
            [hud("task.set", description="Port the report to the new API")]
            if turn == 0
            else [hud("decisions.record", summary=f"Column {turn} stays where it is, finance reads it by position")]
        )
        yield uses(Call("read", {"filePath": str(project / f"part_{turn % 4}.txt")}), text=f"Reading part {turn}.")
        yield uses(Call("bash", {"command": f"echo checking {turn} && seq 1 60", "description": "check"}))
        if with_hud:
            yield uses(*notes)
        else:
            yield uses(Call("bash", {"command": f"echo noted {turn}", "description": "note"}))
        yield uses(
            Call(
                "edit", {"filePath": str(project / f"out_{turn}.txt"), "oldString": "", "newString": f"row {turn}\n"}
            )
        )
        yield uses(Call("bash", {"command": f"echo test {turn}; exit {turn % 3 == 1:d}", "description": "test"}))
        yield says(f"Turn {turn} is done: the part is ported and checked. " * 8)


def requests(chats: list[Captured]) -> list[Request]:
    return [chat.request(count, at=1000 * n) for n, chat in enumerate(chats)]


TURNS, MOST = 7, 1.08
"""42 calls, and what they may cost against none; the aim is 1.05 (docs/benchmarks.md says where it stands)."""


def test_what_is_reused_is_never_less_and_the_hud_costs_little(
    opencode: Hosts, model: ScriptedModel, plugin: Path
) -> None:
    turns, most = TURNS, MOST
    files = {f"part_{n}.txt": "".join(f"line {n}.{m}: {'x' * 40}\n" for m in range(LINES)) for n in range(4)}
    told: dict[bool, list[Request]] = {}
    for with_hud in (False, True):
        host = opencode(shape="anthropic", plugins=[plugin] if with_hud else [], files=files, limit=(400_000, 8_000))
        host.serve()
        session = host.create("a day")
        model.requests.clear()
        model.play(*day(host.project, turns, with_hud))
        for turn in range(turns):
            host.prompt(session, f"Now part {turn}, please; keep the columns as they are.")
        chats = model.chats
        assert len(chats) == turns * (STEPS + 1)
        assert all("[hud " in chat.text or "HUD" in chat.text for chat in chats) is with_hud
        told[with_hud] = requests(chats)
        host.close()
    prices = prices_of("claude-sonnet-4-5")
    for policy in (ANTHROPIC, OPENAI):
        without, with_it = (simulate(told[key], policy) for key in (False, True))
        ratio = cost(with_it, prices) / cost(without, prices)
        hits = f"{totals(without).hit_ratio:.3f} -> {totals(with_it).hit_ratio:.3f}"
        print(f"{policy.name}: {turns * (STEPS + 1)} calls, x {ratio:.3f}, hits {hits}")
        assert ratio <= most, policy
        reused = [(a.read, b.read) for a, b in zip(without, with_it, strict=True)]
        assert all(b >= a for a, b in reused[1:]), reused
