"""The plugin's text: the pieces of JavaScript of this folder as one file, with what is known at install time."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from hudkit import __version__
from hudkit.hosts.wire import PROTOCOL
from hudkit.paths import spare_name
from hudkit.tools import DEFINITIONS

_SOURCES = (
    "transport.js",
    "transcript.js",
    "upload.js",
    "question.js",
    "kept_frames.js",
    "session.js",
    "watchdog.js",
    "hooks.js",
    "history.js",
    "generation2.js",
)
"""The sources in the order in which they become one module; the last one has the default export."""

_NODE_IMPORTS = (
    ("node:child_process", "spawn"),
    ("node:fs", "accessSync, constants, existsSync, lstatSync, mkdirSync, readFileSync, readdirSync"),
    ("node:fs", "renameSync, statSync, unlinkSync, writeFileSync"),
    ("node:http", "request"),
    ("node:os", "tmpdir"),
    ("node:path", "dirname"),
)

_NOTHING: dict[str, Any] = {"type": "object", "properties": {}}

_COMPACTION_TOOLS: tuple[dict[str, Any], ...] = (
    {
        "name": "hud_compact",
        "description": "Compacts when this turn ends.",
        "parameters": _NOTHING,
    },
    {
        "name": "memory_compact",
        "description": "Same.",
        "parameters": _NOTHING,
    },
)
"""The tools without operations: each starts a compaction that the agent itself asked for."""

SUMMARIZER_PROMPT = (
    "You are about to lose the older part of your own conversation, and you write down what you need in order to "
    "carry on with it. The reader is you, in the same session, a moment from now: write in the first person, keep "
    "names, paths, numbers and exact wordings, and leave out what can be looked up. Do not answer questions of the "
    "conversation and do not continue the work; write the notes that you are asked for, and nothing else."
)
"""What the compaction agent is told it is; OpenCode's own text speaks of another agent."""


class PluginPaths(msgspec.Struct, frozen=True):
    """What the plugin knows without asking: absolute paths of the interpreter, the data directory, the log, the
    socket, and of its own file (without it, it starts no daemon)."""

    python: str
    data: str
    db: str
    socket: str
    plugin: str


def generate_plugin(baked: PluginPaths) -> str:
    """Return the module's text. The same values give the same bytes."""
    constants = {
        "version": __version__,
        "protocol": PROTOCOL,
        **msgspec.to_builtins(baked),
        "spare": spare_name(Path(baked.socket)),
        "tools": [*DEFINITIONS, *_COMPACTION_TOOLS],
        "summarizer": SUMMARIZER_PROMPT,
    }
    source = files(__package__)
    return "\n".join(
        (
            f"// hudkit {__version__} for OpenCode. `hudkit install opencode` writes this file; edits are lost.",
            *(f'import {{ {name} }} from "{module}";' for module, name in _NODE_IMPORTS),
            "",
            f"const BAKED = {_literal(constants)};",
            *("\n" + source.joinpath(piece).read_text(encoding="utf-8").rstrip("\n") for piece in _SOURCES),
            "",
        )
    )


def read_paths(text: str) -> tuple[PluginPaths, str] | None:
    """Return what was put into a plugin's text at its installation, and by which version; `None` where it is not
    there."""
    _, mark, rest = text.partition("const BAKED = ")
    try:
        baked: Any = json.JSONDecoder().raw_decode(rest)[0] if mark else None
        return msgspec.convert(baked, PluginPaths), str(baked["version"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _literal(value: object) -> str:
    """Return JSON that is JavaScript too: ASCII only, so that no separator of lines is left in a text."""
    return json.dumps(value, indent=2, ensure_ascii=True)
