"""GFM's footnotes, as rules of the parser: `[^label]: …` on lines of its own, and `[^label]` where it is called.

Source: cmark-gfm and micromark, which agree where GFM 0.29 is silent: a definition is a block that may interrupt a
paragraph, goes on where lines are indented by four spaces, and makes its label a reference in the whole document.
"""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

_CALL = re.compile(r"\[\^(?P<label>(?:[^\s\[\]\\]|\\[\[\]\\])+)\]")
_DEFINITION = re.compile(_CALL.pattern + r":[ \t]*")
_KNOWN = "footnotes"
_INDENT = 4


def footnotes(reader: MarkdownIt) -> None:
    """Add the two rules: tokens `footnote_open` and `footnote_close`, and `footnote_call`, with the label."""
    reader.block.ruler.before("reference", "footnote", _define, {"alt": ["paragraph", "reference", "blockquote"]})
    reader.inline.ruler.before("link", "footnote", _call)


def _define(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.is_code_block(start):
        return False
    match = _DEFINITION.match(state.src, state.bMarks[start] + state.tShift[start], state.eMarks[start])
    if match is None or silent:
        return match is not None
    label = match["label"]
    state.env.setdefault(_KNOWN, set()).add(normalizeReference(label))
    state.push("footnote_open", "", 1).info = label
    before = state.bMarks[start], state.tShift[start], state.sCount[start], state.blkIndent, state.parentType
    # its first line begins where the content does, as if that were the indent of the others
    state.blkIndent += _INDENT
    state.bMarks[start], state.tShift[start], state.sCount[start] = match.end(), 0, state.blkIndent
    state.parentType = "footnote"
    state.md.block.tokenize(state, start, end)
    state.bMarks[start], state.tShift[start], state.sCount[start], state.blkIndent, state.parentType = before
    state.push("footnote_close", "", -1)
    return True


def _call(state: StateInline, silent: bool) -> bool:
    known = state.env.get(_KNOWN)
    # a silent look is for the end of a label: to the parser a whole token in one would be a link within a link
    if silent or not known or state.src[state.pos] != "[":
        return False
    match = _CALL.match(state.src, state.pos, state.posMax)
    if match is None or normalizeReference(match["label"]) not in known:
        return False
    state.push("footnote_call", "", 0).info = match["label"]
    state.pos = match.end()
    return True
