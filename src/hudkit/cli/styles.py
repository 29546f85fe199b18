"""How the output of commands looks on a terminal: colours, tables as wide as it, markdown rendered.

Where the output is piped, or the terminal is a dumb one, lines are printed as they are: other programs read them.
With `NO_COLOR` there are no colours. The styles of a command are rules: a pattern, and how what it matches looks.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:  # imported where there is a terminal: what is piped starts without it
    from rich.text import Text

Styles: TypeAlias = Sequence[tuple[str, str]]
"""Patterns, each with the style of what it matches; where two match the same text, the first one counts."""

HUD_STYLES: Styles = (
    (r"^#+ .*", "bold yellow"),
    (r"\[hud \w+\]", "magenta"),
    (r"^Context: .*", "blue"),
    (r"^\S.*: [\d.]+ % in use, .*", "bold"),
    (r"^\(left out: .*", "dim"),
    (r"^-- .*", "dim"),
)
"""A frame as the agent has it."""

STORY_STYLES: Styles = (
    (r"^(hudkit: |\d\. |What this |Next$).*", "bold yellow"),
    (r"^  │", "blue"),
    (r"^  (in the system prompt|behind .*):$", "cyan"),
    (r"(?<=│ )#+ .*", "bold"),
    (r"\[hud \d+\]", "magenta"),
    (r"^  input  .*", "bold"),
    (r"^  in system  .*", "red"),
    (r"^  anchored  .*", "bold green"),
    (r"^  \S*(hudkit|python3?) \S+", "green"),
)
"""The story of `hudkit demo`, and the report of `hudkit replay`."""

CACHE_STYLES: Styles = (
    (r"^(whole request|HUD, base) .*", "bold"),
    (r"^\S.*: [\d,]+ calls?, [\d,]+ bases? written", "bold yellow"),
    (r"^  call \d+, .*", "cyan"),
    (r"^The prefix broke .*", "yellow"),
    (r"\$\d+\.\d+", "bold"),
)
"""`hudkit show --cache`."""

DOCTOR_STYLES: Styles = (
    (r"^PASS\b", "green"),
    (r"^WARN\b", "bold yellow"),
    (r"^FAIL\b", "bold red"),
    (r"^DONE\b", "bold cyan"),
    (r"(?<=^.{6})\S+( \S+)*(?=  )", "bold"),
    (r"^\d+ pass, .*", "bold"),
)

LOG_STYLES: Styles = (
    (r"^ *\d+  [\d-]+ [\d:]+(?=  )", "dim"),
    (r"(?<=:\d\d  )(user|host|system|tool|agent)\b", "cyan"),
    (r"(?<=:\d\d  .{7})[a-z_-]+\.[a-z_-]+", "bold"),
)

REVIEW_STYLES: Styles = (
    (r"^\S.*: (\d+|nothing) heard, not reviewed$", "bold yellow"),
    (r"^\(\d+/\d+\)$", "dim"),
    (r"^\S+  (?=(rule|preference|decision|note): )", "cyan"),
    (r"^    (may be over|but): .*", "yellow"),
    (r"^    .*", "dim"),
    (r"`[^`]+`", "cyan"),
)
"""`hudkit review`."""

COMPACTION_STYLES: Styles = (
    (r"^- LOST .*", "bold red"),
    (r"^- BACK .*", "yellow"),
    (r"^(Compaction|Receipt|HUD:|Summary).*", "bold yellow"),
    (r"^tokens, estimated.*", "bold"),
    (r"^all  .*", "bold"),
    (r"^- .*", "red"),
    (r"^\+ .*", "green"),
    (r"`[^`]+`", "cyan"),
)

TOML_STYLES: Styles = (
    (r"#.*$", "dim"),
    (r"^\[[^\]]+\]", "bold yellow"),
    (r"^[\w.]+(?= = )", "cyan"),
    (r"(?<== )\"[^\"]*\"", "green"),
)
"""`hudkit config`."""

FINDING_STYLES: Styles = ((r"^BAD\b", "bold red"), (r"^OLD\b", "bold yellow"), (r"^fine\b", "green"))
"""`hudkit config check`."""

DIFF_STYLES: Styles = (
    (r"^(\+\+\+|---) .*", "bold"),
    (r"^\+.*", "green"),
    (r"^-.*", "red"),
    (r"^@@ .*", "cyan"),
)
"""A unified diff."""

WORLD_STYLES: Styles = (
    (r"^id  .*", "bold"),
    (r"^\d\d:\d\d:\d\d(?=  )|^-- .*", "dim"),
    (r"(?<=^\d\d:\d\d:\d\d  )\[[^\]]*\] #\d+ [^:]+:", "cyan"),
    (r"^\[\d+\] #\d+ [^:]+:", "cyan"),
    (r"^room \d+, [^:]+:", "magenta"),
    (r"^[^:]+: (paused|open).*", "bold yellow"),
    (r"\$\d+\.\d+", "bold"),
)
"""`hudkit rooms show` and `rooms run`."""

EXPERIMENT_STYLES: Styles = (
    (r"^ {4,}.*", "bold"),
    (r"^[a-z][\w: ]*?(?=  )", "cyan"),
    (r"\$[\d,]+\.\d+", "bold"),
)
"""`hudkit rooms experiment`."""


def styled(line: str, styles: Styles) -> Text:
    """Return a line in the colours of these rules."""
    from rich.text import Text

    text = Text(line)
    for pattern, style in reversed(styles):
        text.highlight_regex(re.compile(pattern), style)
    return text


def print_lines(lines: Iterable[str], styles: Styles = (), *, long: Literal["wrap", "cut", "keep"] = "wrap") -> None:
    """Print lines; on a terminal coloured, and broken between words where they are too long, cut, or kept."""
    if not on_terminal():
        for line in lines:
            print(line)
        return
    from hudkit.agent.terminal.changed_lines import clip_code
    from hudkit.agent.terminal.screen import Screen, wrap_styled

    screen = Screen(sys.stdout)
    for line in lines:
        for part in line.split("\n"):
            if long == "wrap":
                screen.put(*wrap_styled(styled(part, styles), screen.columns))
            else:
                screen.put(styled(clip_code(part, screen.columns) if long == "cut" else part, styles))


def print_markdown(text: str, styles: Styles = ()) -> None:
    """Print markdown: rendered on a terminal, as it is elsewhere. `styles` are for what is no markdown."""
    if not on_terminal():
        print(text, end="" if text.endswith("\n") else "\n")
        return
    from hudkit.agent.terminal.markdown import markdown_lines
    from hudkit.agent.terminal.screen import Screen

    screen = Screen(sys.stdout)
    for line in markdown_lines(text.strip("\n"), screen.columns):
        for pattern, style in reversed(styles):
            line.highlight_regex(re.compile(pattern), style)
        screen.put(line)


def print_code(text: str, language: str) -> None:
    """Print code: in the colours of its language on a terminal, as it is elsewhere; returns nothing."""
    if not on_terminal():
        print(text)
        return
    from hudkit.agent.terminal.markdown import highlighted_code
    from hudkit.agent.terminal.screen import Screen, wrap_styled

    screen = Screen(sys.stdout)
    for line in highlighted_code(text, language):
        screen.put(*wrap_styled(line, screen.columns))


def put_lines(make: Callable[[int], Iterable[Text]]) -> None:
    """Print on a terminal the lines that `make` returns for its width; return nothing."""
    from hudkit.agent.terminal.screen import Screen

    screen = Screen(sys.stdout)
    screen.put(*make(screen.columns))


def on_terminal() -> bool:
    """Return whether a person looks at the output: then tables may be as wide as the terminal, and have colours."""
    if not sys.stdout.isatty():
        return False
    from hudkit.agent.terminal.screen import Screen

    return Screen(sys.stdout).terminal


def output_columns(piped: int) -> int:
    """Return the cells that a line of the output may have; `piped` where it is no terminal."""
    if not on_terminal():
        return piped
    from hudkit.agent.terminal.screen import Screen

    return Screen(sys.stdout).columns


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]], wide: int, styles: Sequence[str] = ()) -> None:
    """Print a table on a terminal, a row a line; return nothing.

    The column number `wide` takes what the others leave, and is cut there; a column of numbers stands at the right.
    `styles` are those of the columns.
    """
    from rich.cells import cell_len
    from rich.text import Text

    from hudkit.agent.terminal.screen import Screen, clip, one_line

    screen = Screen(sys.stdout)
    cells = [[one_line(cell) for cell in row] for row in rows]
    every = [list(head), *cells]
    widths = [max(cell_len(row[column]) for row in every) for column in range(len(head))]
    room = screen.columns - 2 * (len(head) - 1) - sum(widths) + widths[wide]
    widths[wide] = max(8, min(widths[wide], room))
    numeric = [
        bool(cells) and all(re.fullmatch(r"[\d,.%–-]*", row[column]) for row in cells) for column in range(len(head))
    ]
    for number, row in enumerate(every):
        line = Text()
        for column, cell in enumerate(row):
            words = clip(cell, widths[column])
            space = " " * (widths[column] - cell_len(words))
            style = "bold" if not number else styles[column] if column < len(styles) else ""
            line.append("  " if column else "")
            line.append(space + words if numeric[column] else words + space, style)
        line.rstrip()
        screen.put(line)
