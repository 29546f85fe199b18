"""The tour of docs/opencode.md in the real OpenCode, with `hudkit inspect` open beside it in a browser."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from opencode_host import OpenCode
from opencode_tour import commands, walked

from hudkit.testing.model_server import ScriptedModel

BIN = Path(sys.prefix) / "bin"
WALKED = ("hudkit install", "opencode run")
"""The steps that are walked: the others print what the inspector shows."""


@contextmanager
def inspected_tour(
    host: OpenCode, model: ScriptedModel, new_page: Callable[[], Any], *install: str, patient: bool = True
) -> Iterator[Any]:
    """Walk the tour and give a page of the inspector, which was opened before the second piece of work and left on
    the newest call of the session. `install` are options of `hudkit install`."""
    env = host.env | {"PATH": os.pathsep.join((str(BIN), host.env["PATH"]))}
    steps = [step for step in commands() if step.startswith(WALKED)]
    steps = [" ".join((step, *install)) if step.startswith("hudkit install") else step for step in steps]
    walk = walked(host, model, steps, BIN, patient=patient)
    for step in walk:
        assert step.code == 0, step
        if step.command.startswith("opencode run"):
            break
    inspector = subprocess.Popen([BIN / "hudkit", "inspect"], env=env, stdout=subprocess.PIPE, text=True)
    try:
        assert inspector.stdout is not None
        page = new_page()
        page.goto(next(line.strip() for line in inspector.stdout if "?once=" in line))
        page.locator("#sessions tbody th a").first.click()
        page.locator(".timeline tbody th a").first.click()
        page.click("#newest")
        page.wait_for_selector(".badge.live")
        for step in walk:
            assert step.code == 0, step
        yield page
    finally:
        inspector.terminate()
        inspector.wait()
