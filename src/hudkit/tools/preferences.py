"""Operations on preferences: how the user likes things done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from hudkit.hud import SessionCore
from hudkit.log.event import Origin
from hudkit.log.payloads import PreferenceAdd, PreferenceConfirm, PreferenceRemove
from hudkit.sections.preferences import Preference
from hudkit.sections.state import HudState
from hudkit.tools.answer_text import PageArguments, derived_word, item_row, list_rows
from hudkit.tools.operation import (
    SECTION_LISTINGS,
    AnswerRow,
    OperationArguments,
    OperationResult,
    TextOrTexts,
    operation,
    reading,
    section_listing,
)
from hudkit.tools.record import add_to_section, remove_from_section
from hudkit.tools.resolve_item import ItemNames, resolve_items


class _NewPreference(OperationArguments, frozen=True):
    text: Annotated[TextOrTexts, Meta(description="What the user likes; of a list, each is one.")]


class _ThesePreferences(OperationArguments, frozen=True):
    id: Annotated[
        ItemNames, Meta(description="The preference, or a list of them: id, text, or words that no other has.")
    ]


@section_listing("preferences", "Preferences", replaces="texts", clears=True)
def _rows(state: HudState) -> tuple[AnswerRow, ...]:
    return tuple(item_row(item, item.text, derived_word(item)) for item in state.preferences)


def _resolve_all(state: HudState, names: str | Sequence[str]) -> list[Preference]:
    return resolve_items(state.preferences.items, names, "preference", lambda item: item.text)


@reading("preferences.list", PageArguments)
def _list(session: SessionCore, args: PageArguments) -> OperationResult:
    """List the preferences in full, the newest last."""
    return list_rows(SECTION_LISTINGS["preferences"], _rows(session.state), args, session.state.time)


@operation("preferences.add", _NewPreference, example={"text": "Short answers, details on request"})
def _add(session: SessionCore, args: _NewPreference, origin: Origin) -> OperationResult:
    """Add what the user likes: how to answer, to write, to work."""
    return add_to_section(session, origin, "preferences", "preference", args.text, PreferenceAdd)


@operation("preferences.confirm", _ThesePreferences, example={"id": "p1"})
def _confirm(session: SessionCore, args: _ThesePreferences, origin: Origin) -> OperationResult:
    """Say that derived preferences are right; they are not marked as derived any more."""
    return remove_from_section(
        session,
        origin,
        "preference",
        lambda state: _resolve_all(state, args.id),
        PreferenceConfirm,
        several=not isinstance(args.id, str),
        verb="Confirmed",
    )


@operation("preferences.remove", _ThesePreferences, example={"id": "p1"})
def _remove(session: SessionCore, args: _ThesePreferences, origin: Origin) -> OperationResult:
    """Remove what the user likes no longer."""
    return remove_from_section(
        session,
        origin,
        "preference",
        lambda state: _resolve_all(state, args.id),
        PreferenceRemove,
        several=not isinstance(args.id, str),
    )
