"""What is left of the planted facts after compactions: hudkit beside the libraries, on the same scripted sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import median

import msgspec

from bench.figures import Figure, Skipped
from bench.retention.langchain_family import Middleware, Node, Offloading
from bench.retention.measure import Kept, Look, System, played
from bench.retention.ours import Ours, Trimmed
from bench.retention.pydantic_history import Processed
from bench.retention.sessions import Script, scripts
from bench.retention.strands_agents import Managed
from bench.retention.summariser import Summariser
from bench.retention.truncation import Tail

PROBABILITIES = (1.0, 0.9)
POINTS = {"first": 1, "fifth": 5, "last": -1}
"""The compactions whose next request is looked at."""

Make = Callable[[Callable[[str], str]], System]

SYSTEMS: dict[str, Make] = {
    "tail truncation": lambda _: Tail(),
    "Strands, sliding window": lambda write: Managed("SlidingWindowConversationManager", write),
    "LangChain, as it comes": Middleware,
    "LangChain, untrimmed": lambda write: Middleware(write, trim_tokens_to_summarize=None),
    "langmem": Node,
    "deepagents": Offloading,
    "Strands, summarising": lambda write: Managed("SummarizingConversationManager", write),
    "pydantic-ai, as it comes": Processed,
    "pydantic-ai, untrimmed": lambda write: Processed(write, trim_tokens_to_summarize=None),
    "hudkit": Ours,
    "hudkit, budget 1,500": lambda write: Ours(write, budget=1500),
    "hudkit, 80 % recorded": lambda write: Ours(write, share=0.8),
    "hudkit, 80 % recorded, budget 1,500": lambda write: Ours(write, share=0.8, budget=1500),
    "hudkit, no summaries": lambda _: Trimmed(),
    "hudkit, no summaries, budget 1,500": lambda _: Trimmed(budget=1500),
    "hudkit, no summaries, 80 % recorded": lambda _: Trimmed(share=0.8),
    "hudkit, no summaries, 80 % recorded, budget 1,500": lambda _: Trimmed(share=0.8, budget=1500),
}
"""What is compared; each is given what writes its summaries. The first one is the baseline of tokens."""

UNWRITTEN = (
    "tail truncation",
    "Strands, sliding window",
    "hudkit, no summaries",
    "hudkit, no summaries, budget 1,500",
    "hudkit, no summaries, 80 % recorded",
    "hudkit, no summaries, 80 % recorded, budget 1,500",
)
"""Systems that write no summaries: the probability is nothing to them."""

EVERYTHING = ("hudkit", "hudkit, budget 1,500", "hudkit, no summaries", "hudkit, no summaries, budget 1,500")
"""Systems whose agent records all: nothing that is live may be out of reach, nothing that is over revived."""


class Row(msgspec.Struct, frozen=True):
    """One system at one probability, all sessions: its looks by point, and how often it made room."""

    system: str
    probability: float
    looks: dict[str, tuple[Look, ...]]
    every: tuple[Look, ...]
    tokens: float
    compactions: float

    def told(self, name: str, point: str) -> tuple[float, float]:
        """The median and the least of a figure over the sessions."""
        figures = [float(getattr(one, name)) for one in self.looks[point]]
        return median(figures), min(figures)


def rows(sessions: Sequence[Script]) -> Iterator[Row | tuple[str, Skipped]]:
    """Every system at every probability, or why it is left out."""
    base: list[int] = []
    for name, make in SYSTEMS.items():
        for probability in PROBABILITIES[: 1 if name in UNWRITTEN else None]:
            try:
                kept = [played(one, make(Summariser(one, probability))) for one in sessions]
            except Skipped as reason:
                yield name, reason
                break
            base = base or [one.tokens for one in kept]
            yield _row(name, probability, kept, base)


def _row(name: str, probability: float, kept: Sequence[Kept], base: Sequence[int]) -> Row:
    return Row(
        system=name,
        probability=probability,
        looks={point: tuple(one.at(number) for one in kept) for point, number in POINTS.items()},
        every=tuple(look for one in kept for look in one.looks),
        tokens=median(one.tokens / least for one, least in zip(kept, base, strict=True)),
        compactions=median(len(one.looks) for one in kept),
    )


def run() -> list[Figure]:
    """Of each system the share of live facts that is missing after the last compaction; of ours also what is out of
    reach, and what the state brings back that is over."""
    figures: list[Figure] = []
    for row in rows(tuple(scripts())):
        if not isinstance(row, Row):
            figures.append(Figure(row[0], float("nan"), note=f"skipped: {row[1]}"))
            continue
        name = row.system if row.system in UNWRITTEN else f"{row.system}, p {row.probability:g}"
        missing = 1 - row.told("recall", "last")[0]
        figures.append(Figure(f"{name}: live facts missing, last", missing, note=_note(row)))
        if row.system in EVERYTHING:
            lost = max(1 - look.reach for look in row.every)
            figures.append(Figure(f"{name}: neither in the request nor one call away, worst", lost, 0))
            unknown = max(1 - look.state for look in row.every)
            figures.append(Figure(f"{name}: live, and not in the state, worst", unknown, 0))
            figures.append(Figure(f"{name}: over, and live in the state, all", sum(x.revived for x in row.every), 0))
    return figures


def _note(row: Row) -> str:
    recall = ", ".join("{:.2f} ({:.2f})".format(*row.told("recall", point)) for point in POINTS)
    reach = row.told("reach", "last")[0]
    stale = max(row.told("stale", point)[0] for point in POINTS)
    state, revived = row.told("state", "last")[0], row.told("revival", "last")[0]
    kept = f"; in the state {state:.2f}, revived there {revived:.3f}" if state else ""
    return (
        f"recall {recall}; with one call {reach:.2f}; stale {stale:.3f}; tokens × {row.tokens:.2f}; "
        f"{row.compactions:g} compactions{kept}"
    )
