"""Constraints: rules that hold until they are removed."""

from __future__ import annotations

from collections.abc import Iterator

from hudkit.lazy import lazy_pattern
from hudkit.log.event import Event, Origin
from hudkit.log.payloads import (
    LESS_SURE_FORMS,
    ConstraintAdd,
    ConstraintConfirm,
    ConstraintRemove,
    SectionClear,
    SectionReplace,
    StatementDoubt,
    StatementPromote,
    TaskSet,
)
from hudkit.sections.items import (
    ItemList,
    SectionItem,
    add_item,
    clear_items,
    confirm_item,
    doubt_item,
    mark_of,
    may_derive,
    promote_item,
    remember_refused,
    remove_item,
    replace_texts,
)
from hudkit.sections.section import KeyedRow, SectionLogic, ShownItem, derived_label

_FROM_TOOL = 65
"""The priority of a rule that a tool's output said: that of a note."""

_BY_GRAMMAR = 67
"""The priority of a derived rule that is known by its grammar alone: behind the steps, which were recorded. One in
ten of such is none."""

_WORD = lazy_pattern(r"[^\W_]+")

_MIN_WORDS = 3
"""Words of a derived rule from which on it is compared: fewer are in many rules."""

_MOST_OF = 0.8
"""The part of a task that a derived rule has to be for the two to be the same."""


class Constraint(SectionItem, frozen=True, omit_defaults=True):
    """A rule; a `derived` one was read from plain words, and `source` tells where it stands.

    `doubt` is a later sentence against it; it names an exception where the rule is `suspended`. `by_grammar`: no
    table of wordings knows the sentence that it was read from.
    """

    text: str = ""
    derived: bool = False
    source: str = ""
    doubt: str = ""
    suspended: bool = False
    by_grammar: bool = False

    @property
    def words(self) -> str:
        """Return the rule."""
        return self.text


class ConstraintsState(ItemList[Constraint], frozen=True, omit_defaults=True):
    """Live constraints in the order in which they were added; one text stands once.

    `refused` are the texts of derived ones that somebody removed: they are not derived again.
    """

    refused: tuple[str, ...] = ()


def _reduce(constraints: ConstraintsState, event: Event) -> ConstraintsState:
    match event.payload:
        case ConstraintAdd(text=text, id=id, derived=derived, source=source, form=form):
            if derived and (not may_derive(constraints, text) or _said_by(constraints, text, derived=False)):
                return constraints
            if not derived:
                # Who states a rule that was derived, and more, says it himself: it stands once.
                for derived_rule in _said_by(constraints, text, derived=True):
                    constraints = remove_item(constraints, derived_rule.id)
            new = Constraint(id, mark_of(event), text, derived, source, by_grammar=form in LESS_SURE_FORMS)
            return add_item(constraints, "c", new)
        case ConstraintRemove(id=id, text=text, derived=derived):
            rule = constraints.get(id) if id else constraints.find(text)
            if rule is None:
                return constraints
            after = remove_item(constraints, rule.id)
            # What a rule takes back it may derive again; what a person removes it may not.
            return after if derived else remember_refused(constraints, after)
        case TaskSet(description=description):
            # An order that somebody begins with reads like a rule, until the agent says that it is the task.
            for rule in constraints.items:
                if rule.derived and rule.by_grammar and _is_most_of(rule.text, description):
                    constraints = remove_item(constraints, rule.id)
            return constraints
        case ConstraintConfirm(id=id):
            return confirm_item(constraints, id, event)
        case StatementPromote(section="constraints", text=text):
            return promote_item(constraints, text, event)
        case StatementDoubt(section="constraints", text=text, by=by, suspended=suspended):
            return doubt_item(constraints, text, by, suspended)
        case SectionReplace(section="constraints", values=values):
            after = replace_texts(constraints, "c", values, lambda text: Constraint("", mark_of(event), text))
            return remember_refused(constraints, after)
        case SectionClear(section="constraints" | ""):
            return remember_refused(constraints, clear_items(constraints))
    return constraints


def _said_by(constraints: ConstraintsState, text: str, *, derived: bool) -> tuple[Constraint, ...]:
    """Return the rules, derived ones or stated ones, of which a stated one says in the same words what a derived one
    does: those that `text` contains where it is the stated one, else those that contain it."""
    words = _comparable(text)
    return tuple(
        rule
        for rule in constraints.items
        if rule.derived is derived
        and rule.text != text
        and _contains(words if derived else _comparable(rule.text), _comparable(rule.text) if derived else words)
    )


def _is_most_of(rule: str, task: str) -> bool:
    words, whole = _comparable(rule), _comparable(task)
    return _contains(whole, words) and len(words) >= _MOST_OF * len(whole)


def _comparable(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _contains(stated: str, derived: str) -> bool:
    return derived in stated and derived.count(" ") > _MIN_WORDS


def _items(constraints: ConstraintsState) -> Iterator[ShownItem]:
    for rule in constraints.items:
        # What may be over leaves with the next base.
        if rule.doubt and not rule.suspended:
            continue
        # What a tool's output says is nobody's rule until somebody confirms it.
        priority = _BY_GRAMMAR if rule.derived and rule.by_grammar else None
        if rule.mark.origin is Origin.TOOL:
            priority = _FROM_TOOL
        yield ShownItem(rule.id, rule.text, label=derived_label(rule), priority=priority)


def _rows(constraints: ConstraintsState) -> tuple[KeyedRow, ...]:
    return tuple(KeyedRow(rule.id, rule.text + derived_label(rule)) for rule in constraints.items)


LOGIC = SectionLogic(
    handles=(
        ConstraintAdd,
        ConstraintRemove,
        ConstraintConfirm,
        StatementDoubt,
        StatementPromote,
        SectionReplace,
        SectionClear,
        TaskSet,
    ),
    reduce=_reduce,
    items=_items,
    rows=_rows,
)
