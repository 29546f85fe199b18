"""What an operation is, and the tables that its definition fills: one definition serves the call, help and docs.

A module of operations is `hudkit.tools.<section>`, listed in `tools/__init__.py`. It says what it offers with
`@operation` and `@reading`, which spellings of 000 it understands with `@alias`, and how its section reads with
`@section_listing`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from hudkit.hud import SessionCore
from hudkit.log.event import Origin
from hudkit.sections.state import HudState

MAX_TEXT_BYTES = 4096
"""UTF-8 bytes of one text; a longer one is refused, never cut (abuse case E5)."""

MAX_VALUES = 200
"""Texts of one list argument."""

Text = Annotated[str, Meta(min_length=1, max_length=MAX_TEXT_BYTES, pattern=r"\S")]
"""A text that says something."""

AnyText = Annotated[str, Meta(max_length=MAX_TEXT_BYTES)]
"""A text that may be empty."""

ShortText = Annotated[str, Meta(max_length=64)]
"""A name of ours."""

OneText = Annotated[str, Meta(min_length=1, max_length=MAX_TEXT_BYTES, extra_json_schema={"pattern": r"\S"})]
"""A text that says something, beside a list in a union: msgspec 0.22 confuses a pattern there with the list's limits
and writes to memory that is not its own. `convert_arguments` checks what the schema says."""

TextOrTexts = OneText | Annotated[tuple[Text, ...], Meta(min_length=1, max_length=MAX_VALUES)]
"""One text or a list of them: each entry is recorded, all of them or none."""

Texts = Annotated[tuple[Text, ...], Meta(max_length=MAX_VALUES)]


class OperationArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Root of the argument structs; a field's `Meta` is its validation, its help and its schema."""


class EmptyArguments(OperationArguments, frozen=True):
    """The arguments of an operation that takes none."""


class OperationResult(msgspec.Struct, frozen=True):
    """What an operation answers: `text` for the agent (short markdown), `data` the same facts as plain values."""

    text: str
    data: dict[str, Any] = {}


A = TypeVar("A", bound=OperationArguments)
Run = Callable[[SessionCore, A, Origin], OperationResult]


class Operation(msgspec.Struct, frozen=True):
    """`example` are arguments that are right; `summary` is a sentence, `more` what else there is to say."""

    name: str
    arguments: type[OperationArguments]
    run: Run[Any]
    writes: bool
    example: Mapping[str, Any]
    summary: str
    more: str = ""


class OperationCall(msgspec.Struct, frozen=True):
    """An operation by name, with its arguments."""

    operation: str
    arguments: OperationArguments


class OperationAlias(msgspec.Struct, frozen=True):
    """Another spelling: its own arguments, and `to`, which says what call of an operation they are."""

    name: str
    arguments: type[OperationArguments]
    to: Callable[[Any], OperationCall]
    writes: bool
    example: Mapping[str, Any]
    summary: str
    more: str = ""


class AnswerRow(msgspec.Struct, frozen=True):
    """One line about one item: `label` names it (its id), `text` is data, `tags` are our words about it.

    `item` is what the row is about; `seq` is the event that last changed it.
    """

    label: str
    text: str
    tags: tuple[str, ...] = ()
    item: msgspec.Struct | None = None
    seq: int = 0

    @property
    def id(self) -> str:
        """Return the id by which an agent can name the item."""
        return str(getattr(self.item, "id", self.label))

    @property
    def data(self) -> dict[str, Any]:
        """Return the item as plain values."""
        return {"text": self.text, "kind": self.label} if self.item is None else plain_values(self.item)


class SectionListing(msgspec.Struct, frozen=True):
    """How a section reads. `also` are its other spellings, `replaces` what `update` takes for it (nothing, one text
    or a list of texts), `clears` whether `clear` empties it; an `ordered` one is shown from the first row on, the
    others up to the newest."""

    name: str
    title: str
    rows: Callable[[HudState], tuple[AnswerRow, ...]]
    also: tuple[str, ...] = ()
    replaces: Literal["", "text", "texts"] = ""
    clears: bool = False
    ordered: bool = False


OPERATIONS: dict[str, Operation] = {}
ALIASES: dict[str, OperationAlias] = {}
SECTION_LISTINGS: dict[str, SectionListing] = {}


def operation(name: str, arguments: type[A], *, example: Mapping[str, Any]) -> Callable[[Run[A]], Run[A]]:
    """Return a decorator that registers an operation that writes; a docstring's first paragraph is its summary."""

    def register(run: Run[A]) -> Run[A]:
        OPERATIONS[name] = Operation(name, arguments, run, True, example, *_doc(run))
        return run

    return register


def reading(
    name: str, arguments: type[A], *, example: Mapping[str, Any] | None = None
) -> Callable[[Callable[[SessionCore, A], OperationResult]], Callable[[SessionCore, A], OperationResult]]:
    """Return a decorator that registers an operation that only reads (who asks makes no difference then)."""

    def register(read: Callable[[SessionCore, A], OperationResult]) -> Callable[[SessionCore, A], OperationResult]:
        # One shape for all operations; who reads makes no difference.
        def run(session: SessionCore, args: A, _: Origin) -> OperationResult:
            return read(session, args)

        OPERATIONS[name] = Operation(name, arguments, run, False, example or {}, *_doc(read))
        return read

    return register


def alias(
    name: str, arguments: type[A], *, writes: bool = False, example: Mapping[str, Any] | None = None
) -> Callable[[Callable[[A], OperationCall]], Callable[[A], OperationCall]]:
    """Return a decorator that registers a pure function from another spelling's arguments to a call."""

    def register(to: Callable[[A], OperationCall]) -> Callable[[A], OperationCall]:
        ALIASES[name] = OperationAlias(name, arguments, to, writes, example or {}, *_doc(to))
        return to

    return register


def section_listing(
    name: str,
    title: str,
    *,
    also: tuple[str, ...] = (),
    replaces: Literal["", "text", "texts"] = "",
    clears: bool = False,
    ordered: bool = False,
) -> Callable[[Callable[[HudState], tuple[AnswerRow, ...]]], Callable[[HudState], tuple[AnswerRow, ...]]]:
    """Return a decorator that registers a function from the state to the rows of a section."""

    def register(rows: Callable[[HudState], tuple[AnswerRow, ...]]) -> Callable[[HudState], tuple[AnswerRow, ...]]:
        SECTION_LISTINGS[name] = SectionListing(name, title, rows, also, replaces, clears, ordered)
        return rows

    return register


def find_operation(name: str) -> Operation | OperationAlias | None:
    """Return the operation or the alias of this name, or `None`."""
    return OPERATIONS.get(name) or ALIASES.get(name)


def plain_values(value: msgspec.Struct) -> dict[str, Any]:
    """Return a struct as plain values under the names that leave the process, defaults included."""
    names = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
    fields = {encoded: getattr(value, name) for name, encoded in names}
    return {
        name: plain_values(field) if isinstance(field, msgspec.Struct) else msgspec.to_builtins(field)
        for name, field in fields.items()
    }


def _doc(function: Callable[..., Any]) -> tuple[str, str]:
    paragraphs = [" ".join(part.split()) for part in (function.__doc__ or "").strip().split("\n\n")]
    return paragraphs[0], " ".join(paragraphs[1:])
