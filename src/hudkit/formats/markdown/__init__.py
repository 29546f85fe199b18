"""Markdown: a reader on markdown-it-py, a sound writer with minimal escapes, and rendering of element trees."""

from hudkit.formats.markdown.parse import parse
from hudkit.formats.markdown.render import render
from hudkit.formats.markdown.write import write

__all__ = ["parse", "render", "write"]
