"""Makes docs/demo.svg, the picture of the README, from a run of `hudkit demo`: `python docs/make_picture.py`."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from hudkit.cli import main

PICTURE = Path(__file__).with_name("demo.svg")
COLUMNS = 100
SECTIONS = ("1", "4")
"""Which sections of the story are in the picture, whole: what a frame is, and what it costs."""

THEME = TerminalTheme(
    (24, 27, 33),
    (214, 218, 226),
    [
        (24, 27, 33),
        (240, 128, 118),
        (126, 200, 140),
        (229, 192, 123),
        (120, 170, 240),
        (198, 146, 233),
        (104, 196, 205),
        (148, 155, 168),
    ],
)

STYLES = (
    (r"^(hudkit: |\d\. ).*", "bold yellow"),
    (r"^  │", "blue"),
    (r"^  (in the system prompt|behind .*):$", "cyan"),
    (r"(?<=│ )#+ .*", "bold"),
    (r"\[hud \d+\]", "magenta"),
    (r"^  input  .*", "bold"),
    (r"^  in system  .*", "red"),
    (r"^  anchored  .*", "bold green"),
)
"""What is coloured, the first rule first."""

SVG = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>Output of NAME</title>
<style>
.{unique_id}-matrix {{
    font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
    font-size: {char_height}px;
    line-height: {line_height}px;
}}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""A picture that loads nothing from anywhere: fonts are what the reader has."""


CELL = 12.2
"""Width of a character in rich's SVG."""

RUN = re.compile(r'(<text [^>]*x=")([\d.]+)(" y="[\d.]+" textLength=")([\d.]+)("[^>]*>)([^<]*)</text>')


def demo_lines() -> list[str]:
    """What `hudkit demo` prints."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        assert main(["demo"]) == 0
    return printed.getvalue().splitlines()


def chosen(lines: list[str]) -> Iterator[str]:
    """The first line, and the chosen sections, each up to the empty line behind it."""
    yield lines[0]
    shown = False
    for line in lines:
        if re.match(r"\d\. ", line):
            shown = line[0] in SECTIONS
            if shown:
                yield ""
        elif not line:
            shown = False
        if shown:
            yield line


def picture(lines: list[str], styles: Sequence[tuple[str, str]] = STYLES, name: str = "hudkit demo") -> str:
    """The SVG of these lines, coloured by `styles` (pattern, style; the first rule first)."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), legacy_windows=False)
    for line in lines:
        text = Text(line, no_wrap=True, overflow="ignore")
        for pattern, style in reversed(styles):
            text.highlight_regex(pattern, style)
        console.print(text, soft_wrap=True)
    svg = console.export_svg(title=name, theme=THEME, code_format=SVG.replace("NAME", name), unique_id="demo")
    svg = RUN.sub(_unindented, svg)
    return "\n".join(line.rstrip() for line in svg.splitlines() if line.strip()) + "\n"


def _unindented(run: re.Match[str]) -> str:
    """A run of text that begins where its first visible character is: some readers drop spaces at its start."""
    start, x, middle, length, rest, text = run.groups()
    words = text.replace("&#160;", " ").lstrip()
    if not words:
        return ""
    by = (len(text.replace("&#160;", " ")) - len(words)) * CELL
    kept = words.replace(" ", "&#160;")
    return f"{start}{float(x) + by:.1f}{middle}{float(length) - by:.1f}{rest}{kept}</text>"


if __name__ == "__main__":
    PICTURE.write_text(picture(list(chosen(demo_lines()))), encoding="utf-8")
    print(f"wrote {PICTURE.name}")
