"""Settings: what can be configured, with its defaults, read from TOML and laid over each other.

A settings file is a few tables of plain values. Two levels are laid over the defaults, key by key: the user's file,
then the project's, which may set only how much is shown. The field descriptions below document the keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
from msgspec import Meta

from hudkit.errors import ConfigError
from hudkit.lazy import lazy_pattern

_Percent = Annotated[float, Meta(gt=0, le=100)]
_Items = Annotated[int, Meta(ge=1, le=1000)]
_Seconds = Annotated[float, Meta(gt=0, le=86_400)]
_Wait = Annotated[float, Meta(ge=0, le=3_600)]
_Count = Annotated[int, Meta(ge=1, le=1_000_000_000)]
_BudgetTokens = Annotated[int, Meta(ge=1, le=100_000)]
_WindowTokens = Annotated[int, Meta(ge=0, le=10_000_000)]

Table = Mapping[str, Any]
"""A TOML table as `tomllib` reads it."""


class BandSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The percentages of the window in use from which the bands above green begin."""

    yellow: Annotated[_Percent, Meta(description="percent of the window in use from which the band is yellow")] = 70
    red: Annotated[_Percent, Meta(description="the same for red; above yellow")] = 85
    critical: Annotated[_Percent, Meta(description="the same for critical; above red")] = 92
    hysteresis: Annotated[
        float, Meta(ge=0, le=20, description="percentage points below its floor at which a band is left again")
    ] = 2

    def __post_init__(self) -> None:
        if not self.yellow < self.red < self.critical:
            floors = f"yellow {self.yellow:g}, red {self.red:g}, critical {self.critical:g}"
            raise ConfigError(f"[bands] does not ascend: {floors}", hint="It is yellow < red < critical")


class SectionLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many items of each section a frame shows at most, however much room there is; the others are counted."""

    decisions: Annotated[_Items, Meta(description="decisions shown at most")] = 1000
    notes: Annotated[_Items, Meta(description="notes shown at most")] = 1000
    files: Annotated[_Items, Meta(description="files shown at most")] = 1000
    blockers: Annotated[_Items, Meta(description="blockers shown at most")] = 1000
    steps: Annotated[_Items, Meta(description="steps shown at most")] = 1000
    constraints: Annotated[_Items, Meta(description="constraints shown at most")] = 1000
    preferences: Annotated[_Items, Meta(description="preferences shown at most")] = 1000
    errors: Annotated[_Items, Meta(description="errors shown at most")] = 1000
    todos: Annotated[_Items, Meta(description="todos of the host shown at most")] = 1000


class ExtractionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is read from what you and the agent say."""

    plain_words: Annotated[
        bool,
        Meta(
            description="whether rules, preferences, decisions and facts are read from plain words; what tools print "
            "is read in any case"
        ),
    ] = True
    sentence_model: Annotated[
        bool,
        Meta(
            description="whether the model of the extra `hearing` is asked, too, where that is installed, what your "
            "sentences are said for"
        ),
    ] = True


class AlwaysSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What you made hold beyond one session with `hudkit review` (`always.toml`)."""

    inherit: Annotated[
        bool, Meta(description="whether sessions begin with what you made hold in all of them, or in their project's")
    ] = True


class BudgetSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The default token budget of a frame: a share of the window, within two bounds."""

    percent: Annotated[_Percent, Meta(description="share of the window that a frame may have, in percent")] = 2
    min_tokens: Annotated[_BudgetTokens, Meta(description="tokens that a frame may have in a small window")] = 300
    max_tokens: Annotated[_BudgetTokens, Meta(description="tokens that a frame may have in a large window")] = 1500
    digest_tokens: Annotated[
        int,
        Meta(
            ge=0,
            le=1_000,
            description="tokens at most of the line that says, at the start of a turn, what holds of that which "
            "changed since the base; 0: no such line",
        ),
    ] = 120

    digest: Annotated[
        Literal["auto", "far", "all"],
        Meta(
            description="what that line repeats: what was told far back, or all; auto: all for small and local "
            "models, which take a value of the base for the newest; for unknown ones also what replaced a value"
        ),
    ] = "auto"
    guide: Annotated[
        Literal["auto", "always", "never"],
        Meta(
            description="whether a base says which operation of the tool hud is for what, where it has room for that "
            "(169 tokens), and the user's own words decide where a record goes; auto: for small and local models"
        ),
    ] = "auto"

    def __post_init__(self) -> None:
        if self.min_tokens > self.max_tokens:
            raise ConfigError(
                f"[budget] min_tokens is {self.min_tokens}, max_tokens is {self.max_tokens}",
                hint="It is min_tokens <= max_tokens",
            )


class CacheSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When the provider's cache is assumed to be cold: a new base costs nothing then."""

    ttl_minutes: Annotated[
        Annotated[float, Meta(gt=0, le=525_600)] | None,
        Meta(
            description="minutes without a call after which the cache is assumed to be cold; "
            "not set: 5 for Claude, 10 for other models"
        ),
    ] = None


class PruningSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which old tool outputs become one line, where that saves more than it costs; the host keeps the outputs."""

    enabled: Annotated[bool, Meta(description="whether old tool outputs may leave the window")] = False
    min_used_percent: Annotated[
        _Percent, Meta(description="percent of the window in use below which nothing is pruned")
    ] = 50
    protected_tokens: Annotated[
        _WindowTokens | None,
        Meta(
            description="tokens at the end of the transcript that are left alone; "
            "not set: 8,000, at most a twelfth of the window"
        ),
    ] = None
    min_freed_tokens: Annotated[
        Annotated[int, Meta(ge=1, le=10_000_000)] | None,
        Meta(description="tokens that one pruning has to free; not set: 6,000, at most an eighth of the window"),
    ] = None
    tools: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=200)], ...],
        Meta(description='further tools whose outputs stay; a name that ends in "*" means every tool that begins so'),
    ] = ()


class OverflowSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When the host compacts by itself (002)."""

    auto: Annotated[bool, Meta(description="whether the host compacts by itself")] = True
    reserved_tokens: Annotated[
        _WindowTokens | None,
        Meta(description="tokens that the host keeps free; not set: the rule for the model's answers"),
    ] = None


class CompactionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a compaction that the agent asks for is refused."""

    min_used_percent: Annotated[
        _Percent, Meta(description="percent of the window in use below which the agent may not compact")
    ] = 50
    min_freed_percent: Annotated[
        _Percent,
        Meta(description="percent of the window that a compaction has to free; one that freed less is not repeated"),
    ] = 15
    cooldown_calls: Annotated[
        int, Meta(ge=0, le=1_000, description="model calls after a compaction before the agent may compact again")
    ] = 5
    model: Annotated[
        Annotated[str, Meta(min_length=3, max_length=200)] | None,
        Meta(description="the model of our own agent's summaries, as `provider:name`; not set: the session's"),
    ] = None
    tail_tokens: Annotated[
        _WindowTokens,
        Meta(
            description="tokens that a compaction of our own agent keeps verbatim at most; never more than an eighth "
            "of the usable window"
        ),
    ] = 8_000
    idle_compactions: Annotated[
        int,
        Meta(
            ge=0,
            le=1_000,
            description="compactions without an edited file, a finished step or a commit after which the agent is "
            "told so; 0: never",
        ),
    ] = 3


class CustomSectionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Custom sections: who may define them, and what running one may cost."""

    agent: Annotated[bool, Meta(description="whether an agent may define custom sections")] = False
    budget_ms: Annotated[
        int, Meta(ge=0, le=5000, description="milliseconds that a frame waits for custom sections, all together")
    ] = 50
    timeout_ms: Annotated[int, Meta(ge=5, le=5000, description="milliseconds that one custom section may run")] = 50
    memory_mib: Annotated[int, Meta(ge=4, le=256, description="MiB that one custom section may use")] = 16
    plugins: Annotated[
        tuple[Annotated[str, Meta(pattern=r"^[a-z][a-z0-9-]{0,31}$")], ...],
        Meta(max_length=16, description="sections of installed packages that are loaded and shown, by name"),
    ] = ()


class StalenessSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When an open item (the task, a step, a blocker) that nobody touched is called stale; 0 means never."""

    hours: Annotated[
        float, Meta(ge=0, le=87_600, description="hours after which an untouched open item is stale")
    ] = 24
    model_calls: Annotated[
        int, Meta(ge=0, le=1_000_000, description="model calls after which an untouched open item is stale")
    ] = 150


class MemorySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What can be looked up beside the session's own state."""

    index: Annotated[
        bool, Meta(description="whether the daemon reads the transcripts on this machine and keeps an index of them")
    ] = True


class BackupSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Copies of the log and of the agent's databases, each beside its file."""

    every_hours: Annotated[
        float, Meta(ge=0, le=8_760, description="hours after which a running daemon backs up again; 0: never")
    ] = 0
    keep: Annotated[
        int, Meta(ge=1, le=1_000, description="backups that stay beside each file; the oldest are removed")
    ] = 7


class TelemetrySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is sent about sessions to an OpenTelemetry collector."""

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
    max_chars: Annotated[
        int, Meta(ge=200, le=1_000_000, description="characters that one attribute with content may have")
    ] = 16_000

    def __post_init__(self) -> None:
        if self.endpoint is not None and not self.endpoint.startswith(("http://", "https://")):
            message = f"[telemetry] endpoint is {self.endpoint[:60]!r}"
            raise ConfigError(message, hint="It begins with http:// or https://", key="telemetry.endpoint")


class SessionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `hudkit run` and `hudkit chat` begin with, and the bounds of a turn."""

    model: Annotated[
        Annotated[str, Meta(min_length=3, max_length=200)] | None,
        Meta(description="the model of `hudkit run` and `hudkit chat`, as `provider:name`, where none is given"),
    ] = None
    agent: Annotated[
        Annotated[str, Meta(min_length=1, max_length=64)] | None,
        Meta(description="the agent that works where none is given; not set: `build`"),
    ] = None
    confine: Annotated[
        Literal["off", "rules", "all"],
        Meta(
            description="which commands may write only in the project and in temporary directories (Linux with "
            "Landlock): those that you were not asked about (`rules`), or every one (`all`)"
        ),
    ] = "off"
    max_output_tokens: Annotated[
        _Count | None,
        Meta(description="tokens that one answer may have; not set: what the model allows"),
    ] = None
    summaries: Annotated[
        bool,
        Meta(
            description="whether a full window is compacted, with a model's summary; if not, the oldest messages "
            "leave it in steps, and `memory` reads them"
        ),
    ] = True
    recent_tokens: Annotated[
        _Count | None,
        Meta(description="without summaries: tokens of the window that messages may have; not set: what is left"),
    ] = None
    recent_output_tokens: Annotated[
        _Count | None,
        Meta(description="without summaries: how many of these outputs of tools may have; not set: two thirds"),
    ] = None
    recent_messages: Annotated[
        Annotated[int, Meta(ge=2, le=1_000_000)] | None,
        Meta(description="without summaries: messages that may be in the window; not set: any number"),
    ] = None
    effort: Annotated[
        Literal["off", "minimal", "low", "medium", "high"] | None,
        Meta(description="how long a model is to think; not set: as its provider does by itself"),
    ] = None
    fallback_models: Annotated[
        tuple[str, ...],
        Meta(description="models asked in this order where one refuses for safety or is out of reach"),
    ] = ()
    max_steps: Annotated[_Count, Meta(description="model calls in one turn at most")] = 250
    identical_calls: Annotated[
        Annotated[int, Meta(ge=2, le=1_000)],
        Meta(
            description="identical tool calls with the same result after which the model is told so; two more are "
            "refused, then the turn ends"
        ),
    ] = 3
    answer_attempts: Annotated[
        Annotated[int, Meta(ge=1, le=100)],
        Meta(description="answers that are not of the type that was asked for, after which the turn ends"),
    ] = 3
    subagent_depth: Annotated[
        Annotated[int, Meta(ge=0, le=8)],
        Meta(description="how deep sub-agents may start others; 1: they start none themselves, 0: there are none"),
    ] = 1
    prompt_cost: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Meta(description="US dollars that one prompt may cost, sub-agents included"),
    ] = None
    prompt_tokens: Annotated[
        Annotated[int, Meta(ge=0)] | None, Meta(description="tokens that one prompt may use, sub-agents included")
    ] = None
    session_cost: Annotated[
        Annotated[float, Meta(ge=0)] | None, Meta(description="US dollars that a whole session may cost")
    ] = None
    session_tokens: Annotated[
        Annotated[int, Meta(ge=0)] | None, Meta(description="tokens that a whole session may use")
    ] = None
    keep_days: Annotated[
        Annotated[float, Meta(ge=1)] | None,
        Meta(description="days that a session is kept after it was worked in last; not set: for ever"),
    ] = None
    keep_megabytes: Annotated[
        Annotated[float, Meta(ge=1)] | None,
        Meta(description="megabytes of sessions and requests together, above which the oldest sessions are deleted"),
    ] = None
    parallel_calls: Annotated[
        Annotated[int, Meta(ge=1, le=64)],
        Meta(description="calls of one answer that run side by side: those that change nothing, and sub-agents"),
    ] = 8
    retries: Annotated[
        Annotated[int, Meta(ge=0, le=100)], Meta(description="how often a failed model call is made again")
    ] = 6
    retry_seconds: Annotated[
        _Wait, Meta(description="seconds before a failed model call is made again the first time; then twice as long")
    ] = 1
    max_retry_seconds: Annotated[_Wait, Meta(description="seconds before any such call at most")] = 60
    tool_seconds: Annotated[_Seconds, Meta(description="seconds that one call of a tool may take")] = 900
    plugin_tool_seconds: Annotated[
        _Seconds, Meta(description="seconds that one call of a plugin's tool may take")
    ] = 120
    plugin_hook_seconds: Annotated[
        _Seconds | None, Meta(description="seconds that one call of a plugin's hook may take; not set: by the hook")
    ] = None
    instructions: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=1_000)], ...],
        Meta(
            description='further files that go into the prompt: patterns in the project ("docs/rules/*.md"), '
            "paths from / or ~ anywhere, and https addresses at hosts that `instruction_hosts` allows"
        ),
    ] = ()
    instruction_hosts: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=253)], ...],
        Meta(
            description='hosts that instructions may be fetched from, as patterns ("docs.example.com"); none: no host'
        ),
    ] = ()
    keep_requests: Annotated[bool, Meta(description="whether what is sent to a model is kept in `requests.db`")] = (
        True
    )


class McpServer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An MCP server whose tools our own agent has: a `command` with `args` and `env`, or a `url` with `headers`.

    `tools` are patterns of the names that are offered (none: all). `trust`: of `ask`, every call is asked about; of
    `reads`, those of tools that say that they only read are not; of `all`, none is. `seconds` is how long it may take
    to answer at the beginning.
    """

    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    url: str = ""
    headers: dict[str, str] = {}
    tools: tuple[str, ...] = ()
    trust: Literal["ask", "reads", "all"] = "ask"
    seconds: Annotated[float, Meta(gt=0, le=600)] = 30.0


class LanguageServer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A language server that our own agent asks about files it changed: a `command` with `args` and `env`.

    `files` are patterns of paths in the project. `seconds` is how long a change may wait for what it says, `severity`
    the least that is told.
    """

    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    files: tuple[str, ...] = ()
    seconds: Annotated[float, Meta(gt=0, le=60)] = 3.0
    severity: Literal["error", "warning", "information", "hint"] = "warning"


class ToolSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the tools of `hudkit run` and `hudkit chat` take and give at most."""

    output_chars: Annotated[_Count, Meta(description="characters of an output that a model is given")] = 30_000
    kept_output_bytes: Annotated[
        _Count, Meta(description="bytes of a longer output that are kept in a file for it")
    ] = 10 * 1024 * 1024
    read_lines: Annotated[_Count, Meta(description="lines of a file that one `read` gives")] = 2_000
    line_chars: Annotated[_Count, Meta(description="characters of one such line")] = 2_000
    scan_bytes: Annotated[_Count, Meta(description="bytes that `read` goes into a file")] = 64 * 1024 * 1024
    edit_bytes: Annotated[_Count, Meta(description="bytes of a file that may be changed")] = 10 * 1024 * 1024
    search_results: Annotated[_Count, Meta(description="results of one search")] = 200
    search_seconds: Annotated[_Seconds, Meta(description="seconds that one search may take")] = 20
    shell_seconds: Annotated[
        _Seconds, Meta(description="seconds that a command may take where the model names no time")
    ] = 120
    max_shell_seconds: Annotated[_Seconds, Meta(description="seconds that the model may name")] = 600
    web_fetch: Annotated[
        bool, Meta(description="whether there is the tool `webfetch`; each host is asked about, as permissions say")
    ] = False
    fetch_private: Annotated[
        bool, Meta(description="whether it reaches addresses of this machine and of private networks")
    ] = False
    fetch_bytes: Annotated[_Count, Meta(description="bytes of a page that it reads")] = 2 * 1024 * 1024
    fetch_seconds: Annotated[_Seconds, Meta(description="seconds that one page may take")] = 30


class DaemonSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The resident process that hosts ask."""

    idle_minutes: Annotated[
        Annotated[float, Meta(ge=0, le=525_600)],
        Meta(description="minutes without a request after which the daemon ends; 0: never"),
    ] = 30


class ClaudeCodeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The plugin in Claude Code."""

    remaining_tokens: Annotated[
        Literal["theirs", "ours"],
        Meta(
            description='who tells the model how full its window is: Claude Code after each step ("theirs"), or the '
            'HUD where it matters, with Claude Code\'s own lines left out ("ours")'
        ),
    ] = "theirs"


class RoomsSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What worlds may ask of models; what a world is lies in its own file."""

    requests_per_minute: Annotated[
        Annotated[int, Meta(ge=0, le=1_000_000)],
        Meta(description="requests that each model of a world may be asked in a minute; 0: no limit"),
    ] = 0
    tokens_per_minute: Annotated[
        Annotated[int, Meta(ge=0, le=1_000_000_000)],
        Meta(description="tokens (input and output) that each of them may use in a minute; 0: no limit"),
    ] = 0
    concurrent_requests: Annotated[
        Annotated[int, Meta(ge=1, le=10_000)], Meta(description="requests that each of them has at the same time")
    ] = 64
    answer_tokens: Annotated[
        Annotated[int, Meta(ge=16, le=1_000_000)],
        Meta(description="tokens of an answer at most, with those that a model thinks before it"),
    ] = 4_000
    silence_seconds: Annotated[
        Annotated[float, Meta(gt=0, le=86_400)],
        Meta(description="seconds without a byte after which a model's server is gone; local models need more"),
    ] = 120.0


_Action = Literal["allow", "ask", "deny"]


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that can be configured. The field names are the tables and keys of a settings file."""

    bands: BandSettings = BandSettings()
    limits: SectionLimits = SectionLimits()
    budget: BudgetSettings = BudgetSettings()
    cache: CacheSettings = CacheSettings()
    overflow: OverflowSettings = OverflowSettings()
    pruning: PruningSettings = PruningSettings()
    compaction: CompactionSettings = CompactionSettings()
    custom: CustomSectionSettings = CustomSectionSettings()
    staleness: StalenessSettings = StalenessSettings()
    memory: MemorySettings = MemorySettings()
    extraction: ExtractionSettings = ExtractionSettings()
    always: AlwaysSettings = AlwaysSettings()
    backup: BackupSettings = BackupSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    session: SessionSettings = SessionSettings()
    tools: ToolSettings = ToolSettings()
    daemon: DaemonSettings = DaemonSettings()
    rooms: RoomsSettings = RoomsSettings()
    claude_code: ClaudeCodeSettings = ClaudeCodeSettings()
    permissions: Annotated[
        dict[str, _Action | dict[str, _Action]],
        Meta(
            description='what our own agent may do, by tool: "allow", "ask", "deny", or a table of those by pattern; '
            "the last that fits decides; --allow and --deny come behind"
        ),
    ] = {}
    plugins: Annotated[
        dict[str, dict[str, Any]], Meta(description="options of our own agent's plugins, by the name of the plugin")
    ] = {}
    mcp_servers: Annotated[
        dict[str, McpServer],
        Meta(
            description="MCP servers whose tools our own agent has, by name: `command`, `args`, `env`, or `url`, "
            "`headers`; `tools` (patterns), `trust` (`ask`, `reads`, `all`), `seconds`"
        ),
    ] = {}
    language_servers: Annotated[
        dict[str, LanguageServer],
        Meta(
            description="language servers that say what is wrong with a file that our own agent changed, by name: "
            "`command`, `args`, `env`, `files` (patterns), `seconds`, `severity`"
        ),
    ] = {}
    window: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000_000)] | None,
        Meta(description="tokens of the window, where neither the host nor the table of models knows them"),
    ] = None
    windows: Annotated[
        dict[str, Annotated[int, Meta(ge=1, le=1_000_000_000)]],
        Meta(description="tokens of the window by the name of a model or family; before what host and table say"),
    ] = {}

    def budget_for(self, limit_tokens: int) -> int:
        """Return the default budget of a frame, in tokens, for a window of `limit_tokens`.

        With the defaults a window of 40,000 tokens gives 800; windows below 15,000 give 300, above 75,000 give 1,500.
        """
        share = int(limit_tokens * self.budget.percent / 100)
        return max(self.budget.min_tokens, min(self.budget.max_tokens, share))


RENAMED_KEYS = {
    "budget.least": "min_tokens",
    "budget.most": "max_tokens",
    "cache.minutes": "ttl_minutes",
    "pruning.protect": "protected_tokens",
    "pruning.minimum": "min_freed_tokens",
    "overflow.reserved": "reserved_tokens",
    "compaction.least": "min_used_percent",
    "compaction.frees": "min_freed_percent",
    "compaction.calls": "cooldown_calls",
    "custom.wait": "budget_ms",
    "custom.time": "timeout_ms",
    "custom.memory": "memory_mib",
    "staleness.calls": "model_calls",
    "telemetry.limit": "max_chars",
}
"""Keys that settings files of version 0.1.0 have, and their names in the same table today; both are read for ever."""

PROJECT_DEFAULTS = "project"
"""The table of a project's file that holds no settings but the project's notes, key files and conventions."""

PROJECT_TABLES = ("bands", "limits", "budget")
"""What a project may set: how much is shown. A repository is somebody else's text; it decides nothing further."""

SIZE_LIMIT = 64 * 1024
"""Bytes of a settings file; a larger one is not read."""


class EffectiveSettings(msgspec.Struct, frozen=True):
    """The settings in force. `set_by` has `user` or `project` for each dotted key that is not the default; `warnings`
    say what is wrong with the files and was left out, `renamed` which keys were read under an old name."""

    settings: Settings
    set_by: Mapping[str, str]
    warnings: tuple[str, ...]
    renamed: tuple[str, ...] = ()

    @property
    def origins(self) -> Mapping[str, str]:
        """Return `default`, `user` or `project` for each dotted key."""
        return dict.fromkeys((key.name for key in keys()), "default") | dict(self.set_by)


class SettingKey(msgspec.Struct, frozen=True):
    """One setting: its dotted name, its default and what it means."""

    name: str
    default: object
    meaning: str


def load(user: Path | None = None, project: Path | None = None) -> EffectiveSettings:
    """Lay the user's file and then the project's over the defaults, and return what is in force.

    `None` is no file. Never raises: a file that is wrong is left out as a whole and said in `warnings`; so are a
    project's keys outside of `PROJECT_TABLES`.
    """
    table: Table = {}
    set_by: dict[str, str] = {}
    warnings: list[str] = []
    renamed: list[str] = []
    settings = Settings()
    for level, path in (("user", user), ("project", project)):
        if path is None:
            continue
        try:
            own, old_names = _with_current_names(read(path), str(path))
            renamed += old_names
            if level == "project":
                own, ignored = display_only(own, str(path))
                warnings += ignored
            # Both levels are checked together: a project's file may be wrong only beside the user's (bands that
            # do not ascend), and then it is the project's that is left out.
            settings = settings_from(overlaid(table, own), str(path))
        except ConfigError as error:
            warnings += error.details.get("all", (str(error),))  # type: ignore[arg-type]  # of strings
            continue
        table = overlaid(table, own)
        set_by.update(dict.fromkeys(_leaves(own), level))
    return EffectiveSettings(settings, set_by, tuple(warnings), tuple(renamed))


def read(path: Path) -> Table:
    """Return the table in a TOML file.

    Raises `ConfigError` with the file's name, and with line and column of what is not TOML.
    """
    try:
        if not path.is_file():
            state = "is not a file" if path.exists() else "is not there"
            raise ConfigError(f"{path} {state}", hint="Name a TOML file")
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
    """Return the table that a TOML text is. Raises `ConfigError` with line and column."""
    import tomllib  # most users have no such file

    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ConfigError(f"{where} is nested too deeply", hint="Settings are tables of plain values") from None
    except ValueError as error:
        words = str(error)
        # `tomllib` has the place in its message only.
        place = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", words)
        if place is None:
            raise ConfigError(f"{where} is not TOML: {words[:200]}") from None
        lines = text.split("\n")
        line, column = (place[1], place[2]) if place[1] else (len(lines), len(lines[-1]) + 1)
        raise ConfigError(f"{where}, line {line}, column {column}: {words[: place.start()][:200]}") from None


_MOST_FINDINGS = 20
"""Wrong keys of a file that are told."""


def settings_from(table: Table, where: str = "the settings") -> Settings:
    """Return the settings that a table as TOML gives it says; keys under their old names are read, too.

    Raises `ConfigError` with the first wrong key and the nearest right one, or with a wrong value and what would be
    right; its `details["all"]` are the messages of all wrong keys, or of all wrong values.
    """
    table, _ = _with_current_names(table, where)
    if wrong_keys := list(islice(_wrong_keys(table, Settings, where), _MOST_FINDINGS)):
        raise _first_of(wrong_keys)
    try:
        return msgspec.convert(table, Settings)
    except msgspec.ValidationError as error:
        # msgspec stops at the first: each key is looked at by itself.
        wrong_values = list(_wrong_values(table, where)) or [_validation_error(str(error), table, where)]
        raise _first_of(wrong_values) from None
    except ConfigError as error:
        raise ConfigError(f"{where}: {error.message}", hint=error.hint) from None


def _with_current_names(table: Table, where: str) -> tuple[Table, tuple[str, ...]]:
    """Return the table with keys of `RENAMED_KEYS` under their names of today, and a warning for each of them.

    Where a table has both names of a key, the new one wins.
    """
    current = dict(table)
    warnings: list[str] = []
    for old_path, new in RENAMED_KEYS.items():
        name, _, old = old_path.partition(".")
        inner = current.get(name)
        if not isinstance(inner, Mapping) or old not in inner:
            continue
        value = inner[old]
        rest = {key: other for key, other in inner.items() if key != old}
        current[name] = {new: value, **rest}
        warnings.append(f"{where}: {old_path} is now called {name}.{new}; the old name still works")
    return current, tuple(warnings)


def display_only(table: Table, where: str) -> tuple[Table, tuple[str, ...]]:
    """Return what a project may set of a table, and one warning that names what it may not, if there is any."""
    allowed = {key.name for key in keys() if key.name.partition(".")[0] in PROJECT_TABLES}
    shown: dict[str, Any] = {}
    ignored: list[str] = []
    for name, value in table.items():
        if name == PROJECT_DEFAULTS:
            continue
        if name not in PROJECT_TABLES:
            ignored.append(name)
        elif isinstance(value, Mapping):
            shown[name] = {key: inner for key, inner in value.items() if f"{name}.{key}" in allowed}
            ignored += [f"{name}.{key}" for key in value if key not in shown[name]]
        else:
            shown[name] = value
    if not ignored:
        return shown, ()
    # The names come from a stranger's file: few of them, short, and with control characters spelled out.
    some = ", ".join(f"{name[:40]!r}" for name in ignored[:5])
    more = f" and {len(ignored) - 5} more" if len(ignored) > 5 else ""
    may = ", ".join(f"[{name}]" for name in PROJECT_TABLES)
    return shown, (f"{where} sets {some}{more}: ignored. A project may set the keys of {may} only",)


def overlaid(under: Table, over: Table) -> dict[str, Any]:
    """Return `under` with what `over` has, key by key within tables."""
    both = dict(under)
    for name, value in over.items():
        inner = both.get(name)
        both[name] = {**inner, **value} if isinstance(inner, Mapping) and isinstance(value, Mapping) else value
    return both


def keys(kind: type[msgspec.Struct] = Settings, before: str = "") -> Iterator[SettingKey]:
    """Yield every setting there is, tables in the order of `Settings`; `before` is put before each name."""
    for field in msgspec.structs.fields(kind):
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            yield from keys(field.type, f"{before}{field.name}.")
        else:
            notes = (note for note in get_args(field.type)[1:] if isinstance(note, Meta))
            meaning = next((note.description for note in notes if note.description), "")
            default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
            yield SettingKey(before + field.name, default, meaning)


SCHEMA_ADDRESS = "https://hudkit.github.io/hudkit/settings.schema.json"
"""Where the documentation publishes the schema of a settings file; editors read it there."""


def settings_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a settings file."""
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "$id": SCHEMA_ADDRESS, **msgspec.json.schema(Settings)}


def new_settings_file() -> str:
    """Return the text of a settings file in which nothing is set: every key is a comment, with what it means.

    Its first line names the schema for editors.
    """
    lines = [f"#:schema {SCHEMA_ADDRESS}", "", "# hudkit's settings. Nothing is set yet: take the # from a line."]
    written = ""
    for key in sorted(keys(), key=lambda key: "." in key.name):
        table, _, name = key.name.rpartition(".")
        if table != written:
            # The header of a table may stand without keys; a key without its table would be another's.
            lines += ["", f"[{table}]"]
            written = table
        value = "(not set)" if key.default is None else toml_literal(key.default)
        lines += ["", f"# {key.meaning}", f"# {name} = {value}"]
    return "\n".join(lines) + "\n"


def toml_literal(value: object) -> str:
    """Return a value of a setting as TOML has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        pairs = (f"{toml_literal(key)} = {toml_literal(inner)}" for key, inner in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_literal, value))}]"
    if isinstance(value, str):
        from json import dumps  # only who writes settings needs it

        return dumps(value, ensure_ascii=False)
    return repr(value).removesuffix(".0")


def _leaves(table: Table) -> Iterator[str]:
    tables = {field.name for field in msgspec.structs.fields(Settings) if _is_table(field.type)}
    for name, value in table.items():
        if name in tables and isinstance(value, Mapping):
            yield from (f"{name}.{inner}" for inner in value)
        else:
            yield name


def _is_table(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _first_of(errors: Sequence[ConfigError]) -> ConfigError:
    """Return the first error, with the messages of all in its details."""
    first = errors[0]
    details = {**first.details, "all": tuple(map(str, errors))}
    return ConfigError(first.message, hint=first.hint, **details)


def _wrong_values(table: Table, where: str) -> Iterator[ConfigError]:
    """Yield an error for each key whose value is wrong by itself."""
    tables = {field.name for field in msgspec.structs.fields(Settings) if _is_table(field.type)}
    for name, value in table.items():
        is_table = name in tables and isinstance(value, Mapping)
        for part in ({key: inner} for key, inner in value.items()) if is_table else (value,):
            try:
                msgspec.convert({name: part}, Settings)
            except msgspec.ValidationError as error:
                yield _validation_error(str(error), {name: part}, where)
            except ConfigError:
                continue  # wrong only beside another key, which is not here


def _wrong_keys(table: Table, kind: type[msgspec.Struct], where: str) -> Iterator[ConfigError]:
    """Yield an error for each key that there is not, with the nearest one."""
    # Before msgspec looks: its own message for an unknown field has no nearest name.
    fields = {field.name: field.type for field in msgspec.structs.fields(kind)}
    for name, value in table.items():
        if name not in fields:
            yield ConfigError(f"{where} has no key {name[:60]!r}", hint=_nearest(name, tuple(fields)), key=name)
            continue
        inner = fields[name]
        if isinstance(value, Mapping) and isinstance(inner, type) and issubclass(inner, msgspec.Struct):
            yield from _wrong_keys(value, inner, f"{where}, [{name}]")


def _nearest(name: str, fields: tuple[str, ...]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name[:60], fields, 1)
    if near:
        return f"Did you mean {near[0]!r}?"
    elsewhere = [key.name for key in keys() if key.name.rpartition(".")[2] == name]
    if elsewhere:
        table, _, key = elsewhere[0].rpartition(".")
        place = f"[{table}]" if table else "the top level, before the first table"
        return f"{key!r} is a key of {place}"
    return f"It has: {', '.join(fields)}"


_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "a table of keys",
    "array": "a list",
}
_BOUNDS = {">=": "from", ">": "above", "<=": "up to", "<": "below"}
_EXPECTED = lazy_pattern(
    r"Expected `(\w+)(?: \| null)?`(?: ([<>]=?) ([\d.]+))?(?:, got `\w+`)? - at `\$\.([\w.]+)(?:\[\.\.\.\])?`"
)


def _validation_error(message: str, table: Table, where: str) -> ConfigError:
    """Return msgspec's message as an error that has the key, the value and what would be right."""
    match = _EXPECTED.fullmatch(message)
    if match is None:
        return _choice_error(message, where)
    kind, bound, number, path = match.groups()
    value: Any = table
    for name in path.split("."):
        value = value[name]
    right = _KINDS.get(kind, kind)
    if bound:
        right += f" {_BOUNDS[bound]} {float(number):.12g}"
    return ConfigError(f"{where}: {path} is {repr(value)[:60]}", hint=f"It is {right}", key=path)


_CHOICE = lazy_pattern(r"Invalid enum value (.*) - at `\$\.([\w.]+)(?:\[\.\.\.\])*`")


def _choice_error(message: str, where: str) -> ConfigError:
    """Return msgspec's message about a word that is none of a few as an error that has those few."""
    match = _CHOICE.fullmatch(message)
    if match is None:
        return ConfigError(f"{where}: {message}")
    word, path = match.groups()
    kind: Any = Settings
    for name in path.split("."):
        kind = next(field.type for field in msgspec.structs.fields(kind) if field.name == name)
    choices = ", ".join(repr(choice) for choice in dict.fromkeys(_literals(kind)))
    return ConfigError(f"{where}: {path} has {word[:60]}", hint=f"It is one of {choices}", key=path)


def _literals(kind: Any) -> Iterator[str]:
    """Yield the words of every `Literal` in an annotation."""
    for part in get_args(kind):
        if get_origin(kind) is Literal:
            yield part
        else:
            yield from _literals(part)
