"""What tests ask of captured requests: where one does not begin the next one, and where the HUD stands in it."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise, takewhile
from typing import Any, TypeVar

import msgspec

from hudkit.models.captured_request import CapturedRequest, RequestPiece
from hudkit.tools.operation import find_operation

# -- prefixes --------------------------------------------------------------------------------------------------


def prefix_difference(
    before: CapturedRequest, after: CapturedRequest, tail: Callable[[str], str] = lambda text: text
) -> str:
    """Return where `before` is not a prefix of `after`, in words; empty where it is one.

    `tail` takes the tail off a text (and gives "" for a text that is nothing else). It is used only on what
    follows the last answer of the model in `before`, and only where the request as it is does not fit: only
    there may something stand that is gone in the next request. Breakpoints are not content.
    """
    if not _first_difference(before.pieces, after.pieces):
        return ""
    return _first_difference(_without_tail(before.pieces, tail), after.pieces)


def prefix_breaks(chats: Sequence[CapturedRequest]) -> list[str]:
    """Return where a request is not the beginning of the next one, but for the tail; a line for each break."""
    differences = (prefix_difference(before, after, without_tail) for before, after in pairwise(chats))
    return [difference for difference in differences if difference]


def _first_difference(old: Sequence[RequestPiece], new: Sequence[RequestPiece]) -> str:
    for place, piece in enumerate(old):
        if place >= len(new):
            return f"piece {place} of {len(old)} ({piece.role} {piece.form}) is gone: {piece.text[:80]!r}"
        other = new[place]
        if piece.content != other.content:
            same = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(piece.text, other.text, strict=False))))
            return (
                f"piece {place} of {len(old)} ({piece.role} {piece.form}, message {piece.message}) "
                f"parts at character {same}: {_around(piece.text, same)} became "
                f"({other.role} {other.form}, message {other.message}) {_around(other.text, same)}"
            )
    return ""


def _around(text: str, place: int) -> str:
    return repr(text[max(0, place - 20) : place + 60])


def _without_tail(pieces: Sequence[RequestPiece], tail: Callable[[str], str]) -> list[RequestPiece]:
    last_answer = max((place for place, piece in enumerate(pieces) if piece.role == "assistant"), default=-1)
    stripped = list(pieces[: last_answer + 1])
    for piece in pieces[last_answer + 1 :]:
        text = tail(piece.text) if piece.message >= 0 else piece.text
        if text:
            stripped.append(msgspec.structs.replace(piece, text=text))
    return stripped


_TAIL = re.compile(r"(?:\n\n)?^(?:Context: .*\n(?:\nNow:\n\n(?:- .*\n)+)?(?:\nHUD: .*\n)?|HUD: .*\n)\Z", re.M)
"""The end of a text that is a tail."""

# -- the HUD in a request --------------------------------------------------------------------------------------

_DELTA_BLOCK = re.compile(r"^\[hud (\w+)\](?: (.+)\n|\n\n((?:- .*\n)+))", re.M)
"""A block of changes: its tag, and its only line or the list of its lines."""


def hud_base(request: CapturedRequest) -> str:
    """Return the HUD in a request's system prompt; `AssertionError` where there is none, or more than one.

    It is what begins with the line that names it: in most hosts it stands behind the host's own text.
    """
    bases = [match[0] for text in request.system if (match := re.search(r"^.*\bHUD\b[\s\S]*", text, re.M))]
    assert len(bases) == 1, request.system
    return bases[0]


_KEPT_BASE = re.compile(
    r"(?:This takes the place of the HUD above\.\n\n)?Your HUD [^\n]*\bBlocks that begin with \[hud \w+\]"
    r"[\s\S]*?(?=\n</system-reminder>|\n?\Z)"
)


def kept_bases(request: CapturedRequest) -> list[str]:
    """Return the bases of the HUD among the messages of a request, in order, without what the host writes around
    them."""
    return [
        base
        for piece in request.pieces
        if piece.form in ("text", "result")
        for base in _KEPT_BASE.findall(piece.text)
    ]


def kept_base(request: CapturedRequest) -> str:
    """Return the base of the HUD that holds, in a host that keeps our texts; `AssertionError` where there is none.

    Messages that a compaction kept word for word may have older ones: each that follows says that it takes their
    place.
    """
    bases = kept_bases(request)
    assert bases, "there is no base"
    assert all(base.startswith("This takes the place") for base in bases[1:]), f"{len(bases)} bases hold: {bases}"
    return bases[-1]


def epoch_tag(request: CapturedRequest) -> str:
    """Return the tag of the epoch that a request belongs to."""
    (tag,) = set(re.findall(r"\[hud (\w+)\]", hud_base(request)))
    return str(tag)


def delta_lines(request: CapturedRequest) -> list[str]:
    """Return the lines of all blocks of changes, in order; each block has the tag of the request's base."""
    lines: list[str] = []
    for piece in request.pieces:
        if piece.role in ("user", "tool"):
            blocks = _DELTA_BLOCK.findall(piece.text)
            assert piece.text.count("[hud ") == len(blocks), piece.text
            for tag, line, block in blocks:
                assert tag == epoch_tag(request)
                lines += [line] if line else [each.removeprefix("- ") for each in block.splitlines()]
    return lines


def hud_tool_answers(request: CapturedRequest) -> list[str]:
    """Return the answers to the agent's calls of `hud` that changed something, in order, as a request has them."""
    verbs = r"^(?:Set the task|Recorded|Added note|Added step|Reported|Took up)\b.*"
    return [line for piece in request.pieces if piece.role == "tool" for line in re.findall(verbs, piece.text, re.M)]


def delta_carriers(request: CapturedRequest) -> list[str]:
    """Return the roles of the messages that carry blocks of changes, in order."""
    carriers = (piece for piece in request.pieces if piece.role in ("user", "tool"))
    return [piece.role for piece in carriers if _DELTA_BLOCK.search(piece.text)]


def item_counts(request: CapturedRequest, noun: str, title: str, text: str) -> tuple[int, int, int]:
    """Return how often a request says an item: in its base, in blocks of changes, and in calls of `hud`."""
    calls = [piece.text for piece in request.pieces if piece.form == "call" and piece.text.startswith("hud ")]
    called = sum(f'"{text}"' in call for call in calls)
    return section_lines(request, title).count(f"- {text}"), delta_lines(request).count(f"{noun}: {text}"), called


def section_lines(request: CapturedRequest, title: str) -> list[str]:
    """Return the lines under a heading of the base, empty where it has none."""
    heading = rf"^#+ {re.escape(title)}(?: \(\d+\))?\n\n((?:[^#\n].*\n)+)"
    match = re.search(heading, hud_base(request), flags=re.M)
    return match[1].splitlines() if match else []


def without_tail(text: str) -> str:
    """Return a text without the tail, which is never kept: the window in use, what holds now, why the HUD is old."""
    return _TAIL.sub("", text)


# --- A call that has to fail, whatever runs the suite


E = TypeVar("E", bound=BaseException)


def expect_error(kind: type[E], call: Callable[[], object]) -> E:
    """Return the error of this kind that `call` raises; an `AssertionError` where it raises none."""
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


async def expect_async_error(kind: type[E], awaitable: Awaitable[object]) -> E:
    """Return the error of this kind that is raised by what is awaited; an `AssertionError` where none is."""
    try:
        await awaitable
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


# -- what was taken away, and how it is had again --------------------------------------------------------------


_CALL = re.compile(r"\b(hud|memory)\((?=\{ *[\w\"]+ *:)")
_NAMED = re.compile(r"(?:\+\d+(?: \w+)?: |\bhud |\bcompactions?: memory )([a-z]+(?:\.[a-z]+)?)\b(?![(.:])")
_BARE = re.compile(r"\{ *\w+:")
_STUB = re.compile(r'\bmemory ([a-z_.]+) (?=\{")')
_GOES_ON = re.compile(r"\n\nIt goes on: (memory\(.+\))\s*\Z")


def calls_in(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the calls that a text for an agent names, as router and arguments, each once and in order.

    Known forms: `memory({"operation": "messages"})`, `hud({...})`, `memory output {"id":"p1"}` of a stub, and
    operations that only read, as frames name them: `+3 more: decisions.list`, `+3: decisions.list`, `hud snapshot`,
    `2 compactions: memory compactions`.
    """
    calls = [(match[1], _object_at(text, match.end())) for match in _CALL.finditer(text)]
    stubs = [(match[1], _object_at(text, match.end())) for match in _STUB.finditer(text)]
    calls += [("memory", {**args, "operation": operation}) for operation, args in stubs]
    calls += [("hud", {"operation": name}) for name in _NAMED.findall(text) if _only_reads(name)]
    return [call for n, call in enumerate(calls) if call not in calls[:n]]


def _only_reads(name: str) -> bool:
    operation = find_operation(name)
    return operation is not None and not operation.writes


def recovered_output(answer: str) -> tuple[str, dict[str, Any] | None]:
    """Return the very text that an answer of `memory output` has, and the arguments of the call that goes on."""
    more = _GOES_ON.search(answer)
    block = (answer[: more.start()] if more else answer).partition("\n\n")[2]
    page = "\n".join(line.removeprefix("    ") for line in block.split("\n"))
    if more is None:
        return page, None
    call = calls_in(more[1])[0][1]
    return page, {name: value for name, value in call.items() if name != "operation"}


def _object_at(text: str, start: int) -> dict[str, Any]:
    """Return the object that stands in a text, also one with bare keys: `{tool: "help"}`."""
    if _BARE.match(text, start):
        end = text.index("}", start) + 1
        text, start = re.sub(r"([{,] *)(\w+):", r'\1"\2":', text[start:end]), 0
    value, _ = json.JSONDecoder().raw_decode(text, start)
    assert isinstance(value, dict)
    return value
