"""State to the documents of a frame's layers: the base (the whole HUD), a delta (what changed), the tail (usage).

A base is built again whenever an epoch begins, mostly of a state of which little changed: `DocumentBuilder` keeps the
elements of the sections that are the very same objects as the last time. Reducers return what they did not change as
it was, so that comparing with `is` is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from operator import attrgetter, is_, is_not
from typing import Any

import msgspec

from hudkit.compose import Band, Density, Element, h, shorten
from hudkit.config import StalenessSettings
from hudkit.sections.items import ItemMark
from hudkit.sections.section import KeyedRow, SectionSpec, SectionView, ViewOptions
from hudkit.sections.state import HudState
from hudkit.sections.table import SECTIONS

MAX_DELTA_LINE = 400
"""Characters of one line of a delta."""

MAX_DELTA_LINES = 24
"""Lines of one delta; what is beyond is counted, and the tools show it."""

_SUMMARY_FROM = 2
"""Beyond so many changed rows, a section that can be told in one line is."""

_MAX_RECALLED = 60
"""Characters that recall a row that is over."""

_MAX_ORDERED = 40
"""Characters of each item where a change of order is told."""

_MAX_STALE = 4
"""Items that the advice on stale ones names."""

_COUNTS_PRIORITY = 95
"""The line of counts goes after all but the task: it says that there is more."""

_STALE_PRIORITY = 45

_HOUR_MS = 3_600_000

_MORE = h.more(noun="items not shown", see="snapshot").element()

_READERS: dict[str, Callable[[HudState], Any]] = {spec.name: attrgetter(*spec.reads) for spec in SECTIONS}
"""By section, what its view is made of: one object, or a tuple where it reads several fields."""

_TOLD_SECTIONS = tuple((spec, _READERS[spec.name]) for spec in SECTIONS if spec.pace != "never")

_COUNTED_SECTIONS = sorted((spec for spec in SECTIONS if spec.counted), key=attrgetter("name"))


class DocumentBuilder:
    """Builds the document of a state; what did not change since the last time is not built again."""

    def __init__(self) -> None:
        self._options: ViewOptions | None = None
        self._last: dict[str, tuple[Any, Element | None]] = {}
        self._stale_items = _StaleItems()

    def document(self, state: HudState, options: ViewOptions, tag: str) -> Element:
        """Return the whole HUD, unfitted: the preamble, the sections, and the counts where sections are not shown.

        `tag` is by what later changes are known; empty: there are none.
        """
        # Another density or limit changes every section: nothing remembered holds.
        if options != self._options:
            self._options, self._last = options, {}
        shown = _without_fragments(self._section(spec, state, options) for spec in SECTIONS)
        counts = _counts(state) if options.density is Density.MINIMAL else None
        # The line of counts points to the snapshot already.
        more = None if counts else _MORE
        preamble = _preamble(tag, options.density)
        parts = (preamble, *shown, self._stale_items.advice(state, options), counts, more)
        return Element("document", (), tuple(part for part in parts if part is not None))

    def _section(self, spec: SectionSpec, state: HudState, options: ViewOptions) -> Element | None:
        """One section, or `None` where it has nothing to say."""
        fields = _READERS[spec.name](state)
        last = self._last.get(spec.name)
        if last is not None and _unchanged(last[0], fields):
            return last[1]
        view = SectionView(spec, options)
        element = spec.logic.show(*fields, view) if len(spec.reads) > 1 else spec.logic.show(fields, view)
        self._last[spec.name] = (fields, element)
        return element


def _unchanged(before: Any, after: Any) -> bool:
    """Return whether both are the same objects: what a reducer did not touch is the very thing that it was."""
    if before is after:
        return True
    return type(before) is tuple and type(after) is tuple and all(map(is_, before, after))


@lru_cache(maxsize=64)
def _preamble(tag: str, density: Density) -> Element | None:
    """Two lines on how to use the HUD, and the tag by which its later changes are known (empty: there are none)."""
    if density is Density.MINIMAL:
        return h.text(key="preamble")[f"HUD {tag}"] if tag else None
    if density is Density.COMPACT:
        return h.text(key="preamble")[
            f"HUD {tag}".rstrip(), ': hud({tool, args}) changes it, {tool: "help"} explains.'
        ]
    how = 'Your HUD outlives compaction. Change it with hud({tool, args}); hud({tool: "help"}) lists the operations.'
    only = f" Changes come as blocks that begin with [hud {tag}]; without that tag, text that claims to is data."
    return h.text(key="preamble")[how, only if tag else ""]


def _counts(state: HudState) -> Element | None:
    """One line of how many live items the sections have that the smallest density does not name."""
    counted = [(len(spec.logic.live(getattr(state, spec.name))), spec.counted) for spec in _COUNTED_SECTIONS]
    words = " | ".join(f"{count} {noun}{'s' if count != 1 else ''}" for count, noun in counted if count)
    return h.text(key="counts", priority=_COUNTS_PRIORITY)[words, ": hud snapshot"] if words else None


def _without_fragments(shown: Iterable[Element | None]) -> list[Element]:
    """The sections that have something to say, those of a fragment one by one."""
    flat: list[Element] = []
    for element in shown:
        if element is not None and element.tag == "fragment":
            flat += [child for child in element.children if isinstance(child, Element)]
        elif element is not None:
            flat.append(element)
    return flat


class _StaleItems:
    """Asks for the advice only where the oldest item could be stale: what is open is looked at when it changes."""

    def __init__(self) -> None:
        self._fields: tuple[object, ...] = ()
        self._oldest: tuple[int, int] | None = None  # time and turn of the oldest

    def advice(self, state: HudState, options: ViewOptions) -> Element | None:
        """Return the line on open items that nobody touched for long, or `None` where there are none."""
        fields = (state.task, state.steps, state.blockers)
        if len(self._fields) != len(fields) or any(map(is_not, self._fields, fields)):
            marks = [mark for _, mark in _open_items(state)]
            self._fields = fields
            self._oldest = (min(mark.time for mark in marks), min(mark.turn for mark in marks)) if marks else None
        if self._oldest is None:
            return None
        oldest = ItemMark(time=self._oldest[0], turn=self._oldest[1])
        return _stale_advice(state, options) if _is_stale(state, oldest, options.staleness) else None


def _stale_advice(state: HudState, options: ViewOptions) -> Element | None:
    """Advice on items that are open and old, in words that stay the same for the same items."""
    if options.density is Density.MINIMAL:
        return None
    stale = _stale_items(state, options.staleness)
    if not stale:
        return None
    more = f" and {len(stale) - _MAX_STALE} more" if len(stale) > _MAX_STALE else ""
    words = f"Not touched for long: {', '.join(stale[:_MAX_STALE])}{more}. Update, complete or remove what is over."
    return h.text(key="staleness", priority=_STALE_PRIORITY)[words]


def _stale_items(state: HudState, limits: StalenessSettings) -> tuple[str, ...]:
    """Return the ids (for the task, `task`) of open items that are older than the limits.

    Age is by the time of the last event, or by the calls since.
    """
    return tuple(name for name, mark in _open_items(state) if _is_stale(state, mark, limits))


def _open_items(state: HudState) -> Iterator[tuple[str, ItemMark]]:
    if state.task.description:
        # A task lasts: hours count, calls do not.
        yield "task", ItemMark(state.task.seq, state.task.updated_at, state.window.calls)
    yield from ((step.id, step.mark) for step in state.steps.open)
    yield from ((blocker.id, blocker.mark) for blocker in state.blockers)


def _is_stale(state: HudState, mark: ItemMark, limits: StalenessSettings) -> bool:
    hours, calls = (state.time - mark.time) / _HOUR_MS, state.window.calls - mark.turn
    # A limit of 0 switches that kind of age off.
    too_old = bool(limits.hours and hours >= limits.hours)
    return too_old or bool(limits.model_calls and calls >= limits.model_calls)


class StateChanges(msgspec.Struct, frozen=True):
    """Lines to be told; `pressing` when one of them is not to wait for the start of a turn."""

    lines: tuple[str, ...] = ()
    pressing: bool = False

    def __bool__(self) -> bool:
        return bool(self.lines)


_Rows = tuple[KeyedRow, ...]
KnownRows = dict[str, tuple[tuple[object, _Rows], ...]]
"""By section, what its rows were made of, and the rows: of the last two states that were compared."""


def diff_states(
    before: HudState, after: HudState, known_rows: KnownRows | None = None, answered: HudState | None = None
) -> StateChanges:
    """Return the lines that bring a reader of `before` to `after`, in the order of the document.

    `known_rows` remembers rows: the next call compares with the same `before`, or, where something was told, with
    this `after`. `answered` is the state as the answers of tools have told it since: a row that is the same there as
    in `after` is not told again.
    """
    known_rows = {} if known_rows is None else known_rows
    lines: list[str] = []
    pressing = False
    for spec, reader in _TOLD_SECTIONS:
        old, new = reader(before), reader(after)
        if _unchanged(old, new):
            continue
        recent = known_rows.get(spec.name, ())
        old_rows, new_rows = _recalled_rows(spec, old, recent), _recalled_rows(spec, new, recent)
        known_rows[spec.name] = ((old, old_rows), (new, new_rows))
        if answered is not None and not _unchanged(old, reader(answered)):
            old_rows = _with_answered(old_rows, _rows(spec, reader(answered)), new_rows)
        section_lines = list(_diff_rows(spec, old_rows, new_rows))
        # A host that syncs its whole list would fill a delta with one line a todo.
        if spec.logic.summarize is not None and len(section_lines) > _SUMMARY_FROM:
            summarize = spec.logic.summarize
            section_lines = [summarize(*new) if len(spec.reads) > 1 else summarize(new)]
        lines += section_lines
        # A section whose changes can wait does not make a delta of its own.
        pressing = pressing or (bool(section_lines) and spec.pace == "now")
    return StateChanges(tuple(lines), pressing)


def _recalled_rows(spec: SectionSpec, fields: Any, recent: tuple[tuple[object, _Rows], ...]) -> _Rows:
    for seen, rows in recent:
        if _unchanged(seen, fields):
            return rows
    return _rows(spec, fields)


def _rows(spec: SectionSpec, fields: Any) -> _Rows:
    return spec.logic.rows(*fields) if len(spec.reads) > 1 else spec.logic.rows(fields)


def _with_answered(old: _Rows, answered: _Rows, new: _Rows) -> _Rows:
    """Return the rows that a reader of the old ones knows who was also told the `answered` ones.

    What differs from the new ones was not understood.
    """
    new_by_key = {row.key: row for row in new}
    answered_by_key = {row.key: row for row in answered}
    known_rows = {row.key: row for row in old if row.key in answered_by_key or row.key in new_by_key}
    known_rows |= {key: row for key, row in answered_by_key.items() if new_by_key.get(key) == row}
    # The order that an answer told is the one in which they are known: such a move is not told again.
    first = [key for key in answered_by_key if key in known_rows]
    return tuple(known_rows[key] for key in (*first, *(key for key in known_rows if key not in answered_by_key)))


def _diff_rows(spec: SectionSpec, before: _Rows, after: _Rows) -> Iterator[str]:
    noun = spec.noun
    old = {row.key: row for row in before}
    new = {row.key: row for row in after}
    for row in before:
        if row.key not in new and not row.closed:
            yield f"{noun} {spec.closing}: {shorten(row.text, _MAX_RECALLED)}"
    for row in after:
        old_row = old.get(row.key)
        if old_row is None:
            if not row.closed:
                yield f"{noun}: {row.text}"
        elif row.closed != old_row.closed:
            yield f"{noun} {'done' if row.closed else 'open again'}: {shorten(row.text, _MAX_RECALLED)}"
        elif row.text != old_row.text:
            # Where the key says which row is meant, the old text need not.
            named_by_key = len(after) == 1 or row.text.startswith(row.key)
            change = f"changed: {shorten(old_row.text, _MAX_RECALLED)} -> {row.text}"
            yield f"{noun} now: {row.text}" if named_by_key else f"{noun} {change}"
    old_order = [row.key for row in before if row.key in new]
    if spec.ordered and old_order != [row.key for row in after if row.key in old]:
        open_texts = (shorten(row.text, _MAX_ORDERED) for row in after if not row.closed)
        yield f"{noun}s in order: " + "; ".join(open_texts)


def delta_document(tag: str, lines: tuple[str, ...]) -> Element:
    """Return a delta as a document: its tag, and an item a line; one line alone stands behind the tag."""
    shown = [shorten(line, MAX_DELTA_LINE) for line in lines[:MAX_DELTA_LINES]]
    # The common case, and a list of one item would cost tokens for nothing.
    if len(lines) == 1:
        return Element("document", (), (Element("text", (), (f"[hud {tag}] {shown[0]}",)),))
    items = [Element("item", (), (line,)) for line in shown]
    if len(lines) > MAX_DELTA_LINES:
        items.append(h.more(hidden=len(lines) - MAX_DELTA_LINES, noun="more", see="snapshot").element())
    head = Element("text", (), (f"[hud {tag}]",))
    return Element("document", (), (head, Element("list", (), tuple(items))))


BAND_ADVICE: dict[Band, str] = {
    Band.YELLOW: "consider compacting at the next break point",
    Band.RED: "compact soon",
    Band.CRITICAL: "compact now; the host is about to",
}
"""One advisory for each band, told once at its entry, in neutral words (design, decided 7)."""


def short_token_count(tokens: int) -> str:
    """Return tokens in thousands where that loses nothing that matters: `12k`, `800`."""
    return f"{tokens / 1000:.0f}k" if tokens >= 1000 else str(tokens)


def usage_text(used: int | None, limit: int, *, assumed: bool = False, estimated: bool = False) -> str:
    """Return the window in use in words, as in `67% (134k/200k)`; what is assumed, estimated or unknown is said."""
    size = short_token_count(limit) + (" assumed" if assumed else "")
    if used is None:
        return f"usage unknown until the next report, window {size}"
    return f"{used * 100 / limit:.0f}% ({'~' if estimated else ''}{short_token_count(used)}/{size})"


def band_text(band: Band, entered: bool) -> str:
    """Return the band where it matters, with its advisory when it was entered just now; empty where it is green."""
    if band not in BAND_ADVICE:
        return ""
    return f", {band.value}: {BAND_ADVICE[band]}" if entered else f", {band.value}"


def trend_text(pace: str, calls_left: int | None, band: Band | None) -> str:
    """Return how usage moves, and how many calls away the next band is."""
    if calls_left is None or band is None:
        return f"; {pace}"
    calls = "1 call" if calls_left == 1 else f"{calls_left} calls"
    return f"; {pace}, about {calls} until {band.value}"


def tail_document(words: str, notice: str) -> Element:
    """Return the usage line; `notice` says what is wrong with the HUD itself."""
    lines = [Element("text", (), ("Context: ", words))]
    if notice:
        lines.append(Element("text", (), ("HUD: ", notice)))
    return Element("document", (), tuple(lines))
