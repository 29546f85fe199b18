"""What a section is: its row in the table, the functions of its module, and how a list of items is shown.

A section's module (`sections/decisions.py`) holds its state, its reducer and its view, and gives them as one
`SectionLogic`. Its row in `sections/table.py` (a `SectionSpec`) holds every number and word about it, so that no
module repeats its own title or priority.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, Protocol

import msgspec

from hudkit.compose import Density, Element, Node, shorten, shorten_middle
from hudkit.compose.formats.markdown.verbatim import verbatim
from hudkit.config import SectionLimits, StalenessSettings
from hudkit.lazy import lazy_pattern
from hudkit.log.event import Event, Origin
from hudkit.sections.items import ItemMark

ITEM_CHARS: dict[Density, int] = {Density.FULL: 400, Density.COMPACT: 90, Density.MINIMAL: 60}
"""Characters of one item that are shown, at most; the tools show all of it."""

REASON_LEAD, REASON_END = " (because: ", ")"
"""What stands around a reason behind its item."""

MORE_MARK = " …"
"""What stands behind an item that has a reason where that is not shown."""

CURRENT_PRIORITY = 86
"""The priority of what is being done now."""

_FAILURE = lazy_pattern(r"\b\w*(?:Error|Exception)\b|\b(?:error(?:\[\w+\])?|fatal|FATAL):|\bpanicked\b")
"""What names a failure in the output of a tool: the text that says what went wrong stands behind it."""

CLOSED_RANK = 5
"""The priority of what is done or resolved: below that of every section."""


class KeyedRow(msgspec.Struct, frozen=True):
    """One thing that a section says, for telling changes: the same `key` is the same thing.

    `replaces` are the keys of those that left because of it; `keep_end` is as in `ShownItem`. A `quiet` one is no
    news: the agent's own call has just shown it, and the next base has it. `reason` is why it is so, told with it
    where it is new. `gist` is what has to change to be news, where that is less than the text.
    """

    key: str
    text: str
    closed: bool = False
    replaces: tuple[str, ...] = ()
    quiet: bool = False
    keep_end: bool = False
    reason: str = ""
    gist: str = ""

    @property
    def without_reason(self) -> str:
        """Return the text, with a mark where there is a reason, too."""
        return self.text + (MORE_MARK if self.reason else "")

    @property
    def with_reason(self) -> str:
        """Return the text with its reason where that is short, else with the mark."""
        if not self.reason or len(self.reason) > ITEM_CHARS[Density.COMPACT]:
            return self.without_reason
        return f"{self.text}{REASON_LEAD}{self.reason}{REASON_END}"

    def brief(self, chars: int) -> str:
        """Return at most so many characters of the text; with `keep_end`, what went wrong is among them."""
        return shorten_failure(self.text, chars) if self.keep_end else shorten(self.text, chars)


class ShownItem(msgspec.Struct, frozen=True):
    """One item as a view shows it: its key, its text, the label behind the text.

    `list_label` is a further label, which is left out where a section is one line. A `closed` item is done or
    resolved. `priority` is the item's own, where it is not its section's. Where a text is too long its beginning is
    shown, with `keep_end` what went wrong, too (`shorten_failure`). `lead` is how the text begins where these are
    words of the HUD; `is_code` says that the text is a path or a command, and nothing else. `reason` is why it is so:
    empty where nobody said it, `None` where such an item has none.
    """

    key: str
    text: str
    closed: bool = False
    label: str = ""
    priority: float | None = None
    keep_end: bool = False
    list_label: str = ""
    lead: str = ""
    is_code: bool = False
    reason: str | None = None


class SectionLogic(msgspec.Struct, frozen=True):
    """The functions of a section's module.

    `handles` are the payloads that `reduce(state, event)` is asked about. `reads` are the fields of `HudState` that
    the view is made of, in the order of the arguments of `items(*fields)` or `show(*fields, density)`,
    `rows(*fields)` and `summarize(*fields)`; empty: the section's own field. A section has `items`, or it has `show`,
    which returns its blocks at a density. `summarize` tells a section in one line where many of its rows changed at
    once.
    """

    handles: tuple[type[Any], ...]
    reduce: Callable[[Any, Event], Any]
    rows: Callable[..., tuple[KeyedRow, ...]]
    items: Callable[..., Iterable[ShownItem]] | None = None
    show: Callable[..., Sequence[ShownBlock]] | None = None
    reads: tuple[str, ...] = ()
    summarize: Callable[..., str] | None = None


class SectionSpec(msgspec.Struct, frozen=True):
    """A row of the table of sections.

    `title` is the heading (a list's count behind it), `noun` what a change calls an item.

    - `priority`: what is shown first where there is not room for all, 100 at most.
    - `keeps`: which of its live items are shown first, the `oldest` or the `newest`. Closed ones go before all
      that is live.
    - `named_at_minimal`: its items are named at the smallest density, too.
    - `whole`: its texts are shown at `WHOLE_CHARS` before anything of less worth.
    - `always`: it is shown at every budget that can hold it.
    - `favoured`: its items may use more than a full window leaves the others.
    - `counted`: the noun under which it is counted where none of its items is shown; empty: with all the others.
    - `see`: the operation that shows what is left out; empty: the section's `list`.
    - `pace`: when a change is told: `now` in the next call, `turn` with the next one that is told or at the start of
      a turn, `never` only with the next epoch.
    - `closing`: the word for an item that left; `ordered`: its items are numbered, and a change of order is told.
    - `contradicts`: a change contradicts what the base says, and is told at once, whatever an answer said of it.
    - `one_line`: it is never written as a list, unless a text has what separates the items of a line.
    - `readable`: custom sections may read it.
    """

    name: str
    logic: SectionLogic
    title: str
    noun: str
    priority: float = 30
    keeps: Literal["oldest", "newest"] = "newest"
    named_at_minimal: bool = False
    whole: bool = False
    always: bool = False
    favoured: bool = False
    counted: str = ""
    see: str = ""
    pace: Literal["now", "turn", "never"] = "now"
    closing: str = "removed"
    ordered: bool = False
    contradicts: bool = False
    one_line: bool = False
    readable: bool = False

    @property
    def reads(self) -> tuple[str, ...]:
        """Return the fields of the state that the view is made of."""
        return self.logic.reads or (self.name,)

    def rows(self, state: object) -> tuple[KeyedRow, ...]:
        """Return what the section says in a `HudState`, row by row."""
        fields = [getattr(state, name) for name in self.reads]
        return self.logic.rows(*fields)


class ViewOptions(msgspec.Struct, frozen=True):
    """How the whole state is looked at.

    `idle_compactions` is how many compactions may pass without progress before that is said; 0: it never is.
    `guided`: a HUD that is whole says which operation of its tool is for what.
    """

    density: Density = Density.FULL
    limits: SectionLimits = SectionLimits()
    staleness: StalenessSettings = StalenessSettings()
    idle_compactions: int = 0
    guided: bool = False


DERIVED_LABEL = " (derived)"
"""The suffix of an item that was read from plain words; where all of a section were, its heading says so."""

LEVEL_WORDS: Mapping[str, str] = {"project": "user, this project", "user": "user, all sessions"}
"""Whose word it is that an item holds beyond its session, and where it does."""

LEVEL_LABELS = {level: f" ({words})" for level, words in LEVEL_WORDS.items()}

_FROM_TOOL, _MAY_BE_OVER = " [from a tool]", " (derived, may be over)"

ORIGIN_LABELS = (_FROM_TOOL, DERIVED_LABEL, _MAY_BE_OVER, *LEVEL_LABELS.values())
"""The suffixes that `origin_label` and `derived_label` give."""

COMMON_LABELS = (DERIVED_LABEL, *LEVEL_LABELS.values())
"""Those that stand once in a section's heading where all its items have the same."""

_MAX_EXCEPTION = 100
"""Characters of the sentence that names an exception."""


def origin_label(origin: Origin, derived: bool = False) -> str:
    """Return the suffix that tells where an item comes from, where it is not the agent or the user."""
    if origin is Origin.TOOL:
        return _FROM_TOOL
    return DERIVED_LABEL if derived else ""


class DerivedItem(Protocol):
    """An item that may have been read from plain words."""

    @property
    def mark(self) -> ItemMark:
        """Return where it comes from."""

    @property
    def derived(self) -> bool:
        """Return whether it was read from plain words."""

    @property
    def doubt(self) -> str:
        """Return the later sentence that speaks against it; empty: none does."""

    @property
    def suspended(self) -> bool:
        """Return whether that sentence only names a case in which it does not hold."""


def derived_label(item: DerivedItem) -> str:
    """Return the suffix that tells where an item comes from, where it holds, and that it may be over."""
    if item.mark.level:
        return LEVEL_LABELS[item.mark.level]
    if item.doubt and item.suspended:
        return f" (derived, but: {shorten(item.doubt, _MAX_EXCEPTION)})"
    return _MAY_BE_OVER if item.doubt else origin_label(item.mark.origin, item.derived)


class ShownBlock(msgspec.Struct, frozen=True):
    """What is no list of items, at one density: its key, its priority, its elements, all that it has to say, and
    whether the elements say all of it."""

    key: str
    priority: float
    elements: tuple[Element, ...]
    text: str = ""
    is_whole: bool = True


def item_priorities(spec: SectionSpec, items: Sequence[ShownItem]) -> list[float]:
    """Return the priority of each item: of two alike the one that the section keeps is the greater."""
    step = 1 / (len(items) + 1)
    priorities = []
    for n, item in enumerate(items, 1):
        place = n * step
        gain = 1 - place if spec.keeps == "oldest" else place
        if item.closed:
            priorities.append(CLOSED_RANK + (spec.priority + gain) / 100)
        else:
            priorities.append((spec.priority if item.priority is None else item.priority) + gain)
    return priorities


def shorten_failure(text: str, limit: int) -> str:
    """Return the beginning of a failure's text and what went wrong, in at most `limit` characters.

    What went wrong begins with the last name of an error: from there on, unless the end holds it, or the beginning.
    What stands behind it is a stack, a query or advice. Without such a name, the end is shown.

    `shorten_failure("load.py: 40 rows, ValueError: no 'id' in row 7; see the 12 hints in docs/load.md", 44)` is
    `load.py: 40…ValueError: no 'id' in row…`.
    """
    if len(text) <= limit:
        return text
    room = max(limit - 1, 0)
    head = room // 3
    named = list(_FAILURE.finditer(text))
    if not named or named[-1].end() >= len(text) - (room - head):
        return shorten_middle(text, limit)
    start = named[-1].start()
    if start <= head:
        return shorten(text, limit)
    return f"{shorten(text[:start].rstrip(), head + 1)}{shorten(text[start:], room - head)}"


# An item's element is asked for again in every base in which it stands, mostly with the same priority.
@lru_cache(maxsize=8192)
def item_element(item: ShownItem, chars: int, priority: float, reason_chars: int = 0) -> Element:
    """Return an item of a list with at most so many characters of its text and of its reason."""
    return Element("item", (("key", item.key), ("priority", priority)), item_nodes(item, chars, reason_chars))


def item_nodes(item: ShownItem, chars: int, reason_chars: int = 0, *, in_line: bool = False) -> tuple[Node, ...]:
    """Return what is written of an item, in a list or in a line: its text, struck where it is closed, its labels, and
    its reason, or a mark that there is one."""
    text = shorten_failure(item.text, chars) if item.keep_end else shorten(item.text, chars)
    text = text.removeprefix(item.lead)
    gives_reason = bool(item.reason and reason_chars)
    written: tuple[Node, ...]
    # A text that has the words before a reason in it is one piece: else it could give itself a reason.
    if (item.is_code and text.strip()) or (item.reason is not None and REASON_LEAD.strip() in text):
        written = (Element("code", (), (text,)),)
    else:
        begins = not (in_line or item.lead or item.closed)
        written = verbatim(text, first=begins, alone=not (in_line or item.closed or gives_reason))
    if item.lead:
        written = (item.lead, *written)
    if item.closed:
        written = (Element("strike", (), written),)
    label = item.label if in_line else item.label + item.list_label
    written = (*written, label) if label else written
    if not item.reason:
        return written
    if not gives_reason:
        return written if len(item.text) > chars else (*written, MORE_MARK)
    reason = verbatim(shorten(item.reason, reason_chars), first=False, alone=False)
    return (*written, REASON_LEAD, *reason, REASON_END)
