"""The step before a frame: what has to run is run on a thread, and what came of it is told as events.

A section runs again when its text or what it reads has changed since it last ran; the digests of both are in the
state, so that nothing runs twice, in whichever process. A frame waits a short while for all of them together; what is
late is told with the next frame, and until then the last good output stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import is_
from typing import TYPE_CHECKING, Any

import msgspec

from hudkit.compose import shorten, visible
from hudkit.config import CustomSectionSettings
from hudkit.errors import ConfigError, HudkitError
from hudkit.log.event import Origin
from hudkit.log.payloads import Payload, SectionPrepared, SectionRemove
from hudkit.sections.custom import CustomSection
from hudkit.sections.sandboxed.definitions import (
    SectionDefinition,
    SectionFiles,
    check_definition,
)
from hudkit.sections.sandboxed.inputs import READABLE_FIELDS, inputs_digest, section_inputs
from hudkit.sections.sandboxed.markdown_template import fill_template, read_template
from hudkit.sections.sandboxed.result_parser import SectionTrees, parse_result
from hudkit.sections.sandboxed.sandbox import (
    MAX_ERROR_CHARS,
    RETRIED_ERRORS,
    SandboxLimits,
    SandboxProcess,
    sandbox_kind,
)
from hudkit.sections.state import HudState

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

REFUSED_TEXT = "the settings do not let agents define sections ([custom] agent)"

MAX_INPUT_BYTES = 262_144
"""Bytes, as JSON, of what one section is given."""

_START_SECONDS = 1.0
"""Seconds at most that the first frame of a process waits until the sandbox has started (60 ms, measured; more where
its program is not in the memory yet)."""

_NO_FILES: Mapping[str, SectionDefinition] = {}


class SandboxOutcome(msgspec.Struct, frozen=True):
    """What came of one run: trees, or why there are none."""

    trees: SectionTrees = SectionTrees()
    error: str = ""


class Sandbox:
    """One thread and one sandboxed process, for all sessions of ours. Both start with the first section that runs."""

    def __init__(self, limits: SandboxLimits | None = None) -> None:
        self._process = SandboxProcess(limits)
        self._thread: ThreadPoolExecutor | None = None
        self.started: Future[None] | None = None
        """Done when the sandboxed process has started; none as long as no program was asked for."""

    def start(self, definition: SectionDefinition, values: dict[str, Any]) -> Future[SandboxOutcome]:
        """Run a definition on what it reads, behind those that were started before; return its outcome to come."""
        if self._thread is None:
            from concurrent.futures import ThreadPoolExecutor

            self._thread = ThreadPoolExecutor(1, "hudkit-custom")
        if self.started is None and definition.kind == "python":
            self.started = self._thread.submit(self._process.start)
        return self._thread.submit(self.run, definition, values)

    def run(self, definition: SectionDefinition, values: dict[str, Any]) -> SandboxOutcome:
        """Return what comes of a definition; whatever goes wrong is an outcome. On one thread only."""
        try:
            if definition.kind == "markdown":
                return SandboxOutcome(fill_template(read_template(definition.source, definition.reads), values))
            output = self._process.run(definition.source, values, definition.name)
            return SandboxOutcome(parse_result(output))
        except HudkitError as error:
            line = f", line {error.details['line']}" if "line" in error.details else ""
            return SandboxOutcome(error=shorten(visible(error.message), MAX_ERROR_CHARS - len(line)) + line)
        except Exception as error:
            return SandboxOutcome(error=f"the sandbox failed: {type(error).__name__}")

    def close(self) -> None:
        """End the thread and the sandbox's process; what waits is not run."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.shutdown(wait=True, cancel_futures=True)
        self._process.close()


class _Job(msgspec.Struct):
    """A run that is under way: digests of its text and of what it was given, and its outcome to come."""

    definition: str
    inputs: str
    future: Future[SandboxOutcome]


class SectionPreparation:
    """What one session's frames need made first. Calling it never raises, and runs nothing that ran already."""

    def __init__(
        self, settings: CustomSectionSettings, sandbox: Callable[[], Sandbox], files: SectionFiles | None = None
    ) -> None:
        self._settings = settings
        self._sandbox = sandbox
        self._files = files
        self._jobs: dict[str, _Job] = {}
        self._settled: tuple[object, ...] = ()  # what was looked at when there was nothing to do

    def __call__(self, state: HudState) -> tuple[Payload, ...]:
        """Return the events that bring the custom sections of a state up to date, as far as that is done in time."""
        try:
            return self._prepare(state)
        except (HudkitError, OSError, RuntimeError, ValueError):
            # The frame goes out with what there is.
            return ()

    def _prepare(self, state: HudState) -> tuple[Payload, ...]:
        files = self._files.definitions() if self._files is not None else _NO_FILES
        if not files and not state.custom.sections:
            return ()
        inputs = (files, state.custom, *(getattr(state, name) for name in READABLE_FIELDS))
        if len(inputs) == len(self._settled) and all(map(is_, inputs, self._settled)):
            return ()
        from concurrent.futures import wait  # a program without such sections does not pay for it

        by_operation = {section.name: _definition_of(section) for section in state.custom if section.source}
        # A file goes before an operation's definition of the same name.
        wanted = by_operation | dict(files)
        payloads: list[Payload] = []
        if self._files is not None:
            # Its file is gone, or no longer trusted.
            gone = (section for section in state.custom if section.name not in wanted and not section.package)
            payloads += [SectionRemove(section.name) for section in gone]
        self._jobs = {name: job for name, job in self._jobs.items() if name in wanted}
        due = [definition for definition in wanted.values() if self._is_due(definition, state, payloads)]
        futures = [self._jobs[definition.name].future for definition in due]
        started = self._sandbox().started
        if due and started is not None:
            wait((started,), timeout=_START_SECONDS)
        # All together, so that ten slow sections hold a frame no longer than one.
        wait(futures, timeout=self._settings.budget_ms / 1000)
        payloads += [event for definition in due if (event := self._result(definition)) is not None]
        # Only a state for which nothing was left to do may be passed over next time.
        self._settled = () if payloads or self._jobs else inputs
        return tuple(payloads)

    def _is_due(self, definition: SectionDefinition, state: HudState, payloads: list[Payload]) -> bool:
        """Whether a definition is running, or has just been started; what need not run is told at once."""
        text = definition.digest(sandbox_kind() if definition.kind == "python" else "")
        section = state.custom.get(definition.name)
        by_agent = section is not None and section.source == definition.source and section.mark.origin is Origin.AGENT
        wrong = _why_wrong(definition, by_agent and not self._settings.agent)
        values = {} if wrong else section_inputs(state, definition.reads)
        inputs, size = inputs_digest(values)
        if size > MAX_INPUT_BYTES:
            wrong = f"what it reads has {size:,} bytes; at most {MAX_INPUT_BYTES:,} are given"
        if wrong:
            # Another mistake in the same text is another text: each is told once.
            text = definition.digest(wrong)
        if section is not None and section.definition == text and (section.paused or wrong):
            return False
        ran_already = section is not None and (section.definition, section.inputs) == (text, inputs)
        if section is not None and ran_already and section.error not in RETRIED_ERRORS:
            return False
        if wrong:
            payloads.append(_prepared(definition, text, inputs, SandboxOutcome(error=wrong)))
            return False
        job = self._jobs.get(definition.name)
        if job is None or job.definition != text or (job.inputs != inputs and job.future.done()):
            self._jobs[definition.name] = _Job(text, inputs, self._sandbox().start(definition, values))
        return True

    def _result(self, definition: SectionDefinition) -> SectionPrepared | None:
        job = self._jobs[definition.name]
        if not job.future.done():
            return None
        del self._jobs[definition.name]
        if job.future.cancelled():  # the sandbox was closed: the frame goes out with what there is
            return None
        return _prepared(definition, job.definition, job.inputs, job.future.result())


def _definition_of(section: CustomSection) -> SectionDefinition:
    """The definition of a section that an operation made."""
    return SectionDefinition(section.name, section.source, section.title, section.reads, section.priority)


def _why_wrong(definition: SectionDefinition, refused: bool) -> str:
    try:
        check_definition(definition)
    except ConfigError as error:
        return shorten(visible(error.message), MAX_ERROR_CHARS)
    return REFUSED_TEXT if refused else ""


def _prepared(definition: SectionDefinition, text: str, inputs: str, outcome: SandboxOutcome) -> SectionPrepared:
    return SectionPrepared(
        name=definition.name,
        definition=text,
        input_digest=inputs,
        title=definition.heading,
        priority=definition.priority,
        full=outcome.trees.full,
        compact=outcome.trees.compact,
        minimal=outcome.trees.minimal,
        error=outcome.error,
    )
