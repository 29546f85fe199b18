"""Operations on the whole state: read it, replace or clear a section, and 000's names for that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Annotated

from msgspec import Meta

from hudkit.errors import OperationError
from hudkit.hud import SessionCore
from hudkit.log.event import Origin
from hudkit.log.payloads import Payload, SectionClear, SectionReplace
from hudkit.sections.state import STATE_FIELDS, HudState, state_after
from hudkit.tools.answer_text import id_text, list_rows, quote
from hudkit.tools.operation import (
    SECTION_LISTINGS,
    AnyText,
    OperationArguments,
    OperationCall,
    OperationResult,
    SectionListing,
    ShortText,
    Texts,
    alias,
    operation,
    reading,
)
from hudkit.tools.record import record


class _OneOrAll(OperationArguments, frozen=True):
    section: Annotated[ShortText | None, Meta(description="A section; without it, all.")] = None


class _Replaced(OperationArguments, frozen=True):
    section: Annotated[ShortText, Meta(description="A section, in either spelling (notes, keyDecisions).")]
    value: Annotated[
        AnyText | Texts | None,
        Meta(description="A text for the task, a list of texts for the others; null or an empty one clears."),
    ]


def readable_sections() -> tuple[SectionListing, ...]:
    """Return the sections that can be read, in the order of the document."""
    return tuple(SECTION_LISTINGS[name] for name in STATE_FIELDS if name in SECTION_LISTINGS)


def _resolve_section(
    name: str, verb: str = "read", may: Callable[[SectionListing], object] = lambda _: True
) -> SectionListing:
    """The section of this name in either spelling. Raises `OperationError` with those that can be meant."""
    folded = name.strip().casefold()
    spellings = {
        spelling.casefold(): (spelling, section)
        for section in readable_sections()
        for spelling in (section.name, *section.also)
    }
    if folded in spellings and may(spellings[folded][1]):
        return spellings[folded][1]
    # Only names that would work are suggested: a call that is copied from a refusal has to be right.
    able = {key: spelling for key, (spelling, section) in spellings.items() if may(section)}
    near = get_close_matches(folded, able, 1, 0.8)
    mend = {"wrong": name, "right": able[near[0]]} if near else {}
    problem = f"cannot be {verb}" if folded in spellings else "is not a section"
    names = ", ".join(section.name for section in readable_sections() if may(section))
    raise OperationError(f"{quote(name, 40)} {problem}", hint=f"Sections: {names}.", **mend)


@reading("snapshot", _OneOrAll)
def _snapshot(session: SessionCore, args: _OneOrAll) -> OperationResult:
    """Read the full state with all ids, also what the view leaves out; or one section of it."""
    state = session.state
    chosen = readable_sections() if args.section is None else (_resolve_section(args.section),)
    parts, data = [f"# State at event {state.seq}"], {}
    for section in chosen:
        rows = section.rows(state)
        data[section.name] = [row.data for row in rows]
        # An empty section is only mentioned where it was asked for.
        if rows or args.section is not None:
            head, _, body = list_rows(section, rows, now=state.time).text.partition("\n")
            parts.append(f"## {head}" + (f"\n\n{body}" if body else ""))
    if len(parts) == 1:
        parts.append("Nothing is recorded yet.")
    return OperationResult("\n\n".join(parts), {"seq": state.seq, "sections": data})


@operation("update", _Replaced, example={"section": "notes", "value": ["Refresh tokens live 7 days"]})
def _update(session: SessionCore, args: _Replaced, origin: Origin) -> OperationResult:
    """Replace a section whole: the task by a text, the others by a list of texts; null clears it.

    An item whose text stays keeps its id.
    """
    section = _resolve_section(args.section, "replaced", lambda section: section.replaces)
    # Null, an empty text and an empty list mean the same: models send all three.
    if not args.value:
        return _emptied(session, origin, section)
    if isinstance(args.value, str):
        values: tuple[str, ...] = (args.value,)
        if section.replaces == "texts":
            raise OperationError(
                f'"value" of {section.name} must be a list of texts, not a text',
                wrong=args.value,
                right=[args.value],
            )
        if not args.value.strip():
            raise OperationError('"value" is empty', hint="null clears the section.")
    else:
        values = args.value
        if section.replaces == "text":
            raise OperationError(
                f'"value" of {section.name} must be a text, not a list', wrong=list(values), right=values[0]
            )

    def decide(state: HudState) -> Sequence[Payload]:
        payload = SectionReplace(section.name, values)
        # Ids and marks would differ where the texts are the same.
        same = _texts(section, state) == _texts(section, state_after(state, payload))
        return () if same else (payload,)

    change = record(session, origin, decide)
    rows = section.rows(change.after)
    ids = [row.id for row in rows]
    names = ", ".join(id_text(id) for id in ids[:20]) + (f" and {len(ids) - 20} more" if len(ids) > 20 else "")
    text = f"{'Replaced' if change else 'No change in'} {section.name}: {names}."
    return OperationResult(text + change.note, {"section": section.name, "ids": ids, "recorded": bool(change)})


@operation("clear", _OneOrAll, example={"section": "notes"})
def _clear(session: SessionCore, args: _OneOrAll, origin: Origin) -> OperationResult:
    """Clear a section; without one, all that you maintain. The log keeps everything."""
    if args.section is None:
        return _emptied(session, origin, None)
    return _emptied(session, origin, _resolve_section(args.section, "cleared", lambda section: section.clears))


def _emptied(session: SessionCore, origin: Origin, section: SectionListing | None) -> OperationResult:
    name = section.name if section else ""
    change = record(session, origin, lambda _: (SectionClear(name),))
    text = f"Cleared {name or 'all sections'}." if change else f"{name or 'Everything'} is empty already."
    return OperationResult(text, {"section": name or None, "recorded": bool(change)})


def _texts(section: SectionListing, state: HudState) -> list[str]:
    return [row.text for row in section.rows(state)]


@alias("hud", _OneOrAll)
def _hud(args: _OneOrAll) -> OperationCall:
    """Read the full state, or one section of it."""
    return OperationCall("snapshot", args)


@alias("hud_update", _Replaced, writes=True, example={"section": "currentTask", "value": "Implement auth"})
def _hud_update(args: _Replaced) -> OperationCall:
    """Replace a section whole; null clears it."""
    return OperationCall("update", args)


@alias("hud_clear", _OneOrAll, writes=True, example={"section": "notes"})
def _hud_clear(args: _OneOrAll) -> OperationCall:
    """Clear a section, or all that you maintain."""
    return OperationCall("clear", args)
