"""What tests ask of captured requests: where one does not begin the next one, and where the HUD stands in it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise, takewhile
from typing import TypeVar

import msgspec

from hudkit.models.captured_request import CapturedRequest, RequestPiece

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


# -- the HUD in a request --------------------------------------------------------------------------------------

_DELTA_BLOCK = re.compile(r"^\[hud (\w+)\](?: (.+)\n|\n\n((?:- .*\n)+))", re.M)
"""A block of changes: its tag, and its only line or the list of its lines."""


def hud_base(request: CapturedRequest) -> str:
    """Return the HUD in a request's system prompt; `AssertionError` where there is none, or more than one."""
    bases = [text for text in request.system if re.search(r"\bHUD\b", text)]
    assert len(bases) == 1, request.system
    return bases[0]


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
    verbs = r"^(?:Set the task|Recorded decision|Added note|Added step|Reported|Took up)\b.*"
    return [line for piece in request.pieces if piece.role == "tool" for line in re.findall(verbs, piece.text, re.M)]


def delta_carriers(request: CapturedRequest) -> list[str]:
    """Return the roles of the messages that carry blocks of changes, in order."""
    carriers = (piece for piece in request.pieces if piece.role in ("user", "tool"))
    return [piece.role for piece in carriers if _DELTA_BLOCK.search(piece.text)]


def item_counts(request: CapturedRequest, noun: str, title: str, text: str) -> tuple[int, int, int]:
    """Return how often a request says an item: in its base, in blocks of changes, and in answers of tools."""
    answers = sum(f'"{text}"' in answer for answer in hud_tool_answers(request))
    return section_lines(request, title).count(f"- {text}"), delta_lines(request).count(f"{noun}: {text}"), answers


def section_lines(request: CapturedRequest, title: str) -> list[str]:
    """Return the lines under a heading of the base, empty where it has none."""
    heading = rf"^#+ {re.escape(title)}(?: \(\d+\))?\n\n((?:[^#\n].*\n)+)"
    match = re.search(heading, hud_base(request), flags=re.M)
    return match[1].splitlines() if match else []


def without_tail(text: str) -> str:
    """Return a text without the tail, the line that is never kept: the window in use, or why the HUD is old."""
    return re.sub(r"^(?:Context|HUD): .*\n\Z", "", text, flags=re.M)


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
