"""What the HUD adds to a model call of each host in this process, beside the host alone."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from time import perf_counter

from bench.figures import Figure
from hudkit.models.scripted_answers import says, uses
from hudkit.testing.host_conformance import LARGE_WINDOW, HostConformance

TITLE = "a model call of each in-process host, with the HUD and without it"
STEPS = 25
"""Model calls of a turn, each with a call of a tool that reads a small file; real clients, a loopback model."""
DRIVERS = {
    "session": ("agent", "test_loop_conforms", "TestSession"),
    "langchain": ("hosts/langchain", "test_langchain_conforms", "TestLangChain"),
    "pydantic-ai": ("hosts/pydantic_ai", "test_pydantic_ai_conforms", "TestPydanticAI"),
    "openai-agents": ("hosts/openai_agents", "test_openai_agents_conforms", "TestOpenAIAgents"),
}
"""Where each host's driver for the conformance suite is: folder and module below `tests`, and its class."""


def run() -> list[Figure]:
    """Ratios of whole turns, the best of three each; the note has milliseconds a call."""
    figures = []
    for name, driver in drivers():
        alone, with_hud = (min(_seconds(driver, on) for _ in range(3)) for on in (False, True))
        note = f"{1_000 * alone / STEPS:.1f} ms a call alone, {1_000 * (with_hud - alone) / STEPS:.1f} ms added"
        figures.append(Figure(f"{name}: a call with the HUD / a call without", with_hud / alone, None, note))
    return figures


def drivers() -> Iterator[tuple[str, HostConformance]]:
    """The hosts whose SDK is installed."""
    tests = Path(__file__).parent.parent / "tests"
    sys.path.insert(0, str(tests))  # what the drivers share with other tests
    for name, (folder, module, cls) in DRIVERS.items():
        sys.path.insert(0, str(tests / folder))
        with suppress(ImportError):
            yield name, getattr(import_module(module), cls)()


def _seconds(driver: HostConformance, with_hud: bool) -> float:
    """The time of a turn of so many steps, without opening and closing."""
    with (
        tempfile.TemporaryDirectory() as folder,
        driver._at(Path(folder) / "day", limit=LARGE_WINDOW) as (place, model),
        driver.open(place, "day", hud=with_hud) as talk,
    ):
        for n in range(STEPS):
            (place.project / f"{n}.txt").write_text("a text\n")
            model.play(uses(driver.call("read", path=f"{n}.txt"), text=f"step {n}"))
        model.play(says("done"))
        begin = perf_counter()
        talk.say("go")
        return perf_counter() - begin
