"""Markdown of a model as lines for a terminal: blocks that are finished are told from the one that still grows.

HTML is text here, links show where they lead, headings keep their marks: nothing needs colours to be read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.text import Text

from hudkit.agent.terminal.screen import printable

_LEAST = 12
"""Cells that a nested block has at least."""

_DEEPEST = 16
"""Levels of nested blocks; the parser drops what is below 20."""

_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_INLINE = {"em_open": "italic", "strong_open": "bold", "s_open": "strike", "link_open": "underline"}
_BREAK = re.compile(r"\r\n|\r(?!\Z)")
_CODE = "cyan"
_MOST_HIGHLIGHTED = 20_000
"""Characters of code that are coloured: the block that still grows is drawn ten times a second."""

_DIM = "dim"


def split_finished_blocks(text: str) -> tuple[str, str]:
    """Return the finished blocks at the begin of a text that still grows, and the rest, which may go on.

    For example, of "One.\\n\\nTwo" the first paragraph is finished, and "Two" may grow.
    """
    starts = [token.map[0] for token in _PARSER.parse(text) if token.level == 0 and token.map and token.nesting >= 0]
    if len(starts) < 2:
        return "", text
    lines = _BREAK.sub("\n", text).split("\n")
    return "\n".join((*lines[: starts[-1]], "")), "\n".join(lines[starts[-1] :])


def markdown_lines(text: str, width: int) -> list[Text]:
    """Return Markdown as lines of at most `width` cells, with an empty one between two blocks.

    What is nested too deep for that stays as it is written.
    """
    source = printable(text)
    tokens = _PARSER.parse(source)
    if max((token.level for token in tokens), default=0) <= _DEEPEST:
        lines = _written(tokens, width)
        if all(cell_len(line.plain) <= width for line in lines):
            return lines
    return [part for line in source.split("\n") for part in _wrapped(Text(line), width)]


def _written(tokens: Sequence[Token], width: int, *, tight: bool = False) -> list[Text]:
    width = max(width, _LEAST)
    lines: list[Text] = []
    index = 0
    while index < len(tokens):
        end = _end(tokens, index)
        block = _block(tokens[index : end + 1], width)
        if lines and block and not tight:
            lines.append(Text())
        lines += block
        index = end + 1
    return lines


def _block(tokens: Sequence[Token], width: int) -> list[Text]:
    first, inner = tokens[0], tokens[1:-1]
    match first.type:
        case "paragraph_open":
            return _wrapped(_inline(inner[0]), width)
        case "heading_open":
            text = Text(f"{first.markup if first.markup[0] == '#' else '#' * int(first.tag[1])} ")
            text.append_text(_inline(inner[0]))
            text.stylize("bold magenta")
            return _wrapped(text, width)
        case "fence" | "code_block":
            code = highlighted_code(first.content.rstrip("\n"), first.info.split(" ", 1)[0])
            return [_after("  ", part) for line in code for part in _folded(line, width - 2)]
        case "blockquote_open":
            return [_after(Text("│ ", _DIM), line) for line in _written(inner, width - 2)]
        case "bullet_list_open" | "ordered_list_open":
            return _list(first, inner, width)
        case "hr":
            return [Text("─" * min(width, 40), _DIM)]
        case "table_open":
            return _table(inner, width)
    return [] if first.type == "inline" else _wrapped(Text(first.content), width)


def highlighted_code(code: str, language: str) -> list[Text]:
    """Return lines of code in the colours of a language; in one colour where it is not known, or the code is long."""
    if language and len(code) <= _MOST_HIGHLIGHTED:
        # imported late: most answers have no code, and a chat should begin at once
        from rich.syntax import Syntax

        text = Syntax(code, language, theme="ansi_dark").highlight(code)
        text.rstrip()
        # a lexer may drop or add a line end, and what is shown must be what was said
        if text.plain == code.rstrip() and text.spans:
            return list(text.split("\n", allow_blank=True))
    return [Text(line, _CODE) for line in code.split("\n")]


def _list(first: Token, tokens: Sequence[Token], width: int) -> list[Text]:
    lines: list[Text] = []
    number = int(first.attrs.get("start", 1)) if first.type == "ordered_list_open" else None
    marks = len(str((number or 0) + sum(token.type == "list_item_open" for token in tokens))) + 2
    tight = any(token.hidden for token in tokens)
    index = 0
    while index < len(tokens):
        end = _end(tokens, index)
        mark = Text("• " if number is None else f"{number}. ".rjust(marks), "yellow")
        body = _written(tokens[index + 1 : end], width - cell_len(mark.plain), tight=tight) or [Text()]
        if lines and not tight:
            lines.append(Text())
        lines.append(_after(mark, body[0]))
        lines += [_after(" " * cell_len(mark.plain), line) for line in body[1:]]
        number = None if number is None else number + 1
        index = end + 1
    return lines


def _end(tokens: Sequence[Token], start: int) -> int:
    """Where the block that begins at a token ends."""
    depth = 0
    for place in range(start, len(tokens)):
        depth += tokens[place].nesting
        if depth == 0:
            return place
    return len(tokens) - 1


def _inline(token: Token) -> Text:
    """Words with their styles; a link is followed by its address where that says something else."""
    text = Text()
    styles: list[str] = []
    links: list[tuple[int, str]] = []
    for child in token.children or ():
        style = Style.parse(" ".join(styles)) if styles else Style.null()
        match child.type:
            case "text":
                text.append(child.content, style)
            case "code_inline":
                text.append(child.content, style + Style.parse(_CODE))
            case "softbreak":
                text.append(" ")
            case "hardbreak":
                text.append("\n")
            case "image":
                text.append(f"[image: {child.content}] ({child.attrs.get('src', '')})", style)
            case "link_close":
                styles.pop()
                start, address = links.pop()
                if address not in (text.plain[start:], f"mailto:{text.plain[start:]}"):
                    text.append(f" ({address})", _DIM)
            case "link_open":
                styles.append(_INLINE["link_open"])
                links.append((len(text), str(child.attrs.get("href", ""))))
            case kind if kind in _INLINE:
                styles.append(_INLINE[kind])
            case _ if child.nesting == -1 and styles:
                styles.pop()
            case _:
                text.append(child.content, style)
    return text


def _table(tokens: Sequence[Token], width: int) -> list[Text]:
    from rich import box
    from rich.table import Table

    rows: list[list[Text]] = []
    for index, token in enumerate(tokens):
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(_inline(token))
            if "right" in str(tokens[index - 1].attrs.get("style", "")):
                rows[-1][-1].justify = "right"
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", border_style=_DIM)
    for cell in rows[0]:
        table.add_column(cell, justify=cell.justify or "left", overflow="fold")
    for row in rows[1:]:
        table.add_row(*row)
    lines = []
    for line in _console(width).render_lines(table, pad=False):
        text = Text.assemble(*((segment.text, segment.style or Style.null()) for segment in line))
        text.rstrip()
        lines.append(text)
    return lines


def _wrapped(text: Text, width: int) -> list[Text]:
    lines = list(text.wrap(_console(width), width, overflow="fold"))
    for line in lines:
        line.rstrip()
    return lines


def _folded(text: Text, width: int) -> list[Text]:
    """A line of code: cut where it is too long, its spaces kept."""
    width = max(width, _LEAST)
    parts = []
    while cell_len(text.plain) > width:
        cut = width
        while cell_len(text.plain[:cut]) > width:
            cut -= 1
        parts.append(text[:cut])
        text = text[cut:]
    return [*parts, text]


def _after(prefix: Text | str, line: Text) -> Text:
    return Text.assemble(prefix, line)


@lru_cache(maxsize=16)
def _console(width: int) -> Console:
    return Console(width=width, color_system=None, force_terminal=False, legacy_windows=False)
