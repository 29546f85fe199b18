"""Settings: what can be configured, with its defaults, read from TOML and laid over each other."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, get_args

import msgspec
from msgspec import Meta

from hudkit.errors import ConfigError

Percent = Annotated[float, Meta(gt=0, le=100)]
Items = Annotated[int, Meta(ge=1, le=1000)]
Tokens = Annotated[int, Meta(ge=1, le=100_000)]
Table = Mapping[str, Any]


class Bands(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The least percentage of the window in use for each band above green."""

    yellow: Annotated[Percent, Meta(description="percent of the window in use from which the band is yellow")] = 70
    red: Annotated[Percent, Meta(description="the same for red; above yellow")] = 85
    critical: Annotated[Percent, Meta(description="the same for critical; above red")] = 92
    hysteresis: Annotated[
        float, Meta(ge=0, le=20, description="percentage points below its floor at which a band is left again")
    ] = 2

    def __post_init__(self) -> None:
        if not self.yellow < self.red < self.critical:
            floors = f"yellow {self.yellow:g}, red {self.red:g}, critical {self.critical:g}"
            raise ConfigError(f"[bands] does not ascend: {floors}", hint="It is yellow < red < critical")


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many items of a section are shown at most (000); what is not shown is counted."""

    decisions: Annotated[Items, Meta(description="decisions shown")] = 10
    notes: Annotated[Items, Meta(description="notes shown")] = 20
    files: Annotated[Items, Meta(description="files shown")] = 15
    blockers: Annotated[Items, Meta(description="blockers shown")] = 10
    steps: Annotated[Items, Meta(description="steps shown")] = 10
    constraints: Annotated[Items, Meta(description="constraints shown")] = 20
    errors: Annotated[Items, Meta(description="errors shown")] = 5
    todos: Annotated[Items, Meta(description="todos of the host shown")] = 10


class Budget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The default token budget of a frame: a share of the window (percent) between a least and a most."""

    percent: Annotated[Percent, Meta(description="share of the window that a frame may have, in percent")] = 2
    least: Annotated[Tokens, Meta(description="tokens that a frame may have in a small window")] = 300
    most: Annotated[Tokens, Meta(description="tokens that a frame may have in a large window")] = 1500

    def __post_init__(self) -> None:
        if self.least > self.most:
            raise ConfigError(f"[budget] least is {self.least}, most is {self.most}", hint="It is least <= most")


class Cache(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When the provider's cache is taken for cold: a new base then costs nothing."""

    minutes: Annotated[
        Annotated[float, Meta(gt=0, le=525_600)] | None,
        Meta(
            description="minutes without a call after which the cache is taken for cold; "
            "not set: 5 for Claude, 10 for other models"
        ),
    ] = None


class Pruning(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which old outputs of tools become one line, where that saves more than it costs; the host keeps them."""

    enabled: Annotated[bool, Meta(description="whether old outputs of tools may leave the window")] = True
    protect: Annotated[
        Annotated[int, Meta(ge=0, le=10_000_000)],
        Meta(description="tokens at the end of the transcript that are left alone, at most a twelfth of the window"),
    ] = 8_000
    minimum: Annotated[
        Annotated[int, Meta(ge=1, le=10_000_000)],
        Meta(description="tokens that one pruning has to free, at most an eighth of the window"),
    ] = 6_000
    tools: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=200)], ...],
        Meta(description='further tools whose outputs stay; one that ends in "*" stands for all that begin so'),
    ] = ()


class Overflow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When the host compacts by itself (002)."""

    auto: Annotated[bool, Meta(description="whether the host compacts by itself")] = True
    reserved: Annotated[
        Annotated[int, Meta(ge=0, le=10_000_000)] | None,
        Meta(description="tokens that the host keeps free; not set: the rule for the model's answers"),
    ] = None


class Compaction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a compaction that the agent asks for is refused."""

    least: Annotated[
        Percent, Meta(description="percent of the window in use below which the agent may not compact")
    ] = 50
    frees: Annotated[
        Percent,
        Meta(description="percent of the window that a compaction has to free; one that did not is not repeated"),
    ] = 15
    calls: Annotated[
        int, Meta(ge=0, le=1_000, description="model calls after a compaction before the agent may compact again")
    ] = 5


class Custom(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Custom sections: who may define them, and what running one may cost."""

    agent: Annotated[bool, Meta(description="whether an agent may define custom sections")] = False
    wait: Annotated[
        int, Meta(ge=0, le=5000, description="milliseconds that a frame waits for custom sections, all together")
    ] = 50
    time: Annotated[int, Meta(ge=5, le=5000, description="milliseconds that one custom section may run")] = 50
    memory: Annotated[int, Meta(ge=4, le=256, description="MiB that one custom section may use")] = 16


class Staleness(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When an open item (the task, a step, a blocker) that nobody touched is called stale; 0: never."""

    hours: Annotated[
        float, Meta(ge=0, le=87_600, description="hours after which an untouched open item is stale")
    ] = 24
    calls: Annotated[int, Meta(ge=0, le=1_000_000, description="model calls after which it is")] = 150


class Memory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What can be looked up beside the session's own state."""

    index: Annotated[
        bool, Meta(description="whether the daemon reads the transcripts on this machine and keeps an index of them")
    ] = True


class Telemetry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is told of sessions to an OpenTelemetry collector."""

    enabled: Annotated[bool, Meta(description="whether spans and metrics of sessions are sent to a collector")] = (
        False
    )
    endpoint: Annotated[
        Annotated[str, Meta(min_length=1, max_length=2000)] | None,
        Meta(
            description="the collector's base address for OTLP over HTTP; "
            "not set: `OTEL_EXPORTER_OTLP_ENDPOINT`, else this machine's port 4318"
        ),
    ] = None
    content: Annotated[
        bool, Meta(description="whether they hold what was said: messages, arguments, results, errors")
    ] = False
    limit: Annotated[
        int, Meta(ge=200, le=1_000_000, description="characters that one attribute with content may have")
    ] = 16_000

    def __post_init__(self) -> None:
        if self.endpoint is not None and not self.endpoint.startswith(("http://", "https://")):
            said = f"[telemetry] endpoint is {self.endpoint[:60]!r}"
            raise ConfigError(said, hint="It begins with http:// or https://", key="telemetry.endpoint")


class Session(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `hudkit run` and `hudkit chat` begin with."""

    model: Annotated[
        Annotated[str, Meta(min_length=3, max_length=200)] | None,
        Meta(description="the model of `hudkit run` and `hudkit chat`, as `provider:name`, where none is given"),
    ] = None


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that can be configured."""

    bands: Bands = Bands()
    limits: Limits = Limits()
    budget: Budget = Budget()
    cache: Cache = Cache()
    overflow: Overflow = Overflow()
    pruning: Pruning = Pruning()
    compaction: Compaction = Compaction()
    custom: Custom = Custom()
    staleness: Staleness = Staleness()
    memory: Memory = Memory()
    telemetry: Telemetry = Telemetry()
    session: Session = Session()
    window: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000_000)] | None,
        Meta(description="tokens of the window, where neither the host nor the table of models knows them"),
    ] = None

    def budget_for(self, limit_tokens: int) -> int:
        """The default budget in tokens for a window."""
        share = int(limit_tokens * self.budget.percent / 100)
        return max(self.budget.least, min(self.budget.most, share))


PROJECT_FILE = ".hudkit.toml"
PROJECT_DEFAULTS = "project"
"""The table of that file that holds no settings but the project's notes, key files and conventions."""

"""A project's own settings, at its root."""

PROJECT_TABLES = ("bands", "limits", "budget")
"""What a project may set: how much is shown. A repository is somebody else's text; it decides nothing further."""

SIZE_LIMIT = 64 * 1024
"""Bytes of a settings file; a larger one is not read."""


class Effective(msgspec.Struct, frozen=True):
    """The settings in force: `origins` tells for each dotted key `default`, `user` or `project`; `warnings` what was
    wrong with the files, and was left out."""

    settings: Settings
    origins: Mapping[str, str]
    warnings: tuple[str, ...]


class Key(msgspec.Struct, frozen=True):
    """One setting: its dotted name, its default and what it means."""

    name: str
    default: object
    meaning: str


def load(user: Path | None = None, project: Path | None = None) -> Effective:
    """The user's file and then the project's over the defaults. Never raises: a file that is wrong is left out, and
    said in `warnings`; so are a project's keys outside of `PROJECT_TABLES`. `None` is no file."""
    table: Table = {}
    origins = dict.fromkeys((key.name for key in keys()), "default")
    warnings: list[str] = []
    settings = Settings()
    for level, path in (("user", user), ("project", project)):
        if path is None:
            continue
        try:
            own = read(path)
            if level == "project":
                own, ignored = display_only(own, str(path))
                warnings += ignored
            settings = settings_from(overlaid(table, own), str(path))
        except ConfigError as error:
            warnings.append(str(error))
            continue
        table = overlaid(table, own)
        origins.update(dict.fromkeys(_leaves(own), level))
    return Effective(settings, origins, tuple(warnings))


def read(path: Path) -> Table:
    """The table in a TOML file. Raises `ConfigError` naming the file, and line and column of what is not TOML."""
    try:
        if not path.is_file():
            what = "is not a file" if path.exists() else "is not there"
            raise ConfigError(f"{path} {what}", hint="Name a TOML file")
        with path.open("rb") as file:
            raw = file.read(SIZE_LIMIT + 1)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from None
    if len(raw) > SIZE_LIMIT:
        raise ConfigError(f"{path} is larger than {SIZE_LIMIT // 1024} KiB", hint="Settings are a few lines of TOML")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}, line {line}: byte {raw[error.start]:#x} is not UTF-8") from None
    return parse(text, str(path))


def parse(text: str, where: str = "the settings") -> Table:
    """The table that a TOML text is. Raises `ConfigError` with line and column."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ConfigError(f"{where} is nested too deeply", hint="Settings are tables of plain values") from None
    except ValueError as error:
        words = str(error)
        found = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", words)
        if found is None:
            raise ConfigError(f"{where} is not TOML: {words[:200]}") from None
        lines = text.split("\n")
        line, column = (found[1], found[2]) if found[1] else (len(lines), len(lines[-1]) + 1)
        raise ConfigError(f"{where}, line {line}, column {column}: {words[: found.start()][:200]}") from None


def settings_from(table: Table, where: str = "the settings") -> Settings:
    """Settings of a table as TOML gives it. Raises `ConfigError` naming a wrong key and the nearest right one, or a
    wrong value and what would be right."""
    _names(table, Settings, where)
    try:
        return msgspec.convert(table, Settings)
    except msgspec.ValidationError as error:
        raise _worded(str(error), table, where) from None
    except ConfigError as error:
        raise ConfigError(f"{where}: {error.message}", hint=error.hint) from None


def display_only(table: Table, where: str) -> tuple[Table, tuple[str, ...]]:
    """What a project may set of a table, and one warning that names what it may not, if there is any."""
    allowed = {key.name for key in keys() if key.name.partition(".")[0] in PROJECT_TABLES}
    kept: dict[str, Any] = {}
    ignored: list[str] = []
    for name, value in table.items():
        if name == PROJECT_DEFAULTS:
            continue
        if name not in PROJECT_TABLES:
            ignored.append(name)
        elif isinstance(value, Mapping):
            kept[name] = {key: inner for key, inner in value.items() if f"{name}.{key}" in allowed}
            ignored += [f"{name}.{key}" for key in value if key not in kept[name]]
        else:
            kept[name] = value
    if not ignored:
        return kept, ()
    some = ", ".join(f"{name[:40]!r}" for name in ignored[:5])
    more = f" and {len(ignored) - 5} more" if len(ignored) > 5 else ""
    may = ", ".join(f"[{name}]" for name in PROJECT_TABLES)
    return kept, (f"{where} sets {some}{more}: ignored. A project may set the keys of {may} only",)


def overlaid(under: Table, over: Table) -> dict[str, Any]:
    """`under` with what `over` has, key by key within tables."""
    both = dict(under)
    for name, value in over.items():
        inner = both.get(name)
        both[name] = {**inner, **value} if isinstance(inner, Mapping) and isinstance(value, Mapping) else value
    return both


def keys(kind: type[msgspec.Struct] = Settings, before: str = "") -> Iterator[Key]:
    """Every setting there is, tables in the order of `Settings`."""
    for field in msgspec.structs.fields(kind):
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            yield from keys(field.type, f"{before}{field.name}.")
        else:
            said = (one.description for one in get_args(field.type)[1:] if isinstance(one, Meta) and one.description)
            yield Key(before + field.name, field.default, next(said, ""))


def settings_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a settings file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(Settings)}


def _leaves(table: Table) -> Iterator[str]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from (f"{name}.{inner}" for inner in value)
        else:
            yield name


def _names(table: Table, kind: type[msgspec.Struct], where: str) -> None:
    fields = {field.name: field.type for field in msgspec.structs.fields(kind)}
    for name, value in table.items():
        if name not in fields:
            raise ConfigError(f"{where} has no key {name[:60]!r}", hint=_nearest(name, tuple(fields)), key=name)
        inner = fields[name]
        if isinstance(value, Mapping) and isinstance(inner, type) and issubclass(inner, msgspec.Struct):
            _names(value, inner, f"{where}, [{name}]")


def _nearest(name: str, fields: tuple[str, ...]) -> str:
    near = get_close_matches(name[:60], fields, 1)
    if near:
        return f"Did you mean {near[0]!r}?"
    elsewhere = [key.name for key in keys() if key.name.rpartition(".")[2] == name]
    if elsewhere:
        table, _, key = elsewhere[0].rpartition(".")
        return f"{key!r} is a key of " + (f"[{table}]" if table else "the top level, before the first table")
    return f"It has: {', '.join(fields)}"


_KINDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "object": "a table of keys"}
_BOUNDS = {">=": "from", ">": "above", "<=": "up to", "<": "below"}
_EXPECTED = re.compile(r"Expected `(\w+)(?: \| null)?`(?: ([<>]=?) ([\d.]+))?(?:, got `\w+`)? - at `\$\.([\w.]+)`")


def _worded(said: str, table: Table, where: str) -> ConfigError:
    found = _EXPECTED.fullmatch(said)
    if found is None:
        return ConfigError(f"{where}: {said}")
    kind, bound, number, path = found.groups()
    value: Any = table
    for name in path.split("."):
        value = value[name]
    right = _KINDS.get(kind, kind) + (f" {_BOUNDS[bound]} {float(number):.12g}" if bound else "")
    return ConfigError(f"{where}: {path} is {repr(value)[:60]}", hint=f"It is {right}", key=path)
