"""Calls of footnotes (GFM)."""

from __future__ import annotations

from hudkit.compose.formats.markdown.draft import Draft
from hudkit.compose.formats.markdown.pen import Pen
from hudkit.compose.formats.markdown.references import label, matched
from hudkit.compose.formats.mdast import FootnoteReference


def reference(node: FootnoteReference, draft: Draft, _pen: Pen) -> None:
    """Its label; text where the document does not define it, as it would be read."""
    written = f"[^{label(node.label)}]"
    if matched(node.label) in draft.shape.notes:
        draft.raw(written)
    else:
        draft.text(written)
