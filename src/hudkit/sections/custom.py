"""Custom sections: what users and agents defined as text, and what came of it when it last ran."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from hudkit.log.event import Event
from hudkit.log.payloads import SectionDefine, SectionPrepared, SectionRemove
from hudkit.sections.items import Mark, mark

PAUSED_FROM = 3
"""Failures in a row after which a section is not run again before its text changes."""


class CustomSection(msgspec.Struct, frozen=True, omit_defaults=True):
    """`source` and `reads` are there where an operation defined it (a file's text is not in the log).

    `definition` and `given` are digests of the text that last ran and of what it was given; `full`, `compact` and
    `minimal` are the trees that came of it as JSON, `error` why none did.
    """

    name: str
    title: str = ""
    priority: int = 30
    source: str = ""
    reads: tuple[str, ...] = ()
    definition: str = ""
    given: str = ""
    full: str = ""
    compact: str = ""
    minimal: str = ""
    error: str = ""
    failures: int = 0
    mark: Mark = Mark()

    @property
    def paused(self) -> bool:
        """Whether it failed so often that it is not run again."""
        return self.failures >= PAUSED_FROM


class Custom(msgspec.Struct, frozen=True, omit_defaults=True):
    """Custom sections in the order in which they were first defined; iteration works."""

    sections: tuple[CustomSection, ...] = ()

    def __iter__(self) -> Iterator[CustomSection]:
        return iter(self.sections)

    def __len__(self) -> int:
        return len(self.sections)

    def get(self, name: str) -> CustomSection | None:
        """The section of this name."""
        return next((one for one in self.sections if one.name == name), None)


HANDLES = (SectionDefine, SectionRemove, SectionPrepared)


def reduce(custom: Custom, event: Event) -> Custom:
    match event.payload:
        case SectionDefine() as it:
            known = custom.get(it.name) or CustomSection(it.name)
            defined = msgspec.structs.replace(
                known, title=it.title, priority=it.priority, source=it.source, reads=it.reads, mark=mark(event)
            )
            return _with(custom, defined)
        case SectionRemove(name=name):
            kept = tuple(one for one in custom.sections if one.name != name)
            return custom if len(kept) == len(custom.sections) else Custom(kept)
        case SectionPrepared() as it:
            known = custom.get(it.name) or CustomSection(it.name, mark=mark(event))
            before = known.failures if known.definition == it.definition else 0
            prepared = msgspec.structs.replace(
                known,
                title=it.title,
                priority=it.priority,
                definition=it.definition,
                given=it.given,
                full=it.full,
                compact=it.compact,
                minimal=it.minimal,
                error=it.error,
                failures=before + 1 if it.error else 0,
            )
            return _with(custom, prepared)
    return custom


def _with(custom: Custom, section: CustomSection) -> Custom:
    if custom.get(section.name) is None:
        return Custom((*custom.sections, section))
    return Custom(tuple(section if one.name == section.name else one for one in custom.sections))
