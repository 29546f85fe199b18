"""Preferences: how the user likes things done. They leave more room than a rule, and survive as rules do."""

from __future__ import annotations

from collections.abc import Iterator

from hudkit.log.event import Event, Origin
from hudkit.log.payloads import (
    PreferenceAdd,
    PreferenceConfirm,
    PreferenceRemove,
    SectionClear,
    SectionReplace,
    StatementDoubt,
    StatementPromote,
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

_FROM_TOOL = 64
"""The priority of a preference that a tool's output said: that of a note."""


class Preference(SectionItem, frozen=True, omit_defaults=True):
    """What the user likes; a `derived` one was read from plain words, and `doubt` is a later sentence against it."""

    text: str = ""
    derived: bool = False
    doubt: str = ""
    suspended: bool = False

    @property
    def words(self) -> str:
        """Return the preference."""
        return self.text


class PreferencesState(ItemList[Preference], frozen=True, omit_defaults=True):
    """Live preferences in the order in which they were added; one text stands once.

    `refused` are the texts of derived ones that somebody removed: they are not derived again.
    """

    refused: tuple[str, ...] = ()


def _reduce(preferences: PreferencesState, event: Event) -> PreferencesState:
    match event.payload:
        case PreferenceAdd(text=text, id=id, derived=derived):
            if derived and not may_derive(preferences, text):
                return preferences
            return add_item(preferences, "p", Preference(id, mark_of(event), text, derived))
        case PreferenceRemove(id=id, text=text, derived=derived):
            preference = preferences.get(id) if id else preferences.find(text)
            if preference is None:
                return preferences
            after = remove_item(preferences, preference.id)
            return after if derived else remember_refused(preferences, after)
        case PreferenceConfirm(id=id):
            return confirm_item(preferences, id, event)
        case StatementPromote(section="preferences", text=text):
            return promote_item(preferences, text, event)
        case StatementDoubt(section="preferences", text=text, by=by, suspended=suspended):
            return doubt_item(preferences, text, by, suspended)
        case SectionReplace(section="preferences", values=values):
            after = replace_texts(preferences, "p", values, lambda text: Preference("", mark_of(event), text))
            return remember_refused(preferences, after)
        case SectionClear(section="preferences" | ""):
            return remember_refused(preferences, clear_items(preferences))
    return preferences


def _items(preferences: PreferencesState) -> Iterator[ShownItem]:
    for item in preferences.items:
        # What may be over leaves with the next base.
        if item.doubt and not item.suspended:
            continue
        priority = _FROM_TOOL if item.mark.origin is Origin.TOOL else None
        yield ShownItem(item.id, item.text, label=derived_label(item), priority=priority)


def _rows(preferences: PreferencesState) -> tuple[KeyedRow, ...]:
    return tuple(KeyedRow(item.id, item.text + derived_label(item)) for item in preferences.items)


LOGIC = SectionLogic(
    handles=(
        PreferenceAdd,
        PreferenceRemove,
        PreferenceConfirm,
        StatementDoubt,
        StatementPromote,
        SectionReplace,
        SectionClear,
    ),
    reduce=_reduce,
    items=_items,
    rows=_rows,
)
