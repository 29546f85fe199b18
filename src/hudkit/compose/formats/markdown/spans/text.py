"""Text, URLs in it, and hard line breaks."""

from __future__ import annotations

from hudkit.compose.formats.markdown.draft import Draft
from hudkit.compose.formats.markdown.pen import Pen
from hudkit.compose.formats.mdast import BareUrl, Break, Text


def text(node: Text, draft: Draft, _pen: Pen) -> None:
    """Data; what of it needs an escape is decided when the line is whole."""
    draft.text(node.value)


def bare_url(node: BareUrl, draft: Draft, _pen: Pen) -> None:
    """As it stands."""
    draft.raw(node.value)


def hard_break(_node: Break, draft: Draft, _pen: Pen) -> None:
    """A backslash at the end of the line; a space where the block is one line."""
    if draft.shape.breaks:
        draft.raw("\\\n")
    else:
        draft.text(" ")
