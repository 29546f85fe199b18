"""The session line: its title where that is not the task already, how often it was compacted, what it belongs to."""

from __future__ import annotations

from hudkit.compose import Density, Element, component, h, shorten
from hudkit.log.payloads import SessionOffer
from hudkit.sections.compacted import Compacted
from hudkit.sections.session import SessionFacts
from hudkit.sections.task import Task
from hudkit.sections.views.section import PRIORITIES, Section, View, untold


@component
def Session(session: SessionFacts, compacted: Compacted, task: Task, view: View) -> Element | None:
    if view.density is not Density.FULL:
        return None
    parts = [shorten(session.title, 100)] if session.title and task else []
    if compacted.count:
        parts.append("compacted once" if compacted.count == 1 else f"compacted {compacted.count} times")
    parts += [f"{link.relation} {link.session_id}" for link in session.links]
    if session.offer is not None and not task:
        parts.append(_offered(session.offer))
    if not parts:
        return None
    return h.section(title="Session", level=2, key="session", priority=PRIORITIES["session"])[
        h.text["; ".join(parts)]
    ]


def _offered(offer: SessionOffer) -> str:
    steps = f", {offer.steps} steps open" if offer.steps > 1 else ", one step open" if offer.steps else ""
    told = f'an earlier session left its task open: "{shorten(" ".join(offer.task.split()), 160)}"{steps}'
    return f'{told}; task.resume {{"session": "{offer.session_id}"}} takes it up'


SECTION = Section("session", "Session", "session", ("session", "compacted", "task"), Session, untold, pace="never")
