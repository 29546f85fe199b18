"""The plugin's files, and those of the marketplace that it is installed from: a folder of the user's own."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import msgspec

from hudkit import __version__
from hudkit.hosts.hook_wire import HOOK_VERSION
from hudkit.hosts.wire import PROTOCOL, PROTOCOL_HEADER, VERSION_HEADER
from hudkit.tools import DEFINITIONS

HOST = "claude-code"
PLUGIN = "hudkit"
"""The name of the plugin, and of its marketplace: the model knows its tools as `mcp__hudkit__hud`."""

_FOLDER = PLUGIN
"""The plugin's folder in that of the marketplace."""

BAKED_FILE = f"{_FOLDER}/hooks/baked.js"
"""The file of what was put in at the installation."""

_EXPORT = "export const BAKED = "
_DESCRIPTION = (
    "Keeps task, rules, decisions and notes in sight of the agent: within a token budget, through every compaction"
)

_COMMANDS: tuple[dict[str, Any], ...] = (
    {
        "name": "hud",
        "description": "Show what the HUD of this session knows",
        "argumentHint": "",
        "line": ["show", "{session}", "{args}"],
        "needs": False,
    },
    {
        "name": "pin",
        "description": "Keep a line in sight of the agent, through every compaction",
        "argumentHint": "<line>",
        "line": ["pin", "--session", "{session}", "--", "{args}"],
        "needs": True,
    },
    {
        "name": "compactions",
        "description": "What each compaction of this session dropped and kept",
        "argumentHint": "[show N]",
        "line": ["compactions", "{args}", "--session", "{session}"],
        "needs": False,
    },
)
"""What a person types, and the command line that answers it."""

_FALLBACK_EVENTS = ("SessionStart", "UserPromptSubmit", "PostToolBatch", "SubagentStart")
"""The settings hooks that stand in for the mod where mods are switched off. None for a compaction: Claude Code tells
the model that such a hook ran, with its whole command line."""


class MarketplacePaths(msgspec.Struct, frozen=True):
    """What the plugin knows without asking: absolute paths of the interpreter, the data directory, the log and the
    daemon's socket."""

    python: str
    data: str
    db: str
    socket: str


def generate_plugin(baked: MarketplacePaths) -> dict[str, str]:
    """Return the files of the marketplace's folder, by their names. The same values give the same bytes."""
    author = {"name": "hudkit"}
    marketplace = {
        "name": PLUGIN,
        "owner": author,
        "metadata": {"description": "hudkit, from this machine"},
        "plugins": [{"name": PLUGIN, "source": f"./{_FOLDER}", "description": _DESCRIPTION}],
    }
    plugin = {
        "name": PLUGIN,
        "version": __version__,
        "description": _DESCRIPTION,
        "author": author,
        "license": "MIT",
        "homepage": "https://hudkit.github.io/hudkit/claude-code/",
    }
    sources = files(__package__)
    modules = {
        f"{_FOLDER}/hooks/{name}": sources.joinpath(name).read_text("utf-8") for name in ("register.js", "daemon.js")
    }
    return {
        ".claude-plugin/marketplace.json": _json(marketplace),
        f"{_FOLDER}/.claude-plugin/plugin.json": _json(plugin),
        f"{_FOLDER}/README.md": _README,
        f"{_FOLDER}/LICENSE": _LICENSE,
        f"{_FOLDER}/hooks/hooks.json": _json({"modules": ["./register.js"], "hooks": _fallback(baked)}),
        BAKED_FILE: f"{_EXPORT}{_json(_constants(baked))[:-1]};\n",
        **modules,
    }


def read_paths(text: str) -> tuple[MarketplacePaths, str] | None:
    """Return what was put into the plugin at its installation, and by which version; `None` where it is not there."""
    try:
        baked: Any = json.JSONDecoder().raw_decode(text.removeprefix(_EXPORT))[0]
        return msgspec.convert(baked, MarketplacePaths), str(baked["version"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _constants(baked: MarketplacePaths) -> Mapping[str, Any]:
    tools = [
        {"name": each["name"], "description": each["description"], "inputSchema": each["parameters"]}
        for each in DEFINITIONS
    ]
    return {
        "name": PLUGIN,
        "host": HOST,
        "version": __version__,
        "protocol": PROTOCOL,
        "protocolHeader": PROTOCOL_HEADER,
        "versionHeader": VERSION_HEADER,
        "hookVersion": HOOK_VERSION,
        **msgspec.to_builtins(baked),
        "tools": tools,
        "commands": _COMMANDS,
    }


def _fallback(baked: MarketplacePaths) -> Mapping[str, Any]:
    """Return hooks that are a process each. A shell looks first whether the mod is there, which costs next to
    nothing."""
    words = [baked.python, "-P", "-E", "-m", "hudkit", "hook", HOST]
    env = {"HUDKIT_DATA": baked.data, "HUDKIT_DB": baked.db, "HUDKIT_SOCKET": baked.socket}
    settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in env.items())
    command = f'[ -n "$HUDKIT_MOD" ] || {settings} exec {shlex.join(words)}'
    hook = {"type": "command", "command": command, "timeout": 10}
    return {event: [{"hooks": [hook]}] for event in _FALLBACK_EVENTS}


def _json(value: object) -> str:
    """Return JSON that is JavaScript too: ASCII only, so that no separator of lines is left in a text."""
    return json.dumps(value, indent=2, ensure_ascii=True) + "\n"


_README = """\
# hudkit for Claude Code

`hudkit install claude-code` writes this folder; edits are lost. `hudkit uninstall claude-code` takes it away.

The HUD holds what the agent must not forget: its task, your rules, decisions with their reasons, open steps, notes.
The plugin shows it to the model as a section of the system prompt, tells with prompts and tool results what changed,
and gives the agent the tools `hud` and `memory`. `/hud` shows it to you, `/pin` keeps a line in sight, `/compactions`
tells what was dropped.

It asks hudkit's daemon on this machine, over a unix socket of the user's own, and nobody else.
"""

_LICENSE = """\
MIT License

Copyright (c) 2026 The hudkit developers

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""
