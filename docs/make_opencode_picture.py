"""Makes docs/opencode.svg, the README's picture of OpenCode, from a walk of its tour in the real program:
`python docs/make_opencode_picture.py`."""

from __future__ import annotations

import re
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "tests"), str(ROOT / "tests" / "hosts" / "opencode")]

from make_picture import COLUMNS, picture  # noqa: E402
from opencode_host import OpenCode  # noqa: E402
from opencode_tour import FILES, LIMIT, Step, commands, walked  # noqa: E402

from hudkit.cli.styles import CACHE_STYLES, HUD_STYLES, styled  # noqa: E402
from hudkit.testing.model_server import ScriptedModel  # noqa: E402
from npm_programs import OPENCODE  # noqa: E402

PICTURE = ROOT / "docs" / "opencode.svg"
NAME = "OpenCode with hudkit"
PROJECT = "slugs"

FIRST = f"# OpenCode {OPENCODE.version} with hudkit. Only the model's answers are scripted; output is shortened."
COMPACTED = "# In OpenCode: /compact. All of the conversation that is left:"
SEEN = "# What the agent still knows, in each of its calls:"

SHOWN = ("hudkit install", "opencode run", "/compact", "hudkit show")
"""Which steps are in the picture, by their beginnings. `hudkit show` is there once, behind the compaction."""

LEFT_OUT = re.compile(r"^(Index: |=+$|--- |\+\+\+ |@@ | def )")
"""Lines of a diff that say less than they take."""

PLACES = (
    (r"\S*/data/hudkit/", "~/.local/share/hudkit/"),
    (r"\S*/config/(opencode|hudkit)/", r"~/.config/\1/"),
    (rf"\S*/{PROJECT}\b", f"~/{PROJECT}"),
    (r"\bses_\w+@\w+", "ses_e0383711"),
)
"""What differs from machine to machine and run to run, and what stands for it."""

STYLES = (
    (r"^# (OpenCode|In OpenCode|What the agent).*", "white italic"),
    (r"^\$ .*", "bold green"),
    (r"^⚙ hud .*", "magenta"),
    (r"^(→|←) .*", "cyan"),
    (r"^(FAILED).*", "red"),
    (r"^-    return.*", "red"),
    (r"^\+    return.*", "green"),
    (r"^  A failing test.*", "red"),
    (r"^(What must hold|The test passes).*", "bold"),
    (r"^> build.*|^…", "white"),
    *HUD_STYLES,
    *CACHE_STYLES,
)
"""What is coloured, the first rule first: what OpenCode prints, and hudkit's output as on a terminal."""


def steps() -> list[Step]:
    """The tour's steps, walked in an OpenCode that is made for it, with the `hudkit` of this environment."""
    with tempfile.TemporaryDirectory(prefix="hk") as place, ScriptedModel() as model:
        options = {"shape": "anthropic", "limit": LIMIT, "files": FILES, "project": PROJECT}
        with OpenCode(Path(place), model.url, **options) as host:  # type: ignore[arg-type]
            return list(walked(host, model, commands(), Path(sys.prefix) / "bin", patient=False))


def lines(walk: list[Step]) -> Iterator[str]:
    """The picture's lines, at most `COLUMNS` wide."""
    yield FIRST
    compacted = False
    for step in walk:
        compacted |= step.command == "/compact"
        if not step.command.startswith(SHOWN) or (step.command.startswith("hudkit show") and not compacted):
            continue
        assert step.code == 0, step
        yield ""
        if step.command == "/compact":
            yield COMPACTED
            yield f"  {step.output}"
            continue
        if step.command == "hudkit show":
            yield SEEN
        yield f"$ {step.command}"
        yield from _printed(step)


def _printed(step: Step) -> Iterator[str]:
    """What a step printed: paths as a user would see them, no empty lines where OpenCode talks, and of the account
    of the cache the table."""
    text = step.output.strip("\n")
    if step.command.endswith("--cache"):
        text = "\n\n".join(text.split("\n\n")[:2]) + "\n…"
    for pattern, stand_in in PLACES:
        text = re.sub(pattern, stand_in, text)
    talk = step.command.startswith("opencode")
    for line in text.splitlines():
        if talk and (not line.strip() or LEFT_OUT.match(line)):
            continue
        # OpenCode shows the agent's commands as a prompt of their own
        line = re.sub(r"^\$ ", "⚙ bash ", line) if talk else line
        yield from textwrap.wrap(line, COLUMNS, drop_whitespace=True) or [""]


if __name__ == "__main__":
    PICTURE.write_text(picture([styled(line, STYLES) for line in lines(steps())], NAME), encoding="utf-8")
    print(f"wrote {PICTURE.name}")
