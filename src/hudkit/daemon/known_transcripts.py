"""What a host's transcript was at its last questions, so that the next question tells only what changed.

A question names the answered question that its changes are told of (`since`). Its answer may come too late for the
host, which then goes on from the one before: so the daemon keeps what a host may still name, and nothing older.

    order 10, whole: a b c            kept: 10
    order 11, since 10: + d           kept: 10 11     the answer came too late
    order 12, since 10: + d e         kept: 10 11 12  10 may be named once more
    order 13, since 12: c changed     kept: 12 13
    the daemon was started anew; order 14, since 13: refused, the host sends all
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TypeVar

from hudkit.context.caching import Segment
from hudkit.context.compaction.request_parts import CallOutput, MessageOutputs, locate_outputs, request_parts
from hudkit.hosts.wire import FrameRequestBody, RequestOverhead, TranscriptEntry, TranscriptUnknown
from hudkit.hud.frame_request import TranscriptPosition, position_at_end
from hudkit.log.payloads import RequestParts

MAX_KNOWN = 8
"""Questions of a conversation whose transcript is remembered: more are never under way."""

T = TypeVar("T")


class KnownTranscript:
    """The messages that are sent, the anchors of those that are not, and what frames need of them.

    All of it is worked out message by message, and what a transcript has in common with an earlier one, which its
    first `shared` messages are, is taken over from there: a call costs what is new in it.
    """

    order: tuple[str, ...]
    """The anchors of the messages that can carry something."""
    _users: frozenset[str]
    _has_cleared: bool
    _outputs: tuple[MessageOutputs, ...]
    _segments: tuple[Segment, ...]
    _size: int
    _by_tool: Counter[str]

    def __init__(
        self,
        entries: tuple[TranscriptEntry, ...],
        unsent: tuple[str, ...] = (),
        before: KnownTranscript | None = None,
        shared: int = 0,
    ) -> None:
        self.entries = entries
        self.unsent = unsent
        new = entries[shared:]
        gone = before.entries[shared:] if before is not None else ()
        self._has_cleared = (before is not None and before._has_cleared) or any(e.role == "cleared" for e in new)
        if before is None or self._has_cleared:
            placed = [entry for entry in entries if entry.role != "cleared"]
            self.order = tuple([entry.anchor for entry in placed])
            self._users = frozenset([entry.anchor for entry in placed if entry.role == "user"])
        else:
            self.order = (*before.order[:shared], *[entry.anchor for entry in new])
            self._users = before._users.difference([entry.anchor for entry in gone])
            self._users = self._users.union([entry.anchor for entry in new if entry.role == "user"])
        self._outputs = (*(before._outputs[:shared] if before else ()), *map(_outputs_of, new))
        self._segments = (*(before._segments[:shared] if before else ()), *map(_segment_of, new))
        self._size = (before._size if before else 0) + sum(e.size for e in new) - sum(e.size for e in gone)
        self._by_tool = Counter(before._by_tool if before else ())
        for entries_of, sign in ((gone, -1), (new, 1)):
            for entry in entries_of:
                for output in entry.outputs:
                    self._by_tool[output.tool] += sign * output.size
        self._with_stubs: tuple[Mapping[str, int], tuple[Segment, ...]] | None = None
        self._taken_over = None
        if before is not None and before._with_stubs is not None:
            stubs, segments = before._with_stubs
            self._taken_over = (stubs, segments[:shared])

    @cached_property
    def position(self) -> TranscriptPosition | None:
        """Return where a call stands that has this transcript; `None` where it has none."""
        if not self.entries:
            return None
        last_role = next((entry.role for entry in reversed(self.entries) if entry.role != "cleared"), "")
        return position_at_end(self.order, self._users, last_role)

    def outputs(self) -> tuple[CallOutput, ...]:
        """Return the tool outputs, oldest first, each with how much stands behind it."""
        return locate_outputs(self._outputs, blocks_per_call=1)  # each result is an entry of its own

    def segments(self, stubs: Mapping[str, int]) -> tuple[Segment, ...]:
        """Return the messages as they are sent, where the calls in `stubs` have outputs of so many characters."""
        if not stubs:
            return self._segments
        if self._with_stubs is None or self._with_stubs[0] != stubs:
            earlier_stubs, segments = self._taken_over or ({}, ())
            if earlier_stubs != stubs:
                segments = ()
            new = self.entries[len(segments) :]
            self._with_stubs = (stubs, (*segments, *[_segment_with_stubs(entry, stubs) for entry in new]))
        return self._with_stubs[1]

    def parts(self, fixed: RequestOverhead) -> RequestParts | None:
        """Return what a request with this transcript carries, in characters."""
        if not self.entries:
            return None
        by_tool = [(tool, size) for tool, size in self._by_tool.items() if size]
        return request_parts(self._size, by_tool, fixed.system, fixed.tools)


def _outputs_of(entry: TranscriptEntry) -> MessageOutputs:
    sizes = [(output.call, output.tool, output.size) for output in entry.outputs]
    return MessageOutputs(entry.size, sizes, entry.role == "user")


def _segment_of(entry: TranscriptEntry) -> Segment:
    return Segment(entry.anchor, entry.role, entry.size)


def _segment_with_stubs(entry: TranscriptEntry, stubs: Mapping[str, int]) -> Segment:
    pruned = sum([output.size - stubs[output.call] for output in entry.outputs if output.call in stubs])
    return Segment(entry.anchor, entry.role, max(0, entry.size - pruned))


class KnownTranscripts:
    """The transcripts of a conversation's last questions, by their order."""

    def __init__(self) -> None:
        self._known: dict[int, KnownTranscript] = {}

    def resolve(self, ask: FrameRequestBody) -> KnownTranscript:
        """Return the transcript that a question tells, and remember it for the next ones.

        Raises `TranscriptUnknown` where it is told as changes of one that is not known, or that do not fit it.
        """
        if ask.since is None:
            now = KnownTranscript(ask.transcript, ask.unsent)
        else:
            before = self._known.get(ask.since)
            if before is None:
                raise TranscriptUnknown.of(ask.since)
            self._known = {order: transcript for order, transcript in self._known.items() if order >= ask.since}
            changes = ((change.index, change.removed, change.entries) for change in ask.changes)
            unsent_changes = ((change.index, change.removed, change.anchors) for change in ask.unsent_changes)
            entries = _with_changes(before.entries, changes, ask.since)
            unsent = _with_changes(before.unsent, unsent_changes, ask.since)
            shared = min((change.index for change in ask.changes), default=len(before.entries))
            now = KnownTranscript(entries, unsent, before, shared)
        if ask.order is not None:
            self._known[ask.order] = now
            while len(self._known) > MAX_KNOWN:
                del self._known[min(self._known)]
        return now


def _with_changes(
    before: tuple[T, ...], changes: Iterable[tuple[int, int, tuple[T, ...]]], since: int
) -> tuple[T, ...]:
    """Return a list after its changes, each of the list as those before it left it."""
    now: list[T] | None = None
    for index, removed, added in changes:
        now = list(before) if now is None else now
        if index + removed > len(now):
            raise TranscriptUnknown.of(since)
        now[index : index + removed] = added
    return before if now is None else tuple(now)
