"""Operations on custom sections: an agent's own, as text, where the user's settings let it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from hudkit.errors import ConfigError, OperationError
from hudkit.hud import SessionCore
from hudkit.log import Payload
from hudkit.log.event import Origin
from hudkit.log.payloads import SectionDefine, SectionRemove
from hudkit.sections.custom import CustomSection
from hudkit.sections.sandboxed import READABLE_FIELDS
from hudkit.sections.state import HudState
from hudkit.tools.answer_text import PageArguments, list_rows, quote
from hudkit.tools.operation import (
    SECTION_LISTINGS,
    AnswerRow,
    OperationArguments,
    OperationResult,
    ShortText,
    Text,
    operation,
    reading,
    section_listing,
)
from hudkit.tools.record import record

_MAX_SECTIONS = 16
"""Custom sections of a session."""

_REFUSED = OperationError(
    "an agent may not define custom sections here",
    hint="The user can allow it: `agent = true` below [custom] in the settings.",
)


class _NewSection(OperationArguments, frozen=True):
    name: Annotated[
        ShortText, Meta(description="1 to 32 of a-z, 0-9 and -; another definition of this name replaces it.")
    ]
    source: Annotated[
        Text, Meta(description="Python text that defines section(...), called with what `reads` names.")
    ]
    reads: Annotated[
        tuple[ShortText, ...],
        Meta(max_length=len(READABLE_FIELDS), description=f"What it is given: {', '.join(READABLE_FIELDS)}."),
    ] = ()
    title: Annotated[ShortText, Meta(description="Its heading; else its name.")] = ""
    priority: Annotated[int, Meta(ge=0, le=60, description="Higher is kept longer; read files have 40.")] = 30


class _ThatSection(OperationArguments, frozen=True):
    name: Annotated[ShortText, Meta(description="The name of a section that was defined with sections.define.")]


@section_listing("custom", "Custom sections")
def _rows(state: HudState) -> tuple[AnswerRow, ...]:
    return tuple(
        AnswerRow(section.name, _state_words(section), _tags(section), seq=section.mark.seq)
        for section in state.custom
    )


def _tags(section: CustomSection) -> tuple[str, ...]:
    status = "paused" if section.paused else "failed" if section.error else ""
    source = f"from {section.package}" if section.package else "" if section.source else "from a file"
    return tuple(tag for tag in (source, status) if tag)


def _state_words(section: CustomSection) -> str:
    return section.error or section.title or section.name


@reading("sections.list", PageArguments)
def _list(session: SessionCore, args: PageArguments) -> OperationResult:
    """List the custom sections, and what is wrong with them."""
    return list_rows(SECTION_LISTINGS["custom"], _rows(session.state), args)


@operation(
    "sections.define",
    _NewSection,
    example={
        "name": "glance",
        "reads": ["steps"],
        "source": "def section(steps):\n    return f'{len(steps)} steps are planned'",
    },
)
def _define(session: SessionCore, args: _NewSection, origin: Origin) -> OperationResult:
    """Define a section of the HUD as a program, which runs in a sandbox whenever what it reads has changed.

    It returns text, a list of texts, a dict, {"rows": [[...]]}, or jsx("<list>...</list>", name=value); or a dict of
    these by density (full, compact, minimal). It has 50 ms, sees nothing but its arguments, and is paused after
    three failures in a row.
    """
    # The channel decides, not what an argument says.
    if origin is Origin.AGENT and not session.settings.custom.agent:
        raise _REFUSED
    from hudkit.sections.sandboxed import SectionDefinition, check_definition

    wanted = SectionDefinition(args.name, args.source, args.title, args.reads, args.priority)
    try:
        check_definition(wanted)
    except ConfigError as error:
        raise OperationError(error.message, hint=f"{error.hint}." if error.hint else "") from None

    def decide(state: HudState) -> Sequence[Payload]:
        section = state.custom.get(args.name)
        # A file is the user's, and an agent does not overrule it.
        if section is not None and not section.source:
            source = section.package or "a file"
            raise OperationError(f"{args.name} is defined by {source}", hint="Choose another name.")
        if section is None and len(state.custom) >= _MAX_SECTIONS:
            raise OperationError(f"there are {_MAX_SECTIONS} custom sections already", hint="Remove one first.")
        return (SectionDefine(args.name, args.source, args.title, args.reads, args.priority),)

    change = record(session, origin, decide)
    # Run at once: whoever wrote it reads in this answer whether it works, and not in a later frame.
    section = session.prepare().custom.get(args.name)
    data = {"name": args.name, "recorded": bool(change), "error": section.error if section else ""}
    if section is not None and section.error:
        return OperationResult(f"Defined section {args.name}, but it failed: {section.error}{change.note}", data)
    return OperationResult(f"Defined section {args.name}.{change.note}", data)


@operation("sections.remove", _ThatSection, example={"name": "glance"})
def _remove(session: SessionCore, args: _ThatSection, origin: Origin) -> OperationResult:
    """Remove a custom section that was defined with sections.define."""

    def decide(state: HudState) -> Sequence[Payload]:
        section = state.custom.get(args.name)
        if section is None or not section.source:
            own = ", ".join(each.name for each in state.custom if each.source)
            why = f"There are: {own}." if own else "There are none that an operation defined."
            raise OperationError(f"there is no section {quote(args.name, 40)} to remove", hint=why)
        return (SectionRemove(args.name),)

    change = record(session, origin, decide)
    return OperationResult(
        f"Removed section {args.name}.{change.note}", {"name": args.name, "recorded": bool(change)}
    )
