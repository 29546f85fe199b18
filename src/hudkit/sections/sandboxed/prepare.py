"""The step before a frame: what has to run is run on a thread, and what came of it is told as events.

A section runs again when its text or what it reads has changed since it last ran; the digests of both are in the
state, so that nothing runs twice, in whichever process. A frame waits a short while for all of them together; what is
late is told with the next frame, and until then the last good output stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from operator import is_
from typing import Any

import msgspec

from hudkit.compose import shorten, visible
from hudkit.config import CustomSectionSettings as Limits
from hudkit.errors import ConfigError, HudkitError
from hudkit.log.event import Origin
from hudkit.log.payloads import Payload, SectionPrepared, SectionRemove
from hudkit.sections.custom import CustomSection
from hudkit.sections.sandboxed.definition import FIELDS, Definition, check
from hudkit.sections.sandboxed.files import Shelf
from hudkit.sections.sandboxed.forms import Made, made_of
from hudkit.sections.sandboxed.sandbox import AGAIN, Allowed, Sandbox, kind
from hudkit.sections.sandboxed.seen import MOST_GIVEN, digest, given
from hudkit.sections.state import HudState

REFUSED = "the settings do not let agents define sections ([custom] agent)"

LONGEST = 160
"""Characters of an error."""


START = 0.2
"""Seconds that the first frame of a process waits longer: the sandbox is loaded (60 ms, measured)."""


NONE: Mapping[str, Definition] = {}


class Outcome(msgspec.Struct, frozen=True):
    """What came of one run: trees, or why there are none."""

    made: Made = Made()
    error: str = ""


class Bench:
    """One thread and one sandbox, for all sessions of a process. Both start with the first section that runs."""

    def __init__(self, allowed: Allowed | None = None) -> None:
        self._sandbox = Sandbox(allowed)
        self._thread: ThreadPoolExecutor | None = None
        self.warm = False

    def start(self, definition: Definition, values: dict[str, Any]) -> Future[Outcome]:
        """Run a definition on what it reads, behind those that were started before."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "hudkit-custom")
        return self._thread.submit(self.run, definition, values)

    def run(self, definition: Definition, values: dict[str, Any]) -> Outcome:
        """What comes of a definition; whatever goes wrong is an outcome. On one thread only."""
        self.warm = True
        try:
            return Outcome(made_of(self._sandbox.run(definition.source, values, definition.name)))
        except HudkitError as error:
            return Outcome(error=shorten(visible(error.message), LONGEST))
        except Exception as error:
            return Outcome(error=f"the sandbox failed: {type(error).__name__}")

    def close(self) -> None:
        """End the thread and the sandbox's process; what waits is not run."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.shutdown(wait=True, cancel_futures=True)
        self._sandbox.close()


class _Job(msgspec.Struct):
    definition: str
    given: str
    future: Future[Outcome]


class Preparation:
    """What one session's frames need made first. Calling it never raises, and runs nothing that ran already."""

    def __init__(self, limits: Limits, bench: Callable[[], Bench], shelf: Shelf | None = None) -> None:
        self._limits = limits
        self._bench = bench
        self._shelf = shelf
        self._jobs: dict[str, _Job] = {}
        self._settled: tuple[object, ...] = ()  # what was looked at when there was nothing to do

    def __call__(self, state: HudState) -> tuple[Payload, ...]:
        """The events that bring the custom sections of a state up to date, as far as that is done in time."""
        try:
            return self._made(state)
        except (
            HudkitError,
            OSError,
            RuntimeError,
            ValueError,
            CancelledError,
        ):  # the frame goes out with what there is
            return ()

    def _made(self, state: HudState) -> tuple[Payload, ...]:
        files = self._shelf.definitions() if self._shelf is not None else NONE
        if not files and not len(state.custom):
            return ()
        sight = (files, state.custom, *(getattr(state, name) for name in FIELDS))
        if len(sight) == len(self._settled) and all(map(is_, sight, self._settled)):
            return ()
        wanted = {one.name: defined(one) for one in state.custom if one.source} | dict(files)
        orphans = [one.name for one in state.custom if one.name not in wanted and self._shelf is not None]
        told: list[Payload] = [SectionRemove(name) for name in orphans]  # its file is gone, or no longer trusted
        self._jobs = {name: job for name, job in self._jobs.items() if name in wanted}
        start = 0.0 if self._bench().warm else START
        due = [one for one in wanted.values() if self._due(one, state, told)]
        wait([self._jobs[one.name].future for one in due], timeout=self._limits.budget_ms / 1000 + start)
        told += [event for one in due if (event := self._taken(one)) is not None]
        self._settled = () if told or self._jobs else sight
        return tuple(told)

    def _due(self, definition: Definition, state: HudState, told: list[Payload]) -> bool:
        """Whether a definition is running, or has just been started; what need not run is told at once."""
        text = definition.digest(kind())
        known = state.custom.get(definition.name)
        by_agent = known is not None and known.source == definition.source and known.mark.origin is Origin.AGENT
        wrong = _wrong(definition, by_agent and not self._limits.agent)
        values = {} if wrong else given(state, definition.reads)
        seen, size = digest(values)
        if size > MOST_GIVEN:
            wrong = f"what it reads has {size:,} bytes; at most {MOST_GIVEN:,} are given"
        if wrong:
            text = definition.digest(wrong)
        if known is not None and known.definition == text and (known.paused or wrong):
            return False
        if known is not None and (known.definition, known.given) == (text, seen) and known.error not in AGAIN:
            return False
        if wrong:
            told.append(_event(definition, text, seen, Outcome(error=wrong)))
            return False
        job = self._jobs.get(definition.name)
        if job is None or job.definition != text or (job.given != seen and job.future.done()):
            self._jobs[definition.name] = _Job(text, seen, self._bench().start(definition, values))
        return True

    def _taken(self, definition: Definition) -> SectionPrepared | None:
        job = self._jobs[definition.name]
        if not job.future.done():
            return None
        del self._jobs[definition.name]
        return _event(definition, job.definition, job.given, job.future.result())


def defined(section: CustomSection) -> Definition:
    """The definition of a section that an operation made."""
    return Definition(section.name, section.source, section.title, section.reads, section.priority)


def _wrong(definition: Definition, refused: bool) -> str:
    try:
        check(definition)
    except ConfigError as error:
        return shorten(visible(error.message), LONGEST)
    return REFUSED if refused else ""


def _event(definition: Definition, text: str, seen: str, outcome: Outcome) -> SectionPrepared:
    return SectionPrepared(
        name=definition.name,
        definition=text,
        given=seen,
        title=definition.heading,
        priority=definition.priority,
        full=outcome.made.full,
        compact=outcome.made.compact,
        minimal=outcome.made.minimal,
        error=outcome.error,
    )
