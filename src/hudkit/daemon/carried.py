"""What a request for a frame tells of the transcript, as the rooms below take it: outputs in order, and parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hudkit.context.caching import Piece
from hudkit.context.compaction import carried
from hudkit.context.compaction.carried import Output
from hudkit.hosts.wire import Fixed, Placed
from hudkit.log.payloads import Parts


def outputs_of(transcript: Sequence[Placed]) -> tuple[Output, ...]:
    """The outputs of a transcript, oldest first. Those of one message count as behind one another."""
    found: list[Output] = []
    behind = blocks = 0
    for placed in reversed(transcript):
        for one in reversed(placed.outputs):
            found.append(Output(one.call, one.tool, one.size, behind, blocks))
            behind += one.size
            blocks += 1
        blocks += 1
        behind += max(0, placed.size - sum(one.size for one in placed.outputs))
    return tuple(reversed(found))


def pieces_of(transcript: Sequence[Placed], stubs: Mapping[str, int]) -> tuple[Piece, ...]:
    """The messages as they are sent, where the calls in `stubs` have outputs of so many characters."""
    return tuple(
        Piece(
            placed.anchor,
            placed.role,
            max(0, placed.size - sum(one.size - stubs[one.call] for one in placed.outputs if one.call in stubs)),
        )
        for placed in transcript
    )


def parts_of(transcript: Sequence[Placed], fixed: Fixed) -> Parts:
    """What a request carries, in characters."""
    outputs = ((one.tool, one.size) for placed in transcript for one in placed.outputs)
    return carried.parts_of(sum(placed.size for placed in transcript), outputs, fixed.system, fixed.tools)
