"""Receipts of compactions: what a window held before and after, what was dropped and kept. Pure: read off the log.

Every figure by part is of one counter, the estimate of `hudkit.sections.model_calibration` with what was known of the
model when the compaction began; the host's own figures stand beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

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
from hudkit.transcripts.prompt_window import compaction_marker, is_summary, window_at
from hudkit.transcripts.transcript import CompactionPart, Message, ToolPart

# -- What of a state must outlive a compaction: the live items of each section, as texts.


LiveItems = Mapping[str, tuple[str, ...]]
"""Texts of a section's live items, in order; only sections that have some."""


def live_items(state: HudState) -> LiveItems:
    """The live items of a state, by section, in the order of the document."""
    found = {
        "task": (state.task.description,) if state.task else (),
        "constraints": tuple(one.text for one in state.constraints),
        "blockers": tuple(one.words for one in state.blockers),
        "steps": tuple(one.description for one in state.steps.open),
        "todos": tuple(one.content for one in state.todos.open),
        "decisions": tuple(one.words for one in state.decisions),
        "errors": tuple(one.message for one in state.errors.open),
        "notes": tuple(one.words for one in state.notes),
        "files": tuple(one.path for one in state.files.active if one.status == "editing"),
        "plans": tuple(one.path for one in state.progress.plans),
        "custom": tuple(one.name for one in state.custom),
    }
    return {name: texts for name, texts in found.items() if texts}


def lost_items(before: LiveItems, after: LiveItems) -> tuple[tuple[str, str], ...]:
    """Section and text of each item of `before` that `after` does not have. Contract 4: always empty."""
    return tuple((name, text) for name, texts in before.items() for text in texts if text not in after.get(name, ()))


def new_items(before: LiveItems, after: LiveItems) -> tuple[tuple[str, str], ...]:
    """Section and text of each item that only `after` has: a compaction brings none back."""
    return lost_items(after, before)


def count_items(found: LiveItems) -> str:
    """How many items there are of each kind: `the task, 2 constraints, 1 note`."""
    words = []
    for name, texts in found.items():
        one = name.removesuffix("s") if name not in ("custom",) else "custom section"
        words.append("the task" if name == "task" else f"{len(texts)} {one}{'' if len(texts) == 1 else 's'}")
    return ", ".join(words)


FREES_PERCENT = 15.0
"""Per cent of the window that a compaction has to free (`compaction.frees`)."""
PER_CHARACTER = 0.26
"""Tokens of a character of a summary, about."""

StateAt = Callable[[int], HudState]


class RequestEstimate(msgspec.Struct, frozen=True, omit_defaults=True):
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
    before: RequestEstimate | None = None
    after: RequestEstimate | None = None
    held: LiveItems = {}
    holds: LiveItems = {}
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
        return lost_items(self.held, self.holds)

    @property
    def revived(self) -> tuple[tuple[str, str], ...]:
        """Items that came back with it: none, by contract 4."""
        return new_items(self.held, self.holds)

    def enough(self, frees: float = FREES_PERCENT) -> bool | None:
        """Whether it freed enough; `None`: not known."""
        return None if self.freed_percent is None else self.freed_percent >= frees


def read_receipts(events: Iterable[Event], state_at: StateAt) -> tuple[Receipt, ...]:
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
        before=estimate_request(asked, known) if asked else None,
        held=live_items(before),
        holds=live_items(after),
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
        changes["after"] = estimate_request(asked, known)
    if taken.late is not None:
        changes["reported_before"] = taken.late
    if receipt.reported_after is None and taken.used_tokens is not None:
        changes["reported_after"] = taken.used_tokens
    if receipt.limit is None and taken.limit_tokens:
        changes["limit"] = taken.limit_tokens
    return _replace(receipt, **changes) if changes else receipt


def estimate_request(asked: MeasuredRequest, known: ModelCalibration) -> RequestEstimate:
    """A request by part."""
    shares = dict(
        zip((part[0] for part in REQUEST_PARTS), estimate_tokens(known, request_amounts(asked)).shares, strict=True)
    )
    return RequestEstimate(
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


# -- Which messages of a transcript a compaction dropped and which it kept. Pure.


class CoveredRange(msgspec.Struct, frozen=True):
    """What was in the window before a compaction: `dropped` left it, `kept` stayed, both in order; `since` are the
    messages after it. An earlier compaction's summary is among what was dropped."""

    dropped: tuple[Message, ...] = ()
    kept: tuple[Message, ...] = ()
    since: tuple[Message, ...] = ()

    @property
    def outputs(self) -> tuple[tuple[str, int], ...]:
        """How many outputs were dropped, by tool, most first."""
        counts: dict[str, int] = {}
        for message in self.dropped:
            for part in message.parts:
                if isinstance(part, ToolPart) and part.done:
                    counts[part.tool] = counts.get(part.tool, 0) + 1
        return tuple(sorted(counts.items(), key=lambda one: (-one[1], one[0])))


def covered_range(receipt: Receipt, messages: Sequence[Message]) -> CoveredRange | None:
    """What the compaction of a receipt took from a transcript; `None` where the transcript does not have it (any
    more). Rules: `hudkit.transcripts.prompt_window`."""
    at = next((n for n, one in enumerate(messages) if one.id == receipt.message and is_summary(one)), None)
    if not receipt.message or at is None:
        return None
    asked = next((n for n in range(at - 1, -1, -1) if messages[n].id == messages[at].parent_id), None)
    marker = compaction_marker(messages[asked]) if asked is not None else None
    if asked is None or marker is None:
        return None
    before = _seen(messages, asked)
    tail = _tail(marker, before, receipt.tail)
    return CoveredRange(before[:tail], before[tail:], tuple(messages[at + 1 :]))


def _seen(messages: Sequence[Message], asked: int) -> tuple[Message, ...]:
    """The window right before the marker at a place."""
    probe = Message("\0probe", messages[asked].session_id, "assistant")
    return window_at((*messages[:asked], probe), probe.id)


def _tail(marker: CompactionPart, before: Sequence[Message], told: str) -> int:
    """Where the kept part begins."""
    named = marker.tail_start_id or told
    return next((n for n, message in enumerate(before) if message.id == named), len(before)) if named else len(before)


# -- What a compaction will do, as far as it can be known: about how much it frees, what stays, what leaves. Pure.


SUMMARY = 2_000
"""Tokens of a summary, about."""
TAIL_SHARE, TAIL_LEAST, TAIL_MOST = 0.25, 2_000, 8_000


class CompactionForecast(msgspec.Struct, frozen=True):
    """In tokens: `used` of `limit`, and `frees` of them (estimated; `None`: not known); the request by part."""

    used: int
    limit: int
    frees: int | None
    parts: RequestEstimate | None

    @property
    def percent(self) -> float:
        return 100 * self.used / self.limit


def forecast_compaction(state: HudState, used: int, limit: int) -> CompactionForecast:
    """What a compaction now would free."""
    asked = state.model_calibration.last
    if asked is None:
        return CompactionForecast(used, limit, None, None)
    parts = estimate_request(asked, state.model_calibration.of(asked.model))
    messages = parts.words + sum(size for _, size in parts.outputs)
    tail = min(messages, max(TAIL_LEAST, min(TAIL_MOST, int(limit * TAIL_SHARE))))
    rest = parts.system + parts.tools + parts.hud + SUMMARY + tail
    return CompactionForecast(used, limit, max(0, used - rest), parts)


def announcement(state: HudState, found: CompactionForecast) -> str:
    """What the agent is told before its turn ends: in use, freed, stays, leaves, and how it is found again."""
    freed = (
        f"about {found.frees:,} will be freed (estimated)"
        if found.frees is not None
        else "how many will be freed is not known"
    )
    held = count_items(live_items(state)) or "what it holds"
    lines = [
        "A compaction starts when this turn ends.",
        f"- in use: {found.percent:.0f} % of the window ({found.used:,} of {found.limit:,} tokens); {freed}",
        f"- stays: the HUD as it is ({held}), a summary that you write, and the newest messages",
    ]
    gone = "the older messages and outputs of tools"
    if found.parts is not None and found.parts.outputs:
        tools = sorted(found.parts.outputs, key=lambda one: -one[1])[:3]
        gone += f" (of {found.parts.messages} messages; most by {', '.join(tool for tool, _ in tools)})"
    lines.append(f"- leaves: {gone}")
    lines.append('- found again by: memory "messages", "message" and "search"; "compactions" has the receipt')
    return "\n".join(lines)
