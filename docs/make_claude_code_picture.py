"""Makes docs/claude-code.svg, the picture of Claude Code, from a walk of its tour in the real program:
`python docs/make_claude_code_picture.py`."""

from __future__ import annotations

import re
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "tests"), str(ROOT / "tests" / "hosts" / "claude_code")]

from claude_host import Data  # noqa: E402
from claude_tour import TourStep, walk  # noqa: E402
from make_picture import COLUMNS, picture  # noqa: E402

from hudkit.cli.styles import CACHE_STYLES, HUD_STYLES, styled  # noqa: E402
from npm_programs import CLAUDE_CODE  # noqa: E402

PICTURE = ROOT / "docs" / "claude-code.svg"
FIRST = (
    f"# Claude Code {CLAUDE_CODE.version} with hudkit. Only the model's answers are scripted; output is shortened."
)
SHOWN = ("hudkit install", "claude -p", "hudkit show")

LEFT_OUT = re.compile(r"^⚠|^ +made .*/plugins/claude-code/(?!hudkit/hooks/register)")
"""Lines that say nothing of the HUD, and all but one of the plugin's files."""

PLACES = (
    (r"/tmp/hk\w+/", "~/.local/share/hudkit/"),
    (r"\S*/home/\.claude/", "~/.claude/"),
    (r"\b[0-9a-f]{8}-[0-9a-f-]{27}@\w+", "e0383711"),
)
"""What differs from machine to machine and run to run, and what stands for it."""

STYLES = (
    (r"^# Claude Code.*", "white italic"),
    (r"^\$ .*", "bold green"),
    (r"^(What must hold|The test passes).*", "bold"),
    *HUD_STYLES,
    *CACHE_STYLES,
)


def lines(steps: list[TourStep]) -> Iterator[str]:
    """The picture's lines, at most `COLUMNS` wide; what the HUD says is there once, behind the compaction."""
    yield FIRST
    compacted = False
    for step in steps:
        compacted |= "/compact" in step.command
        if not step.command.startswith(SHOWN) or (step.command.startswith("hudkit show") and not compacted):
            continue
        assert step.code == 0, step
        yield ""
        yield f"$ {step.command}"
        text = step.output.strip("\n")
        if step.command.endswith("--cache"):
            text = "\n\n".join(text.split("\n\n")[:2]) + "\n…"
        for pattern, stand_in in PLACES:
            text = re.sub(pattern, stand_in, text)
        for line in text.splitlines():
            if LEFT_OUT.match(line):
                continue
            yield from textwrap.wrap(line, COLUMNS, drop_whitespace=True) or [""]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="tour") as place, tempfile.TemporaryDirectory(prefix="hk") as folder:
        walked = list(walk(Path(place), Data(Path(folder))))
    PICTURE.write_text(
        picture([styled(line, STYLES) for line in lines(walked)], "Claude Code with hudkit"), encoding="utf-8"
    )
    print(f"wrote {PICTURE.name}")
