"""The plugin of hosts that load a module of JavaScript: the pieces that they share, and one file out of all of them.

A host adds the pieces that know its hooks and its messages. What the module knows of this machine is put into it when
it is installed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import msgspec

from hudkit import __version__
from hudkit.hosts.wire import PROTOCOL
from hudkit.paths import spare_name
from hudkit.tools import DEFINITIONS

_SHARED = (
    "transport.js",
    "transcript.js",
    "upload.js",
    "question.js",
    "kept_frames.js",
    "session.js",
    "watchdog.js",
    "answers.js",
)
"""The shared pieces in the order in which they become one module; the host's own stand behind them."""

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


class PluginPaths(msgspec.Struct, frozen=True):
    """What the plugin knows without asking: absolute paths of the interpreter, the data directory, the log, the
    socket, and of its own file (without it, it starts no daemon)."""

    python: str
    data: str
    db: str
    socket: str
    plugin: str


def generate_module(
    baked: PluginPaths, host: str, title: str, sources: Sequence[Traversable], constants: Mapping[str, str] = {}
) -> str:
    """Return the text of a host's module: `host` is its name for the daemon, `title` what people call it, `sources`
    are its own pieces, `constants` its own values. The same values give the same bytes."""
    values = {
        "version": __version__,
        "protocol": PROTOCOL,
        "host": host,
        "title": title,
        **msgspec.to_builtins(baked),
        "spare": spare_name(Path(baked.socket)),
        "tools": [*DEFINITIONS, *_COMPACTION_TOOLS],
        **constants,
    }
    shared = files(__package__)
    pieces = [*(shared.joinpath(name) for name in _SHARED), *sources]
    return "\n".join(
        (
            f"// hudkit {__version__} for {title}. `hudkit install {host}` writes this file; edits are lost.",
            *(f'import {{ {name} }} from "{module}";' for module, name in _NODE_IMPORTS),
            "",
            f"const BAKED = {_literal(values)};",
            *("\n" + piece.read_text(encoding="utf-8").rstrip("\n") for piece in pieces),
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
