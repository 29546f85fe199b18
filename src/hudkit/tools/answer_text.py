"""The text of answers: one line per item, begun by a word of ours or a plain id, so that no text can be structure.

Texts are written as they are but for hidden characters: an agent names an item by its text, so there is no markdown
escaping. What keeps the document sound is that no line begins with somebody else's characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated

from msgspec import Meta

from hudkit.compose import shorten, visible
from hudkit.log.event import Origin
from hudkit.log.secret_patterns import without_secrets
from hudkit.sections.items import ItemMark, SectionItem
from hudkit.sections.section import LEVEL_WORDS, DerivedItem
from hudkit.tools.operation import AnswerRow, OperationArguments, OperationResult, SectionListing

_DEFAULT_ROWS = 50
MAX_ROWS = 200
MAX_QUOTED_CHARS = 80
"""Characters of a text that a confirmation or an error repeats."""

_PLAIN = re.compile(r"[A-Za-z][\w.-]*")


class PageArguments(OperationArguments, frozen=True):
    limit: Annotated[int, Meta(ge=1, le=MAX_ROWS, description="How many to show at most.")] = _DEFAULT_ROWS
    skip: Annotated[int, Meta(ge=0, description="How many to pass over first.")] = 0


_ALL_ROWS = PageArguments(MAX_ROWS)


def copied_id(text: str) -> str:
    """Return an id as it stands in our answers, where an agent copied it with the marks around it."""
    id = text.strip().strip("`")
    return id[1:-1] if len(id) > 2 and id[0] == id[-1] and id[0] in "\"'" else id


def id_text(id: str) -> str:
    """Return an id as a text may name it: as it is, or in quotes."""
    return id if _PLAIN.fullmatch(id) else quote(id)


def quote(text: str, limit: int = MAX_QUOTED_CHARS) -> str:
    """Return a text as an answer may repeat it: shortened, without secrets, in quotes, in one visible line."""
    return f'"{shorten(visible(without_secrets(text)), limit)}"'


def _row_line(row: AnswerRow, now: int = 0) -> str:
    """A row as a list item; with the age of its item, where `now` (Unix ms) tells one."""
    # A label that is no plain word could end the item or begin another.
    label = row.label if _PLAIN.fullmatch(row.label) else f'"{visible(row.label)}"'
    all_tags = (*row.tags, *_age_tags(row, now))
    tags = f" ({visible(', '.join(all_tags))})" if all_tags else ""
    # The label begins the line: no text of a user can.
    return f"- {label}{tags}: {visible(row.text)}" if row.text else f"- {label}{tags}"


def _age_tags(row: AnswerRow, now: int) -> tuple[str, ...]:
    """How long ago an item last changed, where that is a minute or more."""
    changed = getattr(getattr(row.item, "mark", None), "time", 0)
    # Clocks go backwards: a negative age is none.
    minutes = (now - changed) // 60_000 if changed and now else 0
    if minutes < 1:
        return ()
    if minutes < 60:
        return (f"{minutes} min ago",)
    return (f"{minutes // 60} h ago",) if minutes < 48 * 60 else (f"{minutes // 1440} days ago",)


def row_lines(rows: Iterable[AnswerRow]) -> str:
    """Return rows as a list, a line each."""
    return "\n".join(map(_row_line, rows))


def origin_tags(mark: ItemMark) -> tuple[str, ...]:
    """Return the tags of an origin that is not the agent's own, and of the session from which it was taken up."""
    taken = (f"from {mark.taken_from}",) if mark.taken_from else ()
    if mark.level:
        return (LEVEL_WORDS[mark.level], *taken)
    return taken if mark.origin is Origin.AGENT else (f"from {mark.origin}", *taken)


def item_row(item: SectionItem, text: str, *tags: str, label: str = "") -> AnswerRow:
    """Return the row of a numbered item; empty tags are left out."""
    return AnswerRow(
        label or item.id, text, (*(tag for tag in tags if tag), *origin_tags(item.mark)), item, item.mark.seq
    )


def derived_word(item: DerivedItem) -> str:
    """Return the tag of an item that was read from plain words; empty for one that was recorded."""
    if not item.derived:
        return ""
    if not item.doubt:
        return "derived"
    return "derived, with an exception" if item.suspended else "derived, may be over"


def list_rows(
    section: SectionListing, rows: Sequence[AnswerRow], page: PageArguments = _ALL_ROWS, now: int = 0
) -> OperationResult:
    """Return a page of a section's rows as an answer, with their ages where `now` (Unix ms) is given."""
    total = len(rows)
    if not section.ordered:
        # The newest are shown first, in their own order.
        end = max(total - page.skip, 0)
        shown = rows[max(end - page.limit, 0) : end]
    else:
        shown = rows[page.skip : page.skip + page.limit]
    rest = total - page.skip - len(shown)
    parts = [
        f"{section.title} ({total})" if total else f"{section.title}: none",
        *(_row_line(each, now) for each in shown),
    ]
    if rest > 0:
        parts.append(f"- +{rest} {'more' if section.ordered else 'older'}: skip {page.skip + len(shown)}")
    return OperationResult("\n".join(parts), {"total": total, "items": [row.data for row in shown]})


def indented_block(text: str) -> str:
    """Return a longer text with its line breaks, as an indented block (in which nothing is structure)."""
    return "\n".join(f"    {line}" if line else "" for line in visible(text, breaks=True).split("\n"))
