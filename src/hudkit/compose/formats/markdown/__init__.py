"""Markdown: a parser on markdown-it-py, a sound writer with minimal escapes, and rendering of element trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hudkit.compose.formats.markdown.render import render
from hudkit.compose.formats.markdown.writer import write

if TYPE_CHECKING:
    from hudkit.compose.formats.markdown.parser import parse

__all__ = ["parse", "render", "write"]


def __getattr__(name: str) -> Any:  # who only writes does not pay for markdown-it
    if name == "parse":
        from hudkit.compose.formats.markdown.parser import parse

        return parse
    raise AttributeError(f"module 'hudkit.compose.formats.markdown' has no attribute {name!r}")
