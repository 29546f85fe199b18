"""Makes docs/demo.svg, the picture of the README: `python docs/make_picture.py`.

It is what `hudkit demo` prints on a terminal, colours included.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from terminals import on_terminal

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


def demo_lines() -> list[Text]:
    """What `hudkit demo` prints on a terminal."""
    env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    printed = on_terminal("demo", env=env | {"TERM": "xterm-256color"}, columns=COLUMNS)
    return [Text.from_ansi(line) for line in printed.splitlines()]


def chosen(lines: Sequence[Text]) -> Iterator[Text]:
    """The first line, and the chosen sections, each up to the empty line behind it."""
    yield lines[0]
    shown = False
    for line in lines:
        if re.match(r"\d\. ", line.plain):
            shown = line.plain[0] in SECTIONS
            if shown:
                yield Text()
        elif not line:
            shown = False
        if shown:
            yield line


def picture(lines: Sequence[Text], name: str = "hudkit demo") -> str:
    """The SVG of these lines in their colours."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), legacy_windows=False)
    for line in lines:
        line = line.copy()
        line.no_wrap, line.overflow = True, "ignore"
        console.print(line, soft_wrap=True)
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
