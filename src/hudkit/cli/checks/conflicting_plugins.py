"""Other plugins of OpenCode that want what we want: the prompt, the compaction, or a tool of our name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import msgspec

from hudkit.cli.checks.check import CheckRow, Diagnosis, good, warn
from hudkit.cli.checks.environment import CheckEnvironment
from hudkit.cli.checks.host_checks import opencode_configurations, read_start
from hudkit.errors import ConfigError
from hudkit.hosts.installing.jsonc import find_member, parse_jsonc
from hudkit.hosts.installing.user_environment import project_directory
from hudkit.hosts.opencode import plugin_install

CONFIG_BYTES = 1024 * 1024
PLUGIN_BYTES = 256 * 1024
MOST = 200
"""Plugins that are looked at."""

_TOOL = "it may offer a tool of the name `memory` too"
_PROMPT = "it may rewrite the prompt too, which costs cached tokens"
_HUD = "it may put a HUD of its own into the prompt"

NAMES: tuple[tuple[str, str], ...] = (
    (r"supermemory|mem0", _TOOL),
    (r"memory", _TOOL),
    (r"magic[-_]?context|context", _PROMPT),
    (r"(?<![a-z0-9])dcp(?![a-z0-9])", _PROMPT),
    (r"(?<![a-z0-9])hud(?![a-z0-9])", _HUD),
)
"""Names that say what a plugin does, and what may clash; the first that fits counts."""

_OWN_TOOLS = ("hud", "memory", "hud_compact", "memory_compact")
_NAMED = "|".join(_OWN_TOOLS)

CONTENTS: tuple[tuple[str, str], ...] = (
    (r"experimental\.chat\.system\.transform", "changes the system prompt, which ours stands behind"),
    (r"experimental\.chat\.messages\.transform", "changes messages, which the provider has cached"),
    (r"experimental\.session\.compacting", "sets the prompt of compactions, as ours does: the last one wins"),
    (
        rf"""(?<![\w$.])["']?(?:{_NAMED})["']?\s*:\s*(?:[\w$.]*tool\w*\s*\(|\{{\s*(?:description|args|execute)\b)""",
        "defines a tool of the name of one of ours",
    ),
)
"""What a local plugin's text may show."""

_FOLDERS = ("plugin", "plugins")
_TOOL_FOLDERS = ("tool", "tools")
_ENDS = (".js", ".ts")


class OtherPlugin(msgspec.Struct, frozen=True):
    """A plugin that is not ours: what it is called, and its file where it is a local one."""

    name: str
    file: Path | None = None


def _conflicts(here: CheckEnvironment) -> Diagnosis:
    """Which plugins may clash with ours, and how."""
    own = str(here.install.plugin)
    seen: dict[str, tuple[str, ...]] = {}
    unread: list[str] = []
    for other in _other_plugins(here, unread):
        if str(other.file) != own and len(seen) < MOST:
            seen.setdefault(other.name, known_clashes(other))
    odd = [f"{name}: {', '.join(why)}" for name, why in seen.items() if why]
    odd += [f"{path.name} in {path.parent.name}/: it defines a tool of our name" for path in _tools(here)]
    if odd:
        return warn("; ".join(odd), "Where the agent's calls look wrong, try without it; hudkit changes no plugin")
    if unread:
        return warn("; ".join(unread), "Fix it: OpenCode cannot read it either")
    return good(f"{len(seen)} other plugins, none known to clash" if seen else "there are no other plugins")


CONFLICT_CHECKS = (CheckRow("other plugins", _conflicts),)


def _other_plugins(here: CheckEnvironment, unread: list[str]) -> Iterator[OtherPlugin]:
    """Every plugin in the configurations and folders in force; a configuration that cannot be read is said in
    `unread`."""
    for path in opencode_configurations(here):
        try:
            text = read_start(path, CONFIG_BYTES)
            yield from _listed(text, path, here) if text and text.strip() else ()
        except ConfigError as error:
            unread.append(error.message)
    for folder in _directories(here):
        for name in _FOLDERS:
            for end in _ENDS:
                for path in sorted((folder / name).glob(f"*{end}"))[:MOST]:
                    yield OtherPlugin(path.name, path)


def known_clashes(other: OtherPlugin) -> tuple[str, ...]:
    """Return what may clash with a plugin: by what its file says, else by its name."""
    text = ""
    if other.file is not None:
        try:
            text = read_start(other.file, PLUGIN_BYTES) or ""
        except ConfigError:
            text = ""
    reasons = tuple(why for form, why in CONTENTS if re.search(form, text))
    return reasons or tuple(why for form, why in NAMES if re.search(form, other.name.lower()))[:1]


def _listed(text: str, where: Path, here: CheckEnvironment) -> Iterator[OtherPlugin]:
    member = find_member(parse_jsonc(text, str(where)), plugin_install.PLUGIN_KEY)
    for item in member.node.items if member else ():
        value = item.node.value
        entry = value[0] if isinstance(value, list) and value else value
        if isinstance(entry, str) and entry:
            yield _named_plugin(entry, where, here)


def _named_plugin(entry: str, where: Path, here: CheckEnvironment) -> OtherPlugin:
    if entry.startswith("file://"):
        path = Path(unquote(entry.removeprefix("file://")))
    elif entry.startswith("~/"):
        path = here.home / entry[2:]
    elif entry.startswith(("/", "./", "../")):
        path = where.parent / entry
    else:
        name = re.sub(r"://[^/@\s]*@", "://", entry)  # what stands before the @ may be a token
        return OtherPlugin(name.partition("?")[0][:100])
    return OtherPlugin(path.name[:100], path)


def _directories(here: CheckEnvironment) -> tuple[Path, Path]:
    return plugin_install.user_directory(here.env), project_directory(here.directory) / ".opencode"


def _tools(here: CheckEnvironment) -> Iterator[Path]:
    """The user's own tools of our names: OpenCode calls them after their files."""
    for folder in _directories(here):
        for name in _TOOL_FOLDERS:
            for tool in _OWN_TOOLS:
                yield from (path for end in _ENDS if (path := folder / name / f"{tool}{end}").is_file())
