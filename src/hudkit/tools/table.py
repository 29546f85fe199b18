"""Finds the modules of operations: the module of each section's name, where there is one, and those of the whole.

A new section's operations are a new file; nothing else has to be edited.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from hudkit.sections.state import SECTIONS

WHOLE = ("whole", "past", "undo", "sessions", "transcripts", "portable", "resume", "help")

for _name in (*SECTIONS, *WHOLE):
    if find_spec(f"hudkit.tools.{_name}") is not None:
        import_module(f"hudkit.tools.{_name}")
