"""Preformatted text."""

from __future__ import annotations

import re

from hudkit.compose.formats.markdown.pen import Pen, Place
from hudkit.compose.formats.markdown.references import quoted
from hudkit.compose.formats.mdast import CodeBlock

_TICKS = re.compile(r"`{3,}")
_TILDES = re.compile(r"~{3,}")
_LINE_END = re.compile(r"\r\n?")
_UNSPEAKABLE = re.compile("[\x00\ud800-\udfff]")


def code(node: CodeBlock, _place: Place, _pen: Pen) -> str:
    """A fence longer than any in the text; of tildes where the info has a backtick."""
    value = _UNSPEAKABLE.sub("\ufffd", _LINE_END.sub("\n", node.value))
    info = quoted(" ".join(node.info.split()))
    sign, runs = ("~", _TILDES) if "`" in info else ("`", _TICKS)
    fence = sign * max((len(run) + 1 for run in runs.findall(value)), default=3)
    body = value if not value.strip("\n") else value + "\n"
    # an info that begins with the sign would make the fence longer
    gap = " " if info.startswith(sign) else ""
    return f"{fence}{gap}{info}\n{body}{fence}\n"
