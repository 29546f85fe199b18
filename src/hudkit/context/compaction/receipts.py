"""Receipts of compactions: what a window held before and after, what was dropped and kept. Pure: read off the log.

Every figure by part is of one counter, the estimate of `hudkit.sections.model_calibration` with what was known of the
model when the compaction began; the host's own figures stand beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from hudkit.context.compaction.live import Live, live, lost, new
from hudkit.log.event import Event
from hudkit.log.payloads import CompactAfter, CompactBefore, CompactUndone, ContextSnapshot
from hudkit.sections.model_calibration import (
    REQUEST_PARTS,
    MeasuredRequest,
    ModelCalibration,
    estimate_tokens,
    request_amounts,
)
from hudkit.sections.state import HudState, apply

FREES_PERCENT = 15.0
"""Per cent of the window that a compaction has to free (`compaction.frees`)."""
PER_CHARACTER = 0.26
"""Tokens of a character of a summary, about."""

StateAt = Callable[[int], HudState]


class Measured(msgspec.Struct, frozen=True, omit_defaults=True):
    """A request by part, in estimated tokens: `system` and `tools` are the host's prompt and definitions (together in
    `system` where the host tells neither), `hud` the frame, `words` messages and calls, `outputs` by tool."""

    messages: int = 0
    system: int = 0
    tools: int = 0
    hud: int = 0
    words: int = 0
    outputs: tuple[tuple[str, int], ...] = ()

    @property
    def total(self) -> int:
        return self.system + self.tools + self.hud + self.words + sum(size for _, size in self.outputs)


class Receipt(msgspec.Struct, frozen=True, omit_defaults=True):
    """One compaction, the `number`-th of its session, recorded by event `seq`, from `began` (0: not known) to `at`
    (Unix ms).

    `trigger`: `agent`, `manual` (a person), `auto`, `overflow`, or empty. `reported_before` and `reported_after` are
    the window in use as the host reported it, at the last response before and the first one after; `before` and
    `after` the calls that belong to them, by part (`None`: not told). `held` and `holds` are the HUD's live items;
    `closed` the files in view that nobody had touched since the compaction before. `summary` is in full; `by` and
    `why` as on the event. `undone` is the event by which the host took the compaction back (0: it stands).
    """

    number: int
    seq: int
    at: int
    began: int = 0
    trigger: str = ""
    limit: int | None = None
    model: str = ""
    reported_before: int | None = None
    reported_after: int | None = None
    before: Measured | None = None
    after: Measured | None = None
    held: Live = {}
    holds: Live = {}
    closed: tuple[str, ...] = ()
    summary: str = ""
    by: str = ""
    why: str = ""
    marker: str = ""
    message: str = ""
    tail: str = ""
    undone: int = 0

    @property
    def lasted(self) -> int | None:
        """Milliseconds."""
        return self.at - self.began if 0 < self.began <= self.at else None

    @property
    def freed(self) -> int | None:
        """Tokens: by the reports, where there are two, else by the estimates."""
        if self.reported_before is not None and self.reported_after is not None:
            return self.reported_before - self.reported_after
        if self.before is not None and self.after is not None:
            return self.before.total - self.after.total
        return None

    @property
    def estimated(self) -> bool:
        """Whether `freed` is an estimate."""
        return self.reported_before is None or self.reported_after is None

    @property
    def freed_percent(self) -> float | None:
        """Of the window."""
        return 100 * self.freed / self.limit if self.limit and self.freed is not None else None

    @property
    def summary_tokens(self) -> int:
        """Estimated."""
        return round(len(self.summary) * PER_CHARACTER)

    @property
    def lost(self) -> tuple[tuple[str, str], ...]:
        """Live items that did not survive: none, by contract 4."""
        return lost(self.held, self.holds)

    @property
    def revived(self) -> tuple[tuple[str, str], ...]:
        """Items that came back with it: none, by contract 4."""
        return new(self.held, self.holds)

    def enough(self, frees: float = FREES_PERCENT) -> bool | None:
        """Whether it freed enough; `None`: not known."""
        return None if self.freed_percent is None else self.freed_percent >= frees


def receipts(events: Iterable[Event], state_at: StateAt) -> tuple[Receipt, ...]:
    """The receipts of a session's compactions, in order; `state_at` gives its state as of an event."""
    found: list[Receipt] = []
    known = ModelCalibration()
    asked_by_agent = False
    for event in events:
        match event.payload:
            case CompactBefore(trigger="agent"):
                asked_by_agent = True
            case CompactAfter() as done:
                before = state_at(event.seq - 1)
                receipt, known = _begun(len(found) + 1, event, done, before, asked_by_agent)
                found.append(receipt)
                asked_by_agent = False
            case CompactUndone(seq=seq):
                found = [_replace(one, undone=event.seq) if one.seq == seq else one for one in found]
            case ContextSnapshot() as taken if found:
                found[-1] = _followed(found[-1], taken, event.timestamp, known)
    return tuple(found)


_replace = msgspec.structs.replace


def _begun(
    number: int, event: Event, done: CompactAfter, before: HudState, agent: bool
) -> tuple[Receipt, ModelCalibration]:
    after = apply(before, event)
    window, asked = before.window, before.model_calibration.last
    model = (asked.model if asked else "") or window.model or before.session.model
    known = before.model_calibration.of(model)
    left = {one.path for one in after.files.active}
    receipt = Receipt(
        number=number,
        seq=event.seq,
        at=event.timestamp,
        began=done.began,
        trigger="agent" if agent and done.trigger in ("manual", "") else done.trigger,
        limit=window.limit_tokens,
        model=model,
        reported_before=window.used_tokens,
        before=measured(asked, known) if asked else None,
        held=live(before),
        holds=live(after),
        closed=tuple(one.path for one in before.files.active if one.path not in left),
        summary=done.summary,
        by=done.by,
        why=done.why,
        marker=done.marker,
        message=done.message,
        tail=done.tail,
    )
    return receipt, known


def _followed(receipt: Receipt, taken: ContextSnapshot, at: int, known: ModelCalibration) -> Receipt:
    """The receipt with what the first call after the compaction measured, and the first report after that."""
    changes: dict[str, Any] = {}
    if receipt.after is None and taken.call is not None and taken.parts is not None:
        asked = MeasuredRequest(
            receipt.model, at, taken.parts, taken.sent.messages if taken.sent else 0, taken.call.tokens
        )
        changes["after"] = measured(asked, known)
    if taken.late is not None:
        changes["reported_before"] = taken.late
    if receipt.reported_after is None and taken.used_tokens is not None:
        changes["reported_after"] = taken.used_tokens
    if receipt.limit is None and taken.limit_tokens:
        changes["limit"] = taken.limit_tokens
    return _replace(receipt, **changes) if changes else receipt


def measured(asked: MeasuredRequest, known: ModelCalibration) -> Measured:
    """A request by part."""
    shares = dict(
        zip((part[0] for part in REQUEST_PARTS), estimate_tokens(known, request_amounts(asked)).shares, strict=True)
    )
    return Measured(
        messages=asked.messages,
        system=round(shares["system"] + shares["untold"]),
        tools=round(shares["tools"]),
        hud=round(shares["hud"]),
        words=round(shares["words"] + shares["messages"]),
        outputs=_by_tool([(one.tool, one.size) for one in asked.parts.outputs], shares["outputs"]),
    )


def _by_tool(sizes: Sequence[tuple[str, int]], tokens: float) -> tuple[tuple[str, int], ...]:
    whole = sum(size for _, size in sizes)
    return tuple((tool, round(tokens * size / whole)) for tool, size in sizes) if whole else ()
