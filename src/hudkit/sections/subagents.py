"""Sub-agents: who is at work on what, and who came back with what.

One that came back stays until the second compaction after it: then it was told once more where the conversation had
lost it. So does one of which nothing was heard again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import msgspec

from hudkit.log.event import Event
from hudkit.log.payloads import SubagentEnd, SubagentStart
from hudkit.sections.items import ItemMark, mark_of
from hudkit.sections.section import KeyedRow, SectionLogic, ShownItem

MAX_RUNS = 12
"""Sub-agents that are remembered, those at work and the newest."""

_WORKING_PRIORITY = 74
"""The priority of one at work: behind the steps."""

_replace = msgspec.structs.replace


class _Compactions(Protocol):
    """The compactions of a session, as far as this module looks."""

    @property
    def compactions(self) -> tuple[int, ...]: ...


class SubagentRun(msgspec.Struct, frozen=True, omit_defaults=True):
    """A sub-agent and its task; `result` are the first words of what it brought, `mark` is of its last news."""

    agent: str = ""
    task: str = ""
    session_id: str = ""
    by_call: str = ""
    working: bool = False
    failed: bool = False
    result: str = ""
    mark: ItemMark = ItemMark()

    @property
    def words(self) -> str:
        """Return the line that says so."""
        who = ": ".join(filter(None, (self.agent or "sub-agent", self.task)))
        if self.working:
            return f"{who} (at work)"
        ending = "failed" if self.failed else "came back"
        return f"{who} ({ending}): {self.result}" if self.result else f"{who} ({ending})"


class SubagentsState(msgspec.Struct, frozen=True, omit_defaults=True):
    """The last sub-agents, in the order of their last news."""

    runs: tuple[SubagentRun, ...] = ()


def _reduce(subagents: SubagentsState, event: Event) -> SubagentsState:
    match event.payload:
        case SubagentStart(agent=agent, task=task, session_id=session_id, by_call=call):
            return _with(subagents, SubagentRun(agent, task, session_id, call, working=True, mark=mark_of(event)))
        case SubagentEnd() as end:
            before = _run_of(subagents, end.session_id) or SubagentRun()
            run = _replace(
                before,
                agent=end.agent or before.agent,
                task=end.task or before.task,
                session_id=end.session_id,
                by_call=end.by_call or before.by_call,
                working=False,
                failed=end.failed,
                result=end.result,
                mark=mark_of(event),
            )
            return _with(subagents, run)
    return subagents


def _run_of(subagents: SubagentsState, session_id: str) -> SubagentRun | None:
    return next((run for run in subagents.runs if session_id and run.session_id == session_id), None)


def _with(subagents: SubagentsState, run: SubagentRun) -> SubagentsState:
    """The state with this run as the last one, in the place of what was known of its session."""
    before = _run_of(subagents, run.session_id)
    runs = [*(each for each in subagents.runs if each is not before), run]
    while len(runs) > MAX_RUNS:
        runs.remove(next((each for each in runs if not each.working), runs[0]))
    return SubagentsState(tuple(runs))


def shown_runs(subagents: SubagentsState, recent: _Compactions) -> tuple[SubagentRun, ...]:
    """Return those at work first, then those that came back, of each the newest first."""
    since = recent.compactions[-2] if len(recent.compactions) > 1 else 0
    runs = [run for run in reversed(subagents.runs) if run.mark.seq > since]
    return tuple(sorted(runs, key=lambda run: not run.working))


def _items(subagents: SubagentsState, recent: _Compactions) -> Iterator[ShownItem]:
    for run in shown_runs(subagents, recent):
        yield ShownItem(f"{run.mark.seq}", run.words, priority=_WORKING_PRIORITY if run.working else None)


def _rows(subagents: SubagentsState, recent: _Compactions) -> tuple[KeyedRow, ...]:
    # What happens to a sub-agent stands in the transcript, until a compaction.
    return tuple(KeyedRow(f"{run.mark.seq}", run.words, quiet=True) for run in shown_runs(subagents, recent))


LOGIC = SectionLogic(
    handles=(SubagentStart, SubagentEnd),
    reduce=_reduce,
    items=_items,
    rows=_rows,
    reads=("subagents", "recent"),
)
