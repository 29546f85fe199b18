"""The text of answers: one line per item, begun by a word of ours or a plain id, so that no text can be structure.

Texts are written as they are but for hidden characters: an agent names an item by its text, so there is no markdown
escaping. What keeps the document sound is that no line begins with somebody else's characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from hudkit.compose import shorten, visible
from hudkit.log.codec import printable
from hudkit.log.event import Origin
from hudkit.log.redact import redact
from hudkit.sections.items import ItemMark, SectionItem
from hudkit.tools.operation import Answer, Arguments, Row, Section

PAGE = 50
MOST = 200
ECHO = 80
"""Characters of a text that a confirmation or an error repeats."""

_PLAIN = re.compile(r"[A-Za-z][\w.-]*")


class Page(Arguments, frozen=True):
    limit: Annotated[int, Meta(ge=1, le=MOST, description="How many to show at most.")] = PAGE
    skip: Annotated[int, Meta(ge=0, description="How many to pass over first.")] = 0


ALL = Page(MOST)


def called(id: str) -> str:
    """An id as a text may name it."""
    return id if _PLAIN.fullmatch(id) else echo(id)


def stored(text: str) -> str:
    """A text as the log would have it: without secrets."""
    body = msgspec.json.encode(printable(text))
    clean = redact(body)
    return text if clean is body else str(msgspec.json.decode(clean))


def echo(text: str, limit: int = ECHO) -> str:
    """A text as a confirmation or an error may repeat it: shortened, without secrets, in one visible line."""
    return f'"{shorten(visible(stored(text)), limit)}"'


def line(row: Row, now: int = 0) -> str:
    """A row as a list item; with the age of its item, where `now` (Unix ms) tells one."""
    label = row.label if _PLAIN.fullmatch(row.label) else f'"{visible(row.label)}"'
    told = (*row.tags, *_aged(row, now))
    tags = f" ({visible(', '.join(told))})" if told else ""
    return f"- {label}{tags}: {visible(row.text)}" if row.text else f"- {label}{tags}"


def _aged(row: Row, now: int) -> tuple[str, ...]:
    """How long ago an item last changed, where that is a minute or more."""
    at = getattr(getattr(row.item, "mark", None), "time", 0)
    minutes = (now - at) // 60_000 if at and now else 0
    if minutes < 1:
        return ()
    if minutes < 60:
        return (f"{minutes} min ago",)
    return (f"{minutes // 60} h ago",) if minutes < 48 * 60 else (f"{minutes // 1440} days ago",)


def lines(rows: Iterable[Row]) -> str:
    return "\n".join(map(line, rows))


def told_by(mark: ItemMark) -> tuple[str, ...]:
    """The tags of an origin where it is not the agent's own, and of the session from which it was taken up."""
    taken = (f"from {mark.taken_from}",) if mark.taken_from else ()
    return taken if mark.origin is Origin.AGENT else (f"from {mark.origin}", *taken)


def row(item: SectionItem, text: str, *tags: str, label: str = "") -> Row:
    """The row of a numbered item."""
    return Row(label or item.id, text, (*(tag for tag in tags if tag), *told_by(item.mark)), item, item.mark.seq)


def listing(section: Section, rows: Sequence[Row], page: Page = ALL, now: int = 0) -> Answer:
    """A page of a section's rows, with their ages where `now` (Unix ms) is given."""
    total = len(rows)
    if not section.ordered:
        end = max(total - page.skip, 0)
        shown = rows[max(end - page.limit, 0) : end]
    else:
        shown = rows[page.skip : page.skip + page.limit]
    rest = total - page.skip - len(shown)
    parts = [
        f"{section.title} ({total})" if total else f"{section.title}: none",
        *(line(each, now) for each in shown),
    ]
    if rest > 0:
        parts.append(f"- +{rest} {'more' if section.ordered else 'older'}: skip {page.skip + len(shown)}")
    return Answer("\n".join(parts), {"total": total, "items": [row.data for row in shown]})


def block(text: str) -> str:
    """A longer text with its line breaks, as an indented block (in which nothing is structure)."""
    return "\n".join(f"    {one}" if one else "" for one in visible(text, breaks=True).split("\n"))
