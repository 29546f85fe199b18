"""Markdown: a parser on markdown-it-py, a sound writer with minimal escapes, and rendering of element trees."""

from hudkit.compose.formats.markdown.parser import parse
from hudkit.compose.formats.markdown.render import render
from hudkit.compose.formats.markdown.writer import write

__all__ = ["parse", "render", "write"]
