"""Active files, the last touched last; those that are only read give way to edited ones."""

from __future__ import annotations

from hudkit.compose import Density, Element, component
from hudkit.sections.files import File
from hudkit.sections.files import Files as FilesState
from hudkit.sections.views.section import Line, Row, Section, View, listed


@component
def Files(files: FilesState, view: View) -> Element | None:
    full = view.density is Density.FULL
    lines = (Line(f.path, f.path, False, f" ({f.status})" if full else "", _aside(f)) for f in files.active)
    return listed("files", "Active Files", lines, view)


def _aside(file: File) -> bool:
    return file.status != "editing"


def rows(files: FilesState) -> tuple[Row, ...]:
    return tuple(Row(f.path, f"{f.path} ({f.status})") for f in files.active)


SECTION = Section("files", "Active Files", "file", ("files",), Files, rows, pace="turn", closing="left")
