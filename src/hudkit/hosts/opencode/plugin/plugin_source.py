"""The plugin's text: the pieces of JavaScript of this folder as one file, with what is known at install time."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import msgspec

from hudkit import __version__
from hudkit.hosts.wire import PROTOCOL
from hudkit.tools import DEFINITIONS

_SOURCES = ("transport.js", "transcript.js", "upload.js", "session.js", "hooks.js")
"""The sources in the order in which they become one module; the last one has the only export."""

_NODE_IMPORTS = (
    ("node:child_process", "spawn"),
    ("node:fs", "existsSync, readFileSync"),
    ("node:http", "request"),
)

_NOTHING: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}

_COMPACTION_TOOLS: tuple[dict[str, Any], ...] = (
    {
        "name": "hud_compact",
        "description": (
            "Compacts the conversation when this turn ends; what `hud` keeps survives. Refused below half a window."
        ),
        "parameters": _NOTHING,
    },
    {
        "name": "memory_compact",
        "description": ("The same as `hud_compact`."),
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


def _literal(value: object) -> str:
    """Return JSON that is JavaScript too: ASCII only, so that no separator of lines is left in a text."""
    return json.dumps(value, indent=2, ensure_ascii=True)
