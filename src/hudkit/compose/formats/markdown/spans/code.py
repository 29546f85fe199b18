"""Code spans."""

from __future__ import annotations

import re

from hudkit.compose.formats.markdown.draft import Draft
from hudkit.compose.formats.markdown.pen import Pen
from hudkit.compose.formats.mdast import InlineCode

_RUN = re.compile(r"`+")
_LINE_END = re.compile(r"\r\n?|\n")
_UNSPEAKABLE = re.compile("[\x00\ud800-\udfff]")


def code(node: InlineCode, draft: Draft, _pen: Pen) -> None:
    """Between the shortest run of backticks that is not in it; in a cell, `\\|` has no spelling and is text."""
    value = _UNSPEAKABLE.sub("\ufffd", _LINE_END.sub(" ", node.value))
    if not value:
        return
    if draft.code is not None and draft.code[0] == len(draft.parts):
        # two spans cannot touch, their fences would be one: they become one span
        draft.parts.pop()
        value = draft.code[1] + value
    if draft.shape.block == "cell" and "\\|" in value:
        draft.text(value)
        return
    written = value.replace("|", "\\|") if draft.shape.block == "cell" else value
    runs = {len(run) for run in _RUN.findall(value)}
    fence = "`" * next(length for length in range(1, len(runs) + 2) if length not in runs)
    bare = value[0] != "`" and value[-1] != "`"
    stripped = value[0] == " " and value[-1] == " " and value.strip(" ")
    pad = "" if bare and not stripped else " "
    draft.raw(f"{fence}{pad}{written}{pad}{fence}")
    draft.code = (len(draft.parts), value)
