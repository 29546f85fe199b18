"""Sections that installed packages bring by the entry point `hudkit.sections`: found, loaded, run before a frame.

An entry point names a `SectionPlugin`. Nothing of a package is imported before the user's settings name the section
(`[custom] plugins`), and then only with the first frame that would show it. It runs in this process, on threads that
no frame waits for longer than the settings say, and what comes of it is an event of the log as for every custom
section: a replay runs nothing.

**Reducers.** A plugin may fold events of the session into a state of its own, which `show` is given. That state is
not stored: it is made from the log by the first frames of a process, `_EVENTS_PER_FRAME` events each, and what the
log takes back or redacts later makes it be made anew. Example: of the events 1 to 6, a plugin that handles `note.add`
has folded 2 and 5; event 7 undoes 2; so it begins again with its initial state and folds 5 alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from itertools import islice
from operator import is_
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from hudkit.compose import shorten, visible
from hudkit.config import CustomSectionSettings
from hudkit.errors import ConfigError, HudkitError
from hudkit.log.event import Event
from hudkit.log.payloads import (
    PAYLOADS,
    EventGap,
    EventRestate,
    EventUndo,
    MessagesRevert,
    Payload,
    Redact,
    SectionPrepared,
    SectionRemove,
    Unknown,
)
from hudkit.sections.custom import CustomSection
from hudkit.sections.sandboxed.definitions import SECTION_NAME, check_presentation
from hudkit.sections.sandboxed.inputs import inputs_digest, section_inputs
from hudkit.sections.sandboxed.prepare import MAX_INPUT_BYTES, SandboxOutcome
from hudkit.sections.sandboxed.result_parser import MAX_OUTPUT_CHARS, parse_result
from hudkit.sections.sandboxed.sandbox import MAX_ERROR_CHARS
from hudkit.sections.state import HudState, undone_seqs

if TYPE_CHECKING:
    from concurrent.futures import Future
    from importlib.metadata import EntryPoint

ENTRY_POINT_GROUP: Final = "hudkit.sections"
"""The group of entry points; the name of one is the name of its section."""

MAX_STATE_BYTES: Final = 65_536
"""Bytes, as JSON, of the state that a reducer makes."""

_EVENTS_PER_FRAME = 1_000
"""Events of a log that are read for a reducer before one frame: ten milliseconds' work."""

_START_SECONDS = 0.15
"""Seconds that the first frame of a session waits longer: packages are imported."""

_HANGS_SECONDS = 1.0
"""Seconds after which a call that has not returned is told. It cannot be ended, and meanwhile no other is made."""

_EVENT_SECONDS = 0.001
"""Seconds of running that a reducer has for each event, beside the time of the section."""

_T = TypeVar("_T")


class SectionPlugin(msgspec.Struct, frozen=True):
    """A section that a package brings. Its entry point, of the same `name`, is an object of this class.

    `show(**fields)` is called with the fields of the state that `reads` names, as plain values, and returns what a
    custom section may return (`docs/custom-sections.md`). With `reduce`, it is `show(state, **fields)`: `state` is
    what `reduce(state, event)` made of the session's events whose types `handles` names, beginning with `initial`. An
    event is a dict with `seq`, `turn`, `timestamp` (Unix ms), `type`, `origin` and `payload`; a state is a plain
    value. `title` is the heading (else the name), `priority` 0 to 60.
    """

    name: str
    show: Callable[..., Any]
    title: str = ""
    reads: tuple[str, ...] = ()
    priority: int = 30
    reduce: Callable[[Any, dict[str, Any]], Any] | None = None
    handles: tuple[str, ...] = ()
    initial: Any = None

    @property
    def heading(self) -> str:
        """Return its title, or its name as one."""
        return self.title or self.name.replace("-", " ").capitalize()


class InstalledSection(msgspec.Struct, frozen=True):
    """An entry point: its `package` with version, the object that it names (`target`), and once it was loaded the
    `plugin`, or what is `wrong` with it."""

    name: str
    package: str = ""
    target: str = ""
    plugin: SectionPlugin | None = None
    wrong: str = ""

    def digest(self) -> str:
        """Return sixteen hex digits that stand for what will run, as far as hudkit knows it."""
        plugin = self.plugin
        shown = (plugin.heading, plugin.reads, plugin.priority, plugin.handles) if plugin else (self.wrong,)
        body = msgspec.json.encode((self.name, self.package, self.target, shown))
        return blake2b(body, digest_size=8).hexdigest()


def installed_sections() -> tuple[InstalledSection, ...]:
    """Return the sections that installed packages offer, by name; nothing of them is imported."""
    return tuple(_unloaded(entry) for entry in sorted(_entry_points(), key=lambda entry: entry.name))


def load_section(name: str) -> InstalledSection:
    """Import what brings a section, and return it with its plugin, or with what is wrong. Never raises."""
    entry = next((entry for entry in _entry_points() if entry.name == name), None)
    if entry is None:
        return InstalledSection(name, wrong="no installed package brings it")
    installed = _unloaded(entry)
    # Whatever a stranger's package does while it is imported: the frame goes on without it.
    try:
        plugin: Any = entry.load()
        _check_plugin(plugin, installed)
    except ConfigError as error:
        return msgspec.structs.replace(installed, wrong=_one_line(error.message))
    except (Exception, SystemExit) as error:
        return msgspec.structs.replace(installed, wrong=_one_line(f"cannot be loaded: {_error_text(error)}"))
    return msgspec.structs.replace(installed, plugin=plugin)


def _entry_points() -> Iterable[EntryPoint]:
    from importlib.metadata import entry_points  # read by those who have such sections

    return entry_points(group=ENTRY_POINT_GROUP)


def _unloaded(entry: EntryPoint) -> InstalledSection:
    package = f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else ""
    return InstalledSection(entry.name, visible(package), visible(entry.value))


def _check_plugin(plugin: Any, installed: InstalledSection) -> None:
    if not isinstance(plugin, SectionPlugin) or plugin.name != installed.name:
        raise ConfigError(f"{installed.target} is not a SectionPlugin of the name {installed.name}")
    if not SECTION_NAME.fullmatch(installed.name):
        raise ConfigError("its name is not 1 to 32 of a-z, 0-9 and -, a letter first")
    check_presentation("it", plugin.heading, plugin.reads, plugin.priority, plugin.title)
    unknown = [name for name in plugin.handles if name not in PAYLOADS]
    if unknown:
        raise ConfigError(f"it handles {unknown[0][:40]!r}, and there are no such events")
    if (plugin.reduce is None) != (not plugin.handles):
        raise ConfigError("`reduce` and `handles` go together")


class PackageSections:
    """The loaded sections of one process, for all its sessions; each is called by one thread at a time."""

    def __init__(self) -> None:
        self._loads: dict[str, Future[InstalledSection]] = {}
        self._locks: dict[str, Lock] = {}

    def load(self, name: str) -> Future[InstalledSection]:
        """Return the section of a name to come; it is loaded once, on a thread of its own."""
        if name not in self._loads:
            self._locks[name] = Lock()
            self._loads[name] = _start_thread(lambda: load_section(name))
        return self._loads[name]

    def start(self, name: str, call: Callable[[], _T]) -> Future[_T]:
        """Call something of a loaded section on a thread, behind its other calls; return the result to come."""
        lock = self._locks[name]

        def locked() -> _T:
            with lock:
                return call()

        return _start_thread(locked)


def _start_thread(call: Callable[[], _T]) -> Future[_T]:
    from concurrent.futures import Future

    future: Future[_T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    # Not of a pool: one that hangs would hold the end of the process.
    Thread(target=run, name="hudkit-section", daemon=True).start()
    return future


class _RunResult(msgspec.Struct, frozen=True):
    """What came of a call, and the state that the reducer has made, as JSON."""

    outcome: SandboxOutcome
    state: bytes = b"null"


class _PackageCall(msgspec.Struct):
    """A call under way: digests of what runs and of its input, what was looked at for it, how many events it folds,
    and its result to come."""

    digest: str
    inputs: str
    looked_at: tuple[object, ...]
    events: int
    begin: float
    future: Future[_RunResult]
    is_told: bool = False


class _RecordedRun(msgspec.Struct, frozen=True):
    """What was looked at for what a section shows (fields of the state, how many events), and digests of what ran and
    of its input."""

    looked_at: tuple[object, ...]
    digest: str
    inputs: str

    def stands(self, looked_at: tuple[object, ...], recorded: CustomSection | None) -> bool:
        """Return whether nothing has changed since, and the log has what came of it."""
        *fields, events = looked_at
        is_same = events == self.looked_at[-1] and all(map(is_, fields, self.looked_at[:-1]))
        is_recorded = recorded is not None and (recorded.definition, recorded.inputs) == (self.digest, self.inputs)
        return is_same and is_recorded and recorded is not None and not recorded.error


class _Fold:
    """What a reducer has made of a session's events (`state`, as JSON), and those that wait for it (`pending`)."""

    def __init__(self, plugin: SectionPlugin, read: Callable[[int], Iterable[Event]]) -> None:
        self._plugin = plugin
        self._read = read
        self._undos: dict[int, Event] = {}
        self._gone: frozenset[int] = frozenset()
        self._redacted = 0  # the last event that redacted another
        self._reset()

    def _reset(self) -> None:
        self._seq = 0
        self.folded = 0
        self.pending: list[dict[str, Any]] = []
        self.state = msgspec.json.encode(self._plugin.initial)

    @property
    def total(self) -> int:
        """How many events there are for the reducer so far."""
        return self.folded + len(self.pending)

    def catch_up(self) -> bool:
        """Read on in the log; return whether its end was reached. What it takes back begins all anew."""
        events = tuple(islice(self._read(self._seq), _EVENTS_PER_FRAME))
        before = self._gone
        self._undos |= {each.seq: each for each in events if isinstance(each.payload, EventUndo | MessagesRevert)}
        self._gone = undone_seqs(self._undos.values())
        redacted = max((each.seq for each in events if isinstance(each.payload, Redact | EventRestate)), default=0)
        is_redacted = redacted > self._redacted and self._seq > 0
        self._redacted = max(self._redacted, redacted)
        if is_redacted or any(seq <= self._seq for seq in self._gone ^ before):
            self._reset()
            return False
        for event in events:
            if event.type in self._plugin.handles and event.seq not in self._gone and _says_something(event):
                self.pending.append(_plain_event(event))
        self._seq = events[-1].seq if events else self._seq
        return len(events) < _EVENTS_PER_FRAME

    def settle(self, result: _RunResult, events: int) -> None:
        """Note that the first of the events that waited were folded."""
        self.state = result.state
        self.folded += events
        del self.pending[:events]


def _says_something(event: Event) -> bool:
    return event.payload is not None and not isinstance(event.payload, Unknown | EventGap)


def _plain_event(event: Event) -> dict[str, Any]:
    return {
        "seq": event.seq,
        "turn": event.turn,
        "timestamp": event.timestamp,
        "type": event.type,
        "origin": event.origin.value,
        "payload": msgspec.to_builtins(event.payload),
    }


class PackagePreparation:
    """What one session's frames need made first by sections of packages. Calling it never raises."""

    def __init__(
        self,
        settings: CustomSectionSettings,
        packages: Callable[[], PackageSections],
        read: Callable[[int], Iterable[Event]],
    ) -> None:
        """`read` returns the events of the session behind one, undone ones included."""
        self._settings = settings
        self._packages = packages
        self._read = read
        self._jobs: dict[str, _PackageCall] = {}
        self._folds: dict[str, _Fold] = {}
        self._shown: dict[str, _RecordedRun] = {}
        self._is_first = True

    def __call__(self, state: HudState) -> tuple[Payload, ...]:
        """Return the events that bring the sections of packages up to date, as far as that is done in time."""
        try:
            return self._prepare(state)
        except (HudkitError, OSError, RuntimeError, ValueError):
            # The frame goes out with what there is.
            return ()

    def _prepare(self, state: HudState) -> tuple[Payload, ...]:
        names = self._settings.plugins
        payloads: list[Payload] = [
            SectionRemove(section.name) for section in state.custom if section.package and section.name not in names
        ]
        # A file or an operation that has the name already is nearer to the user.
        free = [name for name in names if (recorded := state.custom.get(name)) is None or recorded.package]
        if not free:
            return tuple(payloads)
        from concurrent.futures import wait  # a program without such sections does not pay for it

        seconds = self._settings.budget_ms / 1000 + (_START_SECONDS if self._is_first else 0.0)
        deadline = time.monotonic() + seconds
        packages = self._packages()
        loads = [packages.load(name) for name in free]
        if self._is_first:
            wait(loads, timeout=seconds)
        self._is_first = False
        under_way = set(self._jobs)
        sections = [load.result() for load in loads if load.done()]
        for section in sections:
            payloads += self._start(section, state)
        # What was waited for once is taken when it is there: one that hangs must not hold each frame.
        running = [job.future for name, job in self._jobs.items() if name not in under_way]
        wait(running, timeout=max(0.0, deadline - time.monotonic()))
        for section in sections:
            payloads += self._result(section, state)
        return tuple(payloads)

    def _start(self, section: InstalledSection, state: HudState) -> list[Payload]:
        """Start what is due of a section; return what can be told of it without."""
        plugin, name = section.plugin, section.name
        recorded = state.custom.get(name)
        if plugin is None:
            is_told = recorded is not None and recorded.error == section.wrong
            return [] if is_told else [_prepared(section, "", SandboxOutcome(error=section.wrong))]
        if name in self._jobs or (
            recorded is not None and recorded.paused and recorded.definition == section.digest()
        ):
            return []
        fold = self._folds.get(name)
        if plugin.reduce is not None:
            if fold is None:
                fold = self._folds[name] = _Fold(plugin, self._read)
            if not fold.catch_up():
                return []
        looked_at = (*(getattr(state, field) for field in plugin.reads), fold.total if fold else 0)
        last = self._shown.get(name)
        if last is not None and last.stands(looked_at, recorded):
            return []
        values = section_inputs(state, plugin.reads)
        inputs, size = inputs_digest(values)
        if size > MAX_INPUT_BYTES:
            words = f"what it reads has {size:,} bytes; at most {MAX_INPUT_BYTES:,} are given"
            is_told = recorded is not None and recorded.error == words
            return [] if is_told else [_prepared(section, inputs, SandboxOutcome(error=words))]
        shown = _RecordedRun(looked_at, section.digest(), inputs)
        if fold is None and shown.stands(looked_at, recorded):
            self._shown[name] = shown
            return []
        events = list(fold.pending) if fold else []
        folded = fold.state if fold else b"null"
        seconds = self._settings.timeout_ms / 1000 + _EVENT_SECONDS * len(events)
        future = self._packages().start(name, lambda: _run(plugin, folded, events, values, seconds))
        self._jobs[name] = _PackageCall(section.digest(), inputs, looked_at, len(events), time.monotonic(), future)
        return []

    def _result(self, section: InstalledSection, state: HudState) -> list[Payload]:
        name = section.name
        job = self._jobs.get(name)
        if job is None:
            return []
        if not job.future.done():
            if job.is_told or time.monotonic() - job.begin < _HANGS_SECONDS:
                return []
            job.is_told = True
            return [_prepared(section, job.inputs, SandboxOutcome(error="does not return"))]
        del self._jobs[name]
        result = job.future.result()
        fold = self._folds.get(name)
        inputs = job.inputs
        if fold is not None:
            inputs = blake2b(inputs.encode() + result.state, digest_size=8).hexdigest()
        if result.outcome.error:
            return [_prepared(section, inputs, result.outcome)]  # and it is tried again, until it is paused
        if fold is not None:
            fold.settle(result, job.events)
        shown = self._shown[name] = _RecordedRun(job.looked_at, job.digest, inputs)
        is_recorded = shown.stands(job.looked_at, state.custom.get(name))
        return [] if is_recorded else [_prepared(section, inputs, result.outcome)]


def _prepared(section: InstalledSection, inputs: str, outcome: SandboxOutcome) -> SectionPrepared:
    plugin = section.plugin
    return SectionPrepared(
        name=section.name,
        definition=section.digest(),
        input_digest=inputs,
        title=plugin.heading if plugin else section.name,
        priority=plugin.priority if plugin else 30,
        full=outcome.trees.full,
        compact=outcome.trees.compact,
        minimal=outcome.trees.minimal,
        error=outcome.error,
        package=section.package or "a package",
    )


def _run(
    plugin: SectionPlugin, folded: bytes, events: list[dict[str, Any]], values: Mapping[str, Any], seconds: float
) -> _RunResult:
    """Fold the events and show the section; whatever goes wrong is an outcome. `seconds` are this thread's."""
    begin = time.thread_time()
    try:
        if plugin.reduce is None:
            returned = plugin.show(**values)
        else:
            state = msgspec.json.decode(folded)
            for event in events:
                state = plugin.reduce(state, event)
            folded = msgspec.json.encode(state)
            if len(folded) > MAX_STATE_BYTES:
                raise ConfigError(
                    f"its state has {len(folded):,} bytes of JSON; at most {MAX_STATE_BYTES:,} are kept"
                )
            returned = plugin.show(state, **values)
        output = msgspec.json.encode(returned).decode()
        if len(output) > MAX_OUTPUT_CHARS:
            raise ConfigError(f"returned too much; at most {MAX_OUTPUT_CHARS:,} characters of JSON are taken")
        outcome = SandboxOutcome(parse_result(output))
    except HudkitError as error:
        outcome = SandboxOutcome(error=_one_line(error.message))
    except (Exception, SystemExit) as error:
        outcome = SandboxOutcome(error=_one_line(_error_text(error)))
    if time.thread_time() - begin > seconds:
        outcome = SandboxOutcome(error="ran too long")
    return _RunResult(outcome, folded)


def _error_text(error: BaseException) -> str:
    words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    trace, line = error.__traceback__, 0
    while trace is not None:  # the last one is the place where it was raised
        line, trace = trace.tb_lineno, trace.tb_next
    return f"{words}, line {line}" if line else words


def _one_line(text: str) -> str:
    return shorten(visible(" ".join(text.split())), MAX_ERROR_CHARS)
