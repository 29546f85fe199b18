"""Makes docs/codex.svg, the picture of Codex with hudkit, from a walk of its tour in the real program:
`python docs/make_codex_picture.py`."""

from __future__ import annotations

import re
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "tests"), str(ROOT / "tests" / "hosts" / "codex")]

from codex_host import Codex, end_daemon  # noqa: E402
from codex_tour import COMPACT, TRUST, Step, commands, walked  # noqa: E402
from make_picture import COLUMNS, picture  # noqa: E402

from hudkit.cli.styles import HUD_STYLES, styled  # noqa: E402
from hudkit.testing.model_server import ScriptedModel  # noqa: E402
from npm_programs import CODEX  # noqa: E402

PICTURE = ROOT / "docs" / "codex.svg"
NAME = "Codex with hudkit"
PROJECT = "slugs"

FIRST = f"# Codex {CODEX.version} with hudkit. Only the model's answers are scripted; output is shortened."
IN_CODEX = {
    TRUST: "# In Codex: /hooks, where you trust what hudkit may run.",
    COMPACT: "# In Codex: /compact. All of the conversation that is left:",
}
SEEN = "# What the agent still knows:"

SHOWN = ("hudkit install", TRUST, "codex exec", COMPACT, "hudkit show")
"""Which steps are in the picture, by their beginnings. `hudkit show` is there once, behind the compaction."""

LEFT_OUT = re.compile(
    r"^(Reading additional|OpenAI Codex|-{8}|workdir|model:|provider|approval|sandbox|reasoning|session id|warning|"
    r"tokens used|[\d,]+$|user$|codex$|exec$|mcp: .* started|hook: |patch: |diff --git|index |--- |\+\+\+ |@@ | def |"
    r"~/slugs/)"
)
"""Lines of Codex that say less than they take."""

PLACES = (
    (r"\S*/user/\.codex/", "~/.codex/"),
    (rf"\S*/{PROJECT}\b", f"~/{PROJECT}"),
    (r"/bin/bash -lc ", ""),
    (r"\b[0-9a-f]{8}-[0-9a-f-]{27}(@\w+)?", "01a21426"),
)
"""What differs from machine to machine and run to run, and what stands for it."""

STYLES = (
    (r"^# (Codex|In Codex|What the agent).*", "white italic"),
    (r"^\$ .*", "bold green"),
    (r"^(FAILED).*", "red"),
    (r"^-    return.*", "red"),
    (r"^\+    return.*", "green"),
    (r"^(What must hold|The test passes).*", "bold"),
    *HUD_STYLES,
)
"""What is coloured, the first rule first: what Codex prints, and hudkit's output as on a terminal."""


def steps() -> list[Step]:
    """The tour's steps, walked in a Codex that is made for it, with the `hudkit` of this environment."""
    with tempfile.TemporaryDirectory(prefix="hk") as place, ScriptedModel() as model:
        folder = Path(place)
        host = Codex(folder, model.url, project=folder / PROJECT, env={"HUDKIT_HOOK_PATIENCE": "30"})
        try:
            return list(walked(host, model, commands(), Path(sys.prefix) / "bin"))
        finally:
            end_daemon(host.socket)


def lines(walk: list[Step]) -> Iterator[str]:
    """The picture's lines, at most `COLUMNS` wide."""
    yield FIRST
    compacted = False
    for step in walk:
        compacted |= step.command == COMPACT
        if not step.command.startswith(SHOWN) or (step.command.startswith("hudkit show") and not compacted):
            continue
        assert step.code == 0, step
        yield ""
        if step.command in IN_CODEX:
            yield IN_CODEX[step.command]
            yield f"  {step.output}"
            continue
        if step.command == "hudkit show":
            yield SEEN
        yield f"$ {step.command}"
        yield from _printed(step)


def _printed(step: Step) -> Iterator[str]:
    """What a step printed: paths as a user would see them, and no empty lines where Codex talks."""
    text = step.output.strip("\n")
    for pattern, stand_in in PLACES:
        text = re.sub(pattern, stand_in, text)
    talk = step.command.startswith("codex")
    before = ""
    for line in text.splitlines():
        if (talk and (not line.strip() or LEFT_OUT.match(line))) or line == before:
            continue
        before = line
        yield from textwrap.wrap(line, COLUMNS, drop_whitespace=True) or [""]


if __name__ == "__main__":
    PICTURE.write_text(picture([styled(line, STYLES) for line in lines(steps())], NAME), encoding="utf-8")
    print(f"wrote {PICTURE.name}")
