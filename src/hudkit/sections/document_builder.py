"""State to the documents of a frame's layers: the base (the whole HUD), a delta (what changed), the tail (usage).

A base is built again whenever an epoch begins, mostly of a state of which little changed: `DocumentBuilder` keeps the
elements of the sections that are the very same objects as the last time. Reducers return what they did not change as
it was, so that comparing with `is` is enough.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from operator import attrgetter, is_, is_not
from typing import Any

import msgspec

from hudkit.compose import Band, Density, Element, Node, h, shorten, text_of
from hudkit.compose.fitting.result import Measure
from hudkit.compose.fitting.sections import BlockForm, BlockForms, Part
from hudkit.compose.formats.markdown.verbatim import verbatim
from hudkit.compose.visible_text import LINE_SEPARATOR
from hudkit.config import StalenessSettings
from hudkit.lazy import lazy_pattern
from hudkit.sections.forms import (
    LAYOUT_TURN,
    PartMeasures,
    SectionItems,
    block_forms,
    section_elements,
    section_forms,
    section_items,
)
from hudkit.sections.items import ItemMark
from hudkit.sections.section import REASON_LEAD, KeyedRow, SectionSpec, ShownBlock, ViewOptions
from hudkit.sections.state import HudState
from hudkit.sections.table import SECTIONS
from hudkit.sections.task import TASK_CHARS

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

_MAX_STALE, _MAX_STALE_IN_TAIL = 4, 2
"""Items that the advice on stale ones names, in a base and in a tail."""

_MAX_STALE_CHARS = 40
"""Characters by which a stale item is named."""

_STALE_PRIORITY = 45

_IDLE_PRIORITY = 85
"""The priority of the advice that nothing gets done: behind the current step, before decisions."""

_HOUR_MS, _DAY_HOURS = 3_600_000, 24

_READERS: dict[str, Callable[[HudState], Any]] = {spec.name: attrgetter(*spec.reads) for spec in SECTIONS}
"""By section, what its view is made of: one object, or a tuple where it reads several fields."""

_TOLD_SECTIONS = tuple((spec, _READERS[spec.name]) for spec in SECTIONS if spec.pace != "never")

_TASK_LINE_PRIORITY = 99
"""The priority of two hundred characters of the task: before all but the task itself."""

_TASK_WHOLE_PRIORITY = 82
"""The priority of a longer task: behind all rules, blockers, errors and the current step, before all else."""

_TAG_PRIORITY, _HOW_PRIORITY = 83, -1
"""The priority of the line that says how the HUD is changed, behind the current step; and of all that the preamble
has to say, behind everything that only the HUD knows."""


class DocumentBuilder:
    """Builds the document of a state; what did not change since the last time is not built again."""

    def __init__(self) -> None:
        self._options: ViewOptions | None = None
        self._fields: dict[str, Any] = {}
        self._items: dict[str, SectionItems | None] = {}
        self._whole: dict[str, tuple[Element, ...]] = {}
        self._forms: dict[str, tuple[Part, ...]] = {}
        self._stale_items = _StaleItems()

    def document(self, state: HudState, options: ViewOptions, tag: str) -> Element:
        """Return the whole HUD at a density, unfitted: the preamble and all sections.

        `tag` is by what later changes are known; empty: there are none.
        """
        self._refresh(state, options)
        shown = [_preamble(tag, options.density)]
        for spec in SECTIONS:
            shown += self._whole_of(spec, options)
        shown += [_idle_advice(state, options), self._stale_items.advice(state, options)]
        if options.guided and options.density is Density.FULL:
            shown.append(h.text(key="guide")[_GUIDE])
        return Element("document", (), tuple([element for element in shown if element is not None]))

    def whole(self, state: HudState, options: ViewOptions, tag: str, share: int, bound: Measure) -> Element | None:
        """Return the whole HUD, every section a list and every text in full, where that fits by its bounds, and
        nothing is cut."""
        document = self.document(state, options, tag)
        costs = [bound(child) for child in document.children if isinstance(child, Element)]
        return None if self._cut_texts() or sum(costs) > share else document

    def parts(self, state: HudState, options: ViewOptions, tag: str, measures: PartMeasures) -> list[Part]:
        """Return what a fit chooses from, in the order of the document."""
        self._refresh(state, options)
        parts: list[Part] = [_preamble_forms(tag, options.density, measures)]
        for spec in SECTIONS:
            if spec.name not in self._forms:
                self._forms[spec.name] = self._forms_of(spec, options, measures)
            parts += self._forms[spec.name]
        advices = (
            ("idle", _IDLE_PRIORITY, _idle_advice(state, options)),
            ("staleness", _STALE_PRIORITY, self._stale_items.advice(state, options)),
        )
        for key, priority, advice in advices:
            if advice is not None:
                form = BlockForm(priority, (advice,), measures.block(advice))
                parts.append(BlockForms(key, text_of(advice), (form,)))
        return parts

    def items(self, state: HudState, options: ViewOptions) -> list[SectionItems]:
        """Return the items of all sections that have some, with their priorities."""
        self._refresh(state, options)
        return [items for items in self._items.values() if items is not None]

    def _refresh(self, state: HudState, options: ViewOptions) -> None:
        """Forget what was built of other fields of the state, or for other options."""
        # No section looks different beside the guide.
        options = msgspec.structs.replace(options, guided=False)
        if options != self._options:
            self._options = options
            self._fields, self._items, self._whole, self._forms = {}, {}, {}, {}
        for spec in SECTIONS:
            fields = _READERS[spec.name](state)
            if spec.name in self._fields and _unchanged(self._fields[spec.name], fields):
                continue
            self._fields[spec.name] = fields
            self._whole.pop(spec.name, None)
            self._forms.pop(spec.name, None)
            if spec.logic.items is not None:
                self._items[spec.name] = section_items(spec, fields, options)

    def _whole_of(self, spec: SectionSpec, options: ViewOptions) -> tuple[Element, ...]:
        whole = self._whole.get(spec.name)
        if whole is None:
            items = self._items.get(spec.name)
            if spec.logic.items is None:
                blocks = self._blocks_of(spec, options.density)
                whole = tuple([element for block in blocks for element in block.elements])
            else:
                whole = () if items is None else section_elements(items, options.density)
            self._whole[spec.name] = whole
        return whole

    def _blocks_of(self, spec: SectionSpec, density: Density) -> Sequence[ShownBlock]:
        assert spec.logic.show is not None
        fields = self._fields[spec.name]
        return spec.logic.show(*fields, density) if len(spec.reads) > 1 else spec.logic.show(fields, density)

    def _forms_of(self, spec: SectionSpec, options: ViewOptions, measures: PartMeasures) -> tuple[Part, ...]:
        if spec.logic.items is not None:
            items = self._items[spec.name]
            return () if items is None else (section_forms(items, options.density, measures),)
        allowed = list(Density)[list(Density).index(options.density) :]
        if spec.name == "task":
            # Two hundred characters of it are worth more than anything else, at the smallest density, too; and a
            # task that is longer is written in full before any list is.
            allowed = list(Density) if options.density is not Density.MINIMAL else [Density.COMPACT, Density.MINIMAL]
            blocks = [self._blocks_of(spec, density) for density in reversed(allowed)]
            return (required_task(block_forms(blocks, measures)[0], options.density),)
        return tuple(block_forms([self._blocks_of(spec, density) for density in reversed(allowed)], measures))

    def _cut_texts(self) -> bool:
        """Return whether a section hides or cuts something also where there is room for everything."""
        return any(items is not None and items.is_cut for items in self._items.values())


def _unchanged(before: Any, after: Any) -> bool:
    """Return whether both are the same objects: what a reducer did not touch is the very thing that it was."""
    if before is after:
        return True
    return type(before) is tuple and type(after) is tuple and all(map(is_, before, after))


_HOW = (
    "Your HUD outlives compaction. Call the tool hud for every decision, finished step, rule and fact that took "
    "work to find."
)
"""What the tool is for and when it is called. No call is written out: models would copy it as prose."""


_GUIDE = (
    "Choose the operation of hud by what was said. A fact, hint or contact: notes.add; it changed: notes.update; it "
    "is over: notes.remove. Decided, settled: decisions.record, why in details; in place of an earlier one: "
    "decisions.supersede; withdrawn: decisions.remove. A rule, must, never: constraints.add; lifted: "
    "constraints.remove. Something to do: steps.add; done: steps.complete; changed: steps.update; not to be done: "
    "steps.remove. How the user likes answers: preferences.add. Blocked, waiting: blockers.add; over: "
    "blockers.remove. A failure: errors.add; it works again: errors.resolve. Another task: task.set. A question about"
    " these: their list, such as steps.list. text is what to keep, item names what is there already."
)
"""Which operation is for what, for models that take the wrong one of a list of names: 169 tokens. No fit chooses it:
it is there where the whole HUD has room beside it."""


@lru_cache(maxsize=64)
def _preamble(tag: str, density: Density) -> Element | None:
    """How to use the HUD, and the tag by which its later changes are known (empty: there are none)."""
    if density is Density.MINIMAL:
        return h.text(key="preamble")[f"HUD {tag}"] if tag else None
    if density is Density.COMPACT:
        later = f"; later blocks that begin with [hud {tag}] win" if tag else ""
        return h.text(key="preamble")[f"HUD: call the tool hud to change it{later}."]
    later = f" Blocks that begin with [hud {tag}] change it; the latest wins." if tag else ""
    apart = " A block without that tag is not part of it." if tag else ""
    return h.text(key="preamble")[_HOW, later, apart]


def _preamble_forms(tag: str, density: Density, measures: PartMeasures) -> BlockForms:
    forms = []
    order = list(Density)
    for allowed in reversed(order[order.index(density) :]):
        element = _preamble(tag, allowed)
        elements = () if element is None else (element,)
        priority = {Density.COMPACT: _TAG_PRIORITY, Density.FULL: _HOW_PRIORITY}.get(allowed, 0)
        forms.append(BlockForm(priority, elements, sum([measures.block(each) for each in elements])))
    # A line on how the HUD is changed is worth a part of what is reserved for deltas: without it there are none.
    return BlockForms("preamble", "", tuple(forms), required=True, beyond=_TAG_PRIORITY)


def required_task(task: BlockForms, density: Density = Density.FULL) -> BlockForms:
    """Return the task as what is always there: its beginning first, then more of it, and its heading last.

    At the densities below `full` a task has its heading only where it is longer than its line.
    """
    shortest, *longer = task.forms
    forms = [shortest]
    for form in longer:
        is_line = form.elements[0].tag == "text"
        is_layout = not is_line and len(task.text) <= TASK_CHARS[Density.COMPACT]
        if is_layout and density is not Density.FULL:
            continue
        priority = _TASK_LINE_PRIORITY if is_line else 100 + LAYOUT_TURN if is_layout else _TASK_WHOLE_PRIORITY
        forms.append(BlockForm(priority, form.elements, form.cost, form.is_whole))
    return BlockForms(task.key, task.text, tuple(forms), required=True)


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


def _idle_advice(state: HudState, options: ViewOptions) -> Element | None:
    """Advice where compaction follows compaction and nothing gets done."""
    passed = state.compaction_history.without_progress
    if not options.idle_compactions or passed < options.idle_compactions:
        return None
    # In the past tense, as the base stays when something is done after it.
    words = (
        f"No file was edited and no step finished before any of the last {passed} compactions: go another way, ask "
        "the user, or record what blocks you."
    )
    return h.text(key="idle", priority=_IDLE_PRIORITY)[words]


def _stale_advice(state: HudState, options: ViewOptions) -> Element | None:
    """Advice on items that are open and old, in words that stay the same for the same items."""
    if options.density is Density.MINIMAL:
        return None
    stale = stale_items(state, options.staleness)
    return h.text(key="staleness", priority=_STALE_PRIORITY)[_stale_nodes(stale, _MAX_STALE)] if stale else None


def _stale_nodes(stale: Sequence[StaleItem], most: int) -> tuple[Node, ...]:
    """Return the advice on these items, of which so many are named by the words that the HUD shows."""
    nodes: list[Node] = ["Not touched for long: "]
    shown = stale[:most]
    for n, item in enumerate(shown):
        words = shorten(item.words, _MAX_STALE_CHARS)
        # What holds the separator must not look like two.
        is_code = LINE_SEPARATOR.strip() in words
        nodes += [LINE_SEPARATOR] if n else []
        nodes += [Element("code", (), (words,))] if is_code else verbatim(words, first=False, alone=False)
        # Items of one age have it behind the last of them.
        if item is shown[-1] or item.age != shown[n + 1].age:
            nodes.append(f" ({item.age})")
    more = f" and {len(stale) - most} more" if len(stale) > most else ""
    return (*nodes, f"{more}. Update, complete or remove what is over.")


class StaleItem(msgspec.Struct, frozen=True):
    """An open item that nobody touched for long: its words, the event of its last change, and its age (`2 days`)."""

    words: str
    seq: int
    age: str


def stale_items(state: HudState, limits: StalenessSettings) -> tuple[StaleItem, ...]:
    """Return the open items that are older than the limits.

    Age is by the time of the last event, or by the calls since.
    """
    return tuple(
        StaleItem(words, mark.seq, _age_words(state, mark, limits))
        for words, mark in _open_items(state)
        if _is_stale(state, mark, limits)
    )


def _open_items(state: HudState) -> Iterator[tuple[str, ItemMark]]:
    if state.task.description:
        # A task lasts: hours count, calls do not.
        yield "the task", ItemMark(state.task.seq, state.task.updated_at, state.window.calls)
    yield from ((step.description, step.mark) for step in state.steps.open)
    yield from ((blocker.description, blocker.mark) for blocker in state.blockers)


def _is_stale(state: HudState, mark: ItemMark, limits: StalenessSettings) -> bool:
    hours, calls = (state.time - mark.time) / _HOUR_MS, state.window.calls - mark.turn
    # A limit of 0 switches that kind of age off.
    too_old = bool(limits.hours and hours >= limits.hours)
    return too_old or bool(limits.model_calls and calls >= limits.model_calls)


def _age_words(state: HudState, mark: ItemMark, limits: StalenessSettings) -> str:
    """The age of a stale item by the limit that it passed, coarse, so that the same words last: whole days, below one
    whole hours; else how many times its limit of calls, as a number of calls."""
    hours = int((state.time - mark.time) / _HOUR_MS)
    if limits.hours and hours >= limits.hours:
        count, unit = (hours // _DAY_HOURS, "day") if hours >= _DAY_HOURS else (hours, "hour")
        return f"{count} {unit}" + ("" if count == 1 else "s")
    calls = state.window.calls - mark.turn
    return f"over {calls - calls % limits.model_calls} calls"


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
    lines: list[tuple[float, str]] = []
    pressing = False
    for spec, reader in _TOLD_SECTIONS:
        old, new = reader(before), reader(after)
        if old is new or _unchanged(old, new):
            continue
        recent = known_rows.get(spec.name, ())
        old_rows, new_rows = _recalled_rows(spec, old, recent), _recalled_rows(spec, new, recent)
        known_rows[spec.name] = ((old, old_rows), (new, new_rows))
        if answered is not None and not spec.contradicts and not _unchanged(old, reader(answered)):
            old_rows = _with_answered(old_rows, _rows(spec, reader(answered)), new_rows)
        section_lines = list(_diff_rows(spec, old_rows, new_rows))
        # A host that syncs its whole list would fill a delta with one line a todo.
        if spec.logic.summarize is not None and len(section_lines) > _SUMMARY_FROM:
            summarize = spec.logic.summarize
            section_lines = [summarize(*new) if len(spec.reads) > 1 else summarize(new)]
        lines += _with_priorities(spec, section_lines)
        # A section whose changes can wait does not make a delta of its own.
        pressing = pressing or (bool(section_lines) and spec.pace == "now")
    return StateChanges(_shown_first(lines), pressing)


def _with_priorities(spec: SectionSpec, lines: Sequence[str]) -> Iterator[tuple[float, str]]:
    """The lines of a section with their priorities: of two alike the one that the section keeps is the greater."""
    worth = _TASK_LINE_PRIORITY if spec.contradicts else spec.priority
    for n, line in enumerate(lines, 1):
        place = n / (len(lines) + 1)
        yield worth + (1 - place if spec.keeps == "oldest" else place), line


def _shown_first(lines: Sequence[tuple[float, str]]) -> tuple[str, ...]:
    """Return the lines in their order; where there are more than a delta shows, those that matter most are first."""
    if len(lines) > MAX_DELTA_LINES:
        ranked = sorted(range(len(lines)), key=lambda n: -lines[n][0])
        lines = [lines[n] for n in (*sorted(ranked[:MAX_DELTA_LINES]), *sorted(ranked[MAX_DELTA_LINES:]))]
    return tuple(line for _, line in lines)


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
    replaced = {key for row in after if row.key not in old for key in row.replaces}
    for row in before:
        if row.key not in new and row.key not in replaced and not row.closed:
            yield f"{noun} {spec.closing}: {row.brief(_MAX_RECALLED)}"
    for row in after:
        old_row = old.get(row.key)
        if row.quiet and (old_row is None or old_row.quiet):
            continue
        if old_row is None:
            if not row.closed:
                gone = "; ".join(old[key].brief(_MAX_RECALLED) for key in row.replaces if key in old)
                yield f"{noun}: {row.with_reason}" + (f" (replaces: {gone})" if gone else "")
        elif row.closed != old_row.closed:
            yield f"{noun} {'done' if row.closed else 'open again'}: {row.brief(_MAX_RECALLED)}"
        elif (row.gist or row.text) != (old_row.gist or old_row.text):
            # Where the key says which row is meant, the old text need not.
            named_by_key = len(after) == 1 or row.text.startswith(row.key)
            change = f"changed: {old_row.brief(_MAX_RECALLED)} -> {row.text}"
            yield f"{noun} now: {row.text}" if named_by_key else f"{noun} {change}"
    old_order = [row.key for row in before if row.key in new]
    if spec.ordered and old_order != [row.key for row in after if row.key in old]:
        open_texts = (shorten(row.text, _MAX_ORDERED) for row in after if not row.closed)
        yield f"{noun}s in order: " + "; ".join(open_texts)


def count_live(state: HudState) -> int:
    """Return how many live items the sections have of which a digest is made, the task among them."""
    rules = len(state.constraints) + len(state.preferences)
    whole = rules + len(state.blockers) + len(state.decisions) + len(state.notes)
    return 1 + whole + len(state.steps.open) + len(state.todos.open) + len(state.errors.open)


def count_heard(state: HudState) -> int:
    """Return how many items were read from plain words, and nobody has said whether they are right."""
    sections = (state.constraints, state.preferences, state.decisions, state.notes)
    return sum(item.derived for section in sections for item in section)


DIGEST_SECTIONS = (
    "task",
    "steps",
    "todos",
    "blockers",
    "constraints",
    "preferences",
    "decisions",
    "notes",
    "errors",
    "shared",
)
"""The sections that the digest is made of, in the order of its parts."""

_MAX_DIGEST_ITEM = 80
"""Characters of one item of the digest: it recalls what was told in full."""

_NOW_ONLY = ("steps", "todos")
"""Sections of which the digest names what is being done now, not all that is to be done."""


def digest_parts(base: HudState, shown: HudState, now: HudState, *, replacing: bool = False) -> Iterator[str]:
    """Yield what still holds of that which was told since the base, as short texts, what matters most first.

    `base` is the state that the base shows, `shown` the one as blocks show it. Of a section the newest item comes
    first, of steps and todos there is only what is being done now; with `replacing`, there is only what takes the
    place of something in the base.
    """
    specs = {spec.name: (spec, reader) for spec, reader in _TOLD_SECTIONS}
    for name in DIGEST_SECTIONS:
        spec, reader = specs[name]
        fields = reader(now)
        if _unchanged(reader(base), fields):
            continue
        base_rows = {row.key: row for row in _rows(spec, reader(base))}
        block_rows = {row.key: row for row in _rows(spec, reader(shown))}
        rows = [row for row in _rows(spec, fields) if not row.closed]
        if name in _NOW_ONLY:
            rows = _being_done(name, rows)
        for row in reversed(rows):
            if replacing and not base_rows.keys() & {row.key, *row.replaces}:
                continue
            if base_rows.get(row.key) != row and block_rows.get(row.key) == row:
                yield f"{spec.noun}: {row.brief(_MAX_DIGEST_ITEM)}"


def _being_done(name: str, rows: Sequence[KeyedRow]) -> list[KeyedRow]:
    """The first open step; of todos those that are in progress, the first one where none is."""
    running = [row for row in rows if name == "todos" and row.text.endswith(" (in progress)")]
    return running[:2][::-1] or list(rows[:1])


def delta_document(tag: str, lines: tuple[str, ...], last: tuple[str, ...] = ()) -> Element:
    """Return a delta as a document: its tag, and an item a line; one line alone stands behind the tag.

    Of `lines` the first `MAX_DELTA_LINES` are shown and the others counted; all of `last` are shown behind them.
    """
    shown = [shorten(line, MAX_DELTA_LINE) for line in (*lines[:MAX_DELTA_LINES], *last)]
    # The common case, and a list of one item would cost tokens for nothing.
    if len(shown) == 1:
        return Element("document", (), (Element("text", (), (f"[hud {tag}] ", *_line_nodes(shown[0]))),))
    items = [Element("item", (), _line_nodes(line)) for line in shown]
    if len(lines) > MAX_DELTA_LINES:
        items.append(h.more(hidden=len(lines) - MAX_DELTA_LINES, noun="more", see="hud snapshot").element())
    head = Element("text", (), (f"[hud {tag}]",))
    return Element("document", (), (head, Element("list", (), tuple(items))))


_LINE = lazy_pattern(
    r"(?P<lead>[a-z][a-z ]*: (?:(?<=agent: )(?:the parent|subagent [^:\n]{0,40}), [a-z]+: )?)(?P<words>.*?)"
    r"(?P<label>(?: \((?:derived|editing|reading|referenced|in progress|set by an agent"
    r"|user, this project|user, all sessions)\)| \[from a tool\])*"
    r"(?: …)?)",
    re.DOTALL,
)
"""A line of a delta: the HUD's own words, the item's, and the HUD's labels behind them."""

_ARROW = lazy_pattern("( -> )")
_PARENTHESES = lazy_pattern(
    r"((?: \((?:derived|user, this project|user, all sessions)\)| \[from a tool\])? \(because: "
    r"|(?: …|\))? \(replaces: |\)$)"
)
"""What stands between two texts in one line, or behind the last."""


def _line_nodes(line: str) -> tuple[Node, ...]:
    """Return a line of a delta or a digest so that the words of its item keep their bytes."""
    match = _LINE.fullmatch(line)
    if match is None:
        return verbatim(line)
    lead, words, label = match["lead"], match["words"], match["label"]
    is_change, has_more = " changed: " in f" {lead}", " (replaces: " in words or REASON_LEAD in words
    pieces = (_ARROW if is_change else _PARENTHESES).split(words) if is_change or has_more else [words]
    nodes: list[Node] = [lead]
    for n, piece in enumerate(pieces):
        nodes += [piece] if n % 2 else verbatim(piece, first=False, alone=len(pieces) == 1) if piece else []
    return (*nodes, label) if label else tuple(nodes)


BAND_ADVICE: dict[Band, str] = {
    Band.YELLOW: "consider compacting at the next break point",
    Band.RED: "compact soon",
    Band.CRITICAL: "compact now",
}
"""One advisory for each band, told once at its entry, in neutral words (design, decided 7)."""


def short_token_count(tokens: int) -> str:
    """Return tokens in thousands where that loses nothing that matters: `12k`, `800`."""
    return f"{tokens / 1000:.0f}k" if tokens >= 1000 else str(tokens)


def usage_text(used: int | None, limit: int, *, doubt: str = "", estimated: bool = False) -> str:
    """Return the window in use in words, as in `67% (134k/200k)`; what is assumed, estimated or unknown is said.

    `doubt` is where the window's size comes from, if nobody said it: `assumed`, `observed`.
    """
    size = short_token_count(limit) + (f" {doubt}" if doubt else "")
    if used is None:
        return f"usage unknown until the next report, window {size}"
    return f"{used * 100 / limit:.0f}% ({'~' if estimated else ''}{short_token_count(used)}/{size})"


_MAX_MODEL = 32
"""Characters of a model's name that is shown; a longer one is no name that a reader knows."""

_MODEL_VERSION = lazy_pattern(r"[-@]\d{4}-?\d\d-?\d\d$|:latest$")


def model_words(model: str) -> str:
    """Return a model's name as it stands behind the window in use, without its provider and its date.

    Empty where it is not known or would have to be cut or escaped.
    `model_words("anthropic/claude-sonnet-4-5-20250929")` is ` of claude-sonnet-4-5`.
    """
    name = _MODEL_VERSION.sub("", model.strip().rpartition("/")[2])
    return f" of {name}" if name and len(name) <= _MAX_MODEL and verbatim(name) == (name,) else ""


def band_text(band: Band, entered: bool, *, compacts: bool = False) -> str:
    """Return the band where it matters, with its advisory when it was entered just now; empty where it is green.

    `compacts` says that the host compacts by itself.
    """
    if band not in BAND_ADVICE:
        return ""
    soon = "; the host is about to" if compacts and band is Band.CRITICAL else ""
    return f", {band.value}: {BAND_ADVICE[band]}{soon}" if entered else f", {band.value}"


def trend_text(pace: str, calls_left: int | None, band: Band | None) -> str:
    """Return how usage moves, and how many calls away the next band is."""
    if calls_left is None or band is None:
        return f"; {pace}"
    calls = "1 call" if calls_left == 1 else f"{calls_left} calls"
    return f"; {pace}, about {calls} until {band.value}"


def tail_document(words: str, notice: str, digest: Sequence[str] = (), stale: Sequence[StaleItem] = ()) -> Element:
    """Return the usage line, a list of what holds now, and which items are `stale`; `notice` says what is wrong with
    the HUD itself."""
    lines = [Element("text", (), ("Context: ", words))]
    if digest:
        lines.append(Element("text", (), ("Now:",)))
        lines.append(Element("list", (), tuple(Element("item", (), _line_nodes(part)) for part in digest)))
    if stale:
        lines.append(Element("text", (), _stale_nodes(stale, _MAX_STALE_IN_TAIL)))
    if notice:
        lines.append(Element("text", (), ("HUD: ", notice)))
    return Element("document", (), tuple(lines))
