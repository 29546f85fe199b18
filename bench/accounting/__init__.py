"""How far estimates of a request's tokens are from what is reported of it, before and after calibration.

The calls were recorded by `bench.accounting.record`: real OpenCode with the HUD, on three wire shapes; the reports
are those that tokenizers of each kind make of the captured bodies. The estimates use none of them, but for the
frame's own tokens (o200k_base). A compaction comes in the middle of each day: the mixture of parts changes. Each day
is also taken up with what another taught (`inherited`). The last shape is the recorded day, whose usage is
as OpenCode stored it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, median, quantiles
from tempfile import TemporaryDirectory

import msgspec

from bench.figures import Figure
from hudkit.cli.demo import unpack_orchard
from hudkit.log.event import Event, Origin
from hudkit.log.payloads import (
    CompactAfter,
    ContextSnapshot,
    FrameArguments,
    Payload,
    RequestParts,
    ResponseTokens,
    SentTranscript,
    ToolOutputTotal,
    type_of,
)
from hudkit.sections.model_calibration import (
    ModelCalibration,
    ModelCalibrations,
    estimate_tokens,
    inherit_calibration,
    reduce_calibrations,
    request_amounts,
)
from hudkit.tokens import request_tokens_of
from hudkit.transcripts import OpenCodeTranscript, llm_calls, prompt_blocks

TITLE = "Accounting: estimates of a request against what is reported of it (median error in per cent)"
MOST = 3.0
"""Per cent that an estimate may be off, as the median, from the sixth call of a model on."""
AFTER = (0, 1, 3, 5, 10)
"""Reports that came before the estimates of a figure."""
SHAPES = ("openai", "openai_older", "anthropic", "gemini")
KINDS = ("code", "data", "words")

MODEL = "m"

Row = tuple[int, Payload]


def run() -> list[Figure]:
    """Median errors by shape and number of reports before; the note has the 95th percentile and the worst."""
    figures = []
    days = {shape: [recorded(f"{shape}_{kind}") for kind in KINDS] for shape in SHAPES}
    for shape, some in [*days.items(), ("recorded day", [lived()])]:
        found = [errors(day) for day in some]
        uncalibrated = [each for day in some for each in errors(day, learning=0)]
        figures.append(_figure(f"{shape}, never calibrated", uncalibrated))
        for after in AFTER:
            rest = [each for day in found for each in day[after:]]
            figures.append(_figure(f"{shape}, after {after} reports", rest, MOST if after >= 5 else None))
            if after:
                kept = [each for day in some for each in errors(day, learning=after)[after:]]
                figures.append(_figure(f"{shape}, nothing learned after {after} reports", kept))
        if len(some) > 1:
            taught = [each for n, day in enumerate(some) for each in errors(day, after=some[n - 1])]
            figures.append(_figure(f"{shape}, from the first call on after another day", taught))
    return figures


def errors(day: Sequence[Row], *, learning: int | None = None, after: Sequence[Row] = ()) -> list[float]:
    """Per cent by which the estimate of each reported request was off, made before its report; `after` another day.
    Nothing is learned from more than `learning` reports (`None`: from all)."""
    found: list[float] = []
    taught = ModelCalibration(MODEL)
    known = ModelCalibrations(tuple(inherit_calibration(one) for one in _folded(ModelCalibrations(), after).models))
    for row in day:
        after_it = _folded(known, (row,))
        if known.last is not None and known.last.spent is None and after_it.last and after_it.last.spent is not None:
            told = after_it.last.spent.request
            if learning is None or len(found) <= learning:
                taught = known.of(MODEL)
            expected = estimate_tokens(taught, request_amounts(known.last)).tokens
            found.append(100 * abs(expected - told) / told)
        known = after_it
    return found


def _folded(known: ModelCalibrations, rows: Sequence[Row]) -> ModelCalibrations:
    for at, payload in rows:
        known = reduce_calibrations(known, Event("", 1, "", 0, at, type_of(payload), 1, Origin.HOST, payload))
    return known


def recorded(name: str) -> list[Row]:
    """The payloads of a recording in order."""
    found: list[Row] = []
    at = 0
    for line in Path(__file__).with_name(f"{name}.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        at = row.get("at", at)
        if "usage" in row:
            request = request_tokens_of(row["usage"])
            assert request is not None, row
            found.append((at, ContextSnapshot(model=MODEL, source="reported", spent=ResponseTokens(fresh=request))))
        elif "parts" in row:
            parts = msgspec.convert(row["parts"], RequestParts)
            found.append((at, asked(parts, row["messages"], row["hud"])))
        else:
            found.append((at, CompactAfter()))
    return found


def asked(parts: RequestParts, messages: int, hud: int) -> ContextSnapshot:
    """A request as the log has it."""
    call = FrameArguments(budget=hud, placement="anchored", counter="", renderer="", epoch=1, tokens=hud)
    return ContextSnapshot(model=MODEL, call=call, sent=SentTranscript(messages=messages), parts=parts)


def lived() -> list[Row]:
    """The first session of the recorded day: its messages' characters, and usage as OpenCode stored it."""
    found: list[Row] = []
    with TemporaryDirectory() as folder:
        transcript = OpenCodeTranscript.open(unpack_orchard(folder))
        row = min(transcript.sessions(), key=lambda one: one.created)
        for call in llm_calls(list(transcript.messages(row.id))):
            usage = call.message.usage
            if usage is None or not usage.prompt or call.message.summary:
                continue
            found.append((call.message.created, asked(_parts_of(call.window), len(call.window), 0)))
            spent = ResponseTokens(usage.input, usage.cache_read, usage.cache_write, usage.output)
            found.append((call.message.created, ContextSnapshot(model=MODEL, source="reported", spent=spent)))
        transcript.close()
    return found


def _parts_of(window: Sequence[object]) -> RequestParts:
    outputs: dict[str, int] = {}
    words = 0
    for kind, size in _sizes(window):
        if kind == "tool_output":
            outputs["tools"] = outputs.get("tools", 0) + size
        else:
            words += size
    return RequestParts(words=words, outputs=tuple(ToolOutputTotal(*one) for one in outputs.items()))


def _sizes(window: Sequence[object]) -> Iterator[tuple[str, int]]:
    for message in window:
        for block in prompt_blocks(message):  # type: ignore[arg-type]
            yield block.kind, len(block.text)


def _figure(name: str, found: Sequence[float], most: float | None = None) -> Figure:
    high = quantiles(found, n=20)[-1]
    note = f"mean {mean(found):.2f}, 95th percentile {high:.2f}, worst {max(found):.2f}, of {len(found)}"
    return Figure(name, median(found), most, note)
