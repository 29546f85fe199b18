"""What was done before the last compaction: commands and how they ended, steps that were finished, files read.

An agent of whose conversation only a summary is left reads and runs again what it has read and run. This section is
there from the first frame after a compaction on. Steps and files that it shows are not in their own sections, test
runs not in `progress`, and a command that an open error tells of is not here. What is done since the compaction
stands in the conversation.

A command says what was true when it ran: where a file was edited later, that is said. A file that was edited is not
one that was read; its place is among the active files.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from hudkit.log.event import Event, Origin
from hudkit.log.payloads import CommandRan, CompactAfter, CompactUndone, FileEdit, TestsRan
from hudkit.sections.errors import ErrorsState
from hudkit.sections.files import FilesState, TrackedFile, read_before
from hudkit.sections.items import ItemMark, mark_of
from hudkit.sections.section import KeyedRow, SectionLogic, ShownItem
from hudkit.sections.steps import PlannedStep, StepsState, finished_before

MAX_COMMANDS = 8
"""Commands that are remembered, the newest."""

_MAX_COMPACTIONS = 5
"""Compactions that are remembered, in case that the host takes some back."""

_LAST, _LAST_PRIORITY = 2, 60.5
"""So many of the last commands, and of the last steps, are worth more than the rest, and how much: behind the notes,
which nothing else has. One from before later edits is not."""

_FILE_PRIORITY = 41
"""The priority of a file that was only read: as among the active files."""

_replace = msgspec.structs.replace


class RanCommand(msgspec.Struct, frozen=True, omit_defaults=True):
    """The last run of a command; `tests` are the counts of the test run `suite` that it was, `outdated` says that a
    file was edited since."""

    command: str
    outcome: str = ""
    exit: int | None = None
    by_call: str = ""
    suite: str = ""
    tests: str = ""
    outdated: bool = False
    mark: ItemMark = ItemMark()

    @property
    def ending(self) -> str:
        """Return how it ended, in words; `ran` where nobody said."""
        if self.tests:
            return self.tests
        if self.outcome == "passed":
            return "ok"
        status = f"exit {self.exit}" if self.exit else ""
        if self.outcome == "failed":
            return f"failed ({status})" if status else "failed"
        return status or "ran"


class RecentState(msgspec.Struct, frozen=True, omit_defaults=True):
    """`commands` are the last ones, each once, the last run last; `compactions` the events of the last ones."""

    commands: tuple[RanCommand, ...] = ()
    compactions: tuple[int, ...] = ()

    @property
    def compacted(self) -> int:
        """Return the event of the last compaction; 0 where there was none."""
        return self.compactions[-1] if self.compactions else 0


def _reduce(recent: RecentState, event: Event) -> RecentState:
    match event.payload:
        case CommandRan(command=command, outcome=outcome, exit=status, by_call=call):
            ran = RanCommand(command, outcome, status, call, mark=mark_of(event))
            others = tuple(each for each in recent.commands if each.command != command)
            return _replace(recent, commands=(*others, ran)[-MAX_COMMANDS:])
        case TestsRan() as tests if recent.commands and recent.commands[-1].mark.seq == event.seq - 1:
            failed = f", {tests.failed} failed" if tests.failed else ""
            ran = _replace(recent.commands[-1], suite=tests.command, tests=f"{tests.passed} passed{failed}")
            return _replace(recent, commands=(*recent.commands[:-1], ran))
        case FileEdit() if recent.commands:
            return _replace(recent, commands=_outdated(recent.commands, event.origin))
        case CompactAfter():
            return _replace(recent, compactions=(*recent.compactions, event.seq)[-_MAX_COMPACTIONS:])
        case CompactUndone(seq=seq):
            return _replace(recent, compactions=tuple(each for each in recent.compactions if each < seq))
    return recent


def _outdated(commands: tuple[RanCommand, ...], origin: Origin) -> tuple[RanCommand, ...]:
    """The commands as ran before an edit. What a host sees change on disk may be the last command's own doing."""
    until = len(commands) - (origin is Origin.HOST)
    if all(each.outdated for each in commands[:until]):
        return commands
    return (*(_replace(each, outdated=True) for each in commands[:until]), *commands[until:])


def shown_commands(recent: RecentState, errors: ErrorsState) -> tuple[RanCommand, ...]:
    """Return the commands from before the last compaction of which no open error tells, the newest first."""
    failing = {error.by_call for error in errors.open if error.by_call}
    before = (each for each in reversed(recent.commands) if each.mark.seq < recent.compacted)
    return tuple(each for each in before if each.by_call not in failing)


def recent_items(
    recent: RecentState, steps: StepsState, files: FilesState, errors: ErrorsState
) -> Iterator[tuple[ShownItem, RanCommand | PlannedStep | TrackedFile]]:
    """Yield what the section shows, the newest of each kind first, with what it is about."""
    if not recent.compacted:
        return
    for n, ran in enumerate(shown_commands(recent, errors)):
        key, label = f"command {ran.command}", f" {ran.ending}" + (", before later edits" if ran.outdated else "")
        priority = None if ran.outdated else _priority(n)
        yield ShownItem(key, ran.command, label=label, priority=priority, is_code=True), ran
    for n, step in enumerate(finished_before(steps, recent.compacted)):
        lead = "step: "
        yield ShownItem(f"step {step.id}", lead + step.description, priority=_priority(n), lead=lead), step
    for file in read_before(files, recent.compacted):
        lead, label = "read: ", " (in part)" if file.partial else ""
        shown = ShownItem(
            f"file {file.path}", lead + file.path, label=label, priority=_FILE_PRIORITY, lead=lead, is_code=True
        )
        yield shown, file


def _priority(place: int) -> float | None:
    return _LAST_PRIORITY if place < _LAST else None


def _items(recent: RecentState, steps: StepsState, files: FilesState, errors: ErrorsState) -> Iterator[ShownItem]:
    return (item for item, _ in recent_items(recent, steps, files, errors))


def _rows(recent: RecentState, steps: StepsState, files: FilesState, errors: ErrorsState) -> tuple[KeyedRow, ...]:
    items = _items(recent, steps, files, errors)
    return tuple(KeyedRow(item.key, item.text + item.label) for item in items)


LOGIC = SectionLogic(
    handles=(CommandRan, TestsRan, FileEdit, CompactAfter, CompactUndone),
    reduce=_reduce,
    items=_items,
    rows=_rows,
    reads=("recent", "steps", "files", "errors"),
)
