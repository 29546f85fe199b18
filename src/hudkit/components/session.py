"""The session line: its title where that is not the task already, how often it was compacted, what it belongs to."""

from __future__ import annotations

from hudkit.components.section import PRIORITIES, Section, View, untold
from hudkit.document import Density, Element, component, h, shorten
from hudkit.projections.compacted import Compacted
from hudkit.projections.session import SessionFacts
from hudkit.projections.task import Task


@component
def Session(session: SessionFacts, compacted: Compacted, task: Task, view: View) -> Element | None:
    if view.density is not Density.FULL:
        return None
    parts = [shorten(session.title, 100)] if session.title and task else []
    if compacted.count:
        parts.append("compacted once" if compacted.count == 1 else f"compacted {compacted.count} times")
    parts += [f"{link.relation} {link.session_id}" for link in session.links]
    if not parts:
        return None
    return h.section(title="Session", level=2, key="session", priority=PRIORITIES["session"])[
        h.text["; ".join(parts)]
    ]


SECTION = Section("session", "Session", "session", ("session", "compacted", "task"), Session, untold, pace="never")
