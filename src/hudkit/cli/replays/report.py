"""What a replay reports, as plain values: `--json` prints these."""

from __future__ import annotations

import msgspec

from hudkit.cli.replays.costs import Costs
from hudkit.cli.replays.survival import CompactionReport

SCHEMA = 1
"""Version of the report; raised when a field changes its meaning or goes away."""


class Spread(msgspec.Struct, frozen=True):
    """Least, middle and most of some counts."""

    least: int
    median: int
    most: int


class BandTokens(msgspec.Struct, frozen=True):
    """The calls of one band, and the tokens of their frames in each placement."""

    band: str
    calls: int
    anchored: Spread
    system: Spread


class EpochReport(msgspec.Struct, frozen=True):
    """A base layer: why it began (`session`, `compaction`, `budget` …), from which turn, for how many calls, and how
    many deltas were added to it. `again` counts tokens of its first call that were sent before and lie behind the
    new base: no cache can give them back."""

    reason: str
    from_turn: int
    calls: int
    deltas: int
    base_tokens: int
    density: str
    left_out: int
    again: int


class Reconstruction(msgspec.Struct, frozen=True):
    """How well the requests are rebuilt: tokens counted against tokens reported, in percent of the reported ones
    (positive: too many). `system_tokens` are those of the host's own prompt and tools, taken from the first call."""

    calls: int
    system_tokens: int
    median_percent: float
    worst_percent: float


class FrameShown(msgspec.Struct, frozen=True):
    """The frames of one turn: the layers as the agent would have had them, and `system_text`, the other placement.

    `base` stands in the system prompt, each of `deltas` behind the message that was the last when it was first sent,
    `tail` behind the last one. `news`: the last of `deltas` was first sent with this call.
    """

    turn: int
    band: str
    used_tokens: int | None
    density: str
    epoch: int
    tokens: int
    base: str
    deltas: tuple[str, ...]
    tail: str
    news: bool
    left_out: int
    system_density: str
    system_tokens: int
    system_text: str


class SessionReport(msgspec.Struct, frozen=True):
    """One session. `turns` are model calls, without the `compactions` calls that wrote a summary."""

    id: str
    title: str
    parent_id: str
    model: str
    window_tokens: int
    window_source: str
    counter: str
    messages: int
    turns: int
    user_turns: int
    compactions: int
    events: dict[str, int]
    bands: tuple[BandTokens, ...]
    epochs: tuple[EpochReport, ...]
    deltas: int
    left_out: int
    costs: tuple[Costs, ...]
    reconstruction: Reconstruction | None
    compacted: tuple[CompactionReport, ...]
    frames: tuple[FrameShown, ...] = ()


class SkippedRecord(msgspec.Struct, frozen=True):
    """A record of the host that could not be read, and why."""

    table: str
    id: str
    reason: str


class Report(msgspec.Struct, frozen=True):
    """A whole replay; `costs` are the sums over its sessions."""

    schema: int
    sessions: tuple[SessionReport, ...]
    costs: tuple[Costs, ...]
    skipped: tuple[SkippedRecord, ...]
