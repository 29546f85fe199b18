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
from hudkit.sections.sandboxed import READABLE_FIELDS, SectionDefinition, check_definition
from hudkit.sections.state import HudState
from hudkit.tools.lines import Page, echo, listing
from hudkit.tools.operation import SHOWN, Answer, Arguments, Row, Short, Text, operation, reading, section
from hudkit.tools.record import record

MOST = 16
"""Custom sections of a session."""

_REFUSED = OperationError(
    "an agent may not define custom sections here",
    hint="The user can allow it: `agent = true` below [custom] in the settings.",
)


class NewSection(Arguments, frozen=True):
    name: Annotated[
        Short, Meta(description="1 to 32 of a-z, 0-9 and -; another definition of this name replaces it.")
    ]
    source: Annotated[
        Text, Meta(description="Python text that defines section(...), called with what `reads` names.")
    ]
    reads: Annotated[
        tuple[Short, ...],
        Meta(max_length=len(READABLE_FIELDS), description=f"What it is given: {', '.join(READABLE_FIELDS)}."),
    ] = ()
    title: Annotated[Short, Meta(description="Its heading; else its name.")] = ""
    priority: Annotated[int, Meta(ge=0, le=60, description="Higher is kept longer; files have 40.")] = 30


class ThatSection(Arguments, frozen=True):
    name: Annotated[Short, Meta(description="The name of a section that was defined with sections.define.")]


@section("custom", "Custom sections")
def rows(state: HudState) -> tuple[Row, ...]:
    return tuple(Row(one.name, _told(one), _tags(one), seq=one.mark.seq) for one in state.custom)


def _tags(one: CustomSection) -> tuple[str, ...]:
    status = "paused" if one.paused else "failed" if one.error else ""
    return tuple(tag for tag in ("" if one.source else "from a file", status) if tag)


def _told(one: CustomSection) -> str:
    return one.error or one.title or one.name


@reading("sections.list", Page)
def list_(session: SessionCore, args: Page) -> Answer:
    """List the custom sections, and what is wrong with them."""
    return listing(SHOWN["custom"], rows(session.state), args)


@operation(
    "sections.define",
    NewSection,
    example={
        "name": "glance",
        "reads": ["steps"],
        "source": "def section(steps):\n    return f'{len(steps)} steps are planned'",
    },
)
def define(session: SessionCore, args: NewSection, origin: Origin) -> Answer:
    """Define a section of the HUD as a program, which runs in a sandbox whenever what it reads has changed.

    It returns text, a list of texts, a dict, {"rows": [[...]]}, or jsx("<list>...</list>", name=value); or a dict of
    these by density (full, compact, minimal). It has 50 ms, sees nothing but its arguments, and is paused after
    three failures in a row.
    """
    if origin is Origin.AGENT and not session.settings.custom.agent:
        raise _REFUSED
    wanted = SectionDefinition(args.name, args.source, args.title, args.reads, args.priority)
    try:
        check_definition(wanted)
    except ConfigError as error:
        raise OperationError(error.message, hint=f"{error.hint}." if error.hint else "") from None

    def decide(state: HudState) -> Sequence[Payload]:
        known = state.custom.get(args.name)
        if known is not None and not known.source:
            raise OperationError(f"{args.name} is defined by a file", hint="Choose another name.")
        if known is None and len(state.custom) >= MOST:
            raise OperationError(f"there are {MOST} custom sections already", hint="Remove one first.")
        return (SectionDefine(args.name, args.source, args.title, args.reads, args.priority),)

    change = record(session, origin, decide)
    made = session.prepared().custom.get(args.name)
    data = {"name": args.name, "recorded": bool(change), "error": made.error if made else ""}
    if made is not None and made.error:
        return Answer(f"Defined section {args.name}, but it failed: {made.error}{change.note}", data)
    return Answer(f"Defined section {args.name}.{change.note}", data)


@operation("sections.remove", ThatSection, example={"name": "glance"})
def remove(session: SessionCore, args: ThatSection, origin: Origin) -> Answer:
    """Remove a custom section that was defined with sections.define."""

    def decide(state: HudState) -> Sequence[Payload]:
        known = state.custom.get(args.name)
        if known is None or not known.source:
            own = ", ".join(one.name for one in state.custom if one.source)
            why = f"There are: {own}." if own else "There are none that an operation defined."
            raise OperationError(f"there is no section {echo(args.name, 40)} to remove", hint=why)
        return (SectionRemove(args.name),)

    change = record(session, origin, decide)
    return Answer(f"Removed section {args.name}.{change.note}", {"name": args.name, "recorded": bool(change)})
