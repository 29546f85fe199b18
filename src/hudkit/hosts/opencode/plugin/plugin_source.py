"""The plugin's text: what OpenCode calls, behind the pieces that all such plugins share."""

from __future__ import annotations

from importlib.resources import files

from hudkit.hosts.node_plugin import PluginPaths, generate_module

_SOURCES = ("placing.js", "hooks.js", "history.js", "generation2.js")
"""OpenCode's own pieces; the last one has the default export."""

SUMMARIZER_PROMPT = (
    "You are about to lose the older part of your own conversation, and you write down what you need in order to "
    "carry on with it. The reader is you, in the same session, a moment from now: write in the first person, keep "
    "names, paths, numbers and exact wordings, and leave out what can be looked up. Do not answer questions of the "
    "conversation and do not continue the work; write the notes that you are asked for, and nothing else."
)
"""What the compaction agent is told it is; OpenCode's own text speaks of another agent."""


def generate_plugin(baked: PluginPaths) -> str:
    """Return the module's text. The same values give the same bytes."""
    own = files(__package__)
    sources = [own.joinpath(name) for name in _SOURCES]
    return generate_module(baked, "opencode", "OpenCode", sources, {"summarizer": SUMMARIZER_PROMPT})
