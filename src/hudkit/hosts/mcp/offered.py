"""What the server offers, word for word: tools, resources, prompts, and how an agent is told to use them."""

from __future__ import annotations

from typing import Any

import mcp_types as types

from hudkit.tools import DEFINITIONS

INSTRUCTIONS = (
    "Your HUD holds what must not be forgotten (task, constraints, decisions, steps, notes) and outlives compaction. "
    'Read it first, and again whenever the conversation was compacted or cut: hud({"tool": "snapshot"}).\n'
    'Record as you work: hud({"tool": "task.set", "args": {"description": "..."}}), constraints.add, '
    'decisions.record, steps.add, steps.complete; hud({"tool": "help"}) lists the operations. '
    'memory({"tool": "search", "args": {"query": "..."}}) finds what was said in any session.'
)

CURRENT = "hud://current"
SESSION = "hud://session/"
AS_JSON = "/json"
"""The end of a resource's address where it is wanted as data."""

MARKDOWN = "text/markdown"
JSON = "application/json"

OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "ok": {"type": "boolean", "description": "Whether the call was carried out."},
        "text": {"type": "string", "description": "The answer; of a refused call, what is wrong and what is right."},
        "data": {"type": "object", "description": "The answer's facts, by operation.", "additionalProperties": True},
        "session": {"type": "string", "description": "The session that the call went to."},
    },
    "required": ["ok", "text", "data", "session"],
    "additionalProperties": False,
}
"""The schema of a tool's structured answer."""

_TITLES = {"hud": "HUD", "memory": "Memory of all sessions"}

TOOLS = [
    types.Tool(
        name=str(one["name"]),
        title=_TITLES[str(one["name"])],
        description=str(one["description"]),
        input_schema=one["parameters"],
        output_schema=OUTPUT,
        # Both read and write; what is removed stays in the log; nothing beyond this machine is asked.
        annotations=types.ToolAnnotations(
            read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
        ),
    )
    for one in DEFINITIONS
]

_FOR_BOTH = types.Annotations(audience=["user", "assistant"], priority=1.0)

RESOURCES = [
    types.Resource(
        uri=CURRENT,
        name="hud",
        title="The HUD",
        description="Task, constraints, decisions, steps, notes and files of this session.",
        mime_type=MARKDOWN,
        annotations=_FOR_BOTH,
    ),
    types.Resource(
        uri=CURRENT + AS_JSON,
        name="hud-data",
        title="The HUD as data",
        description="The same with all ids, as JSON.",
        mime_type=JSON,
    ),
]

TEMPLATES = [
    types.ResourceTemplate(
        uri_template=SESSION + "{id}",
        name="session",
        title="The HUD of a session",
        description="Of any session of the log, of any host, by its id.",
        mime_type=MARKDOWN,
    ),
    types.ResourceTemplate(
        uri_template=SESSION + "{id}" + AS_JSON,
        name="session-data",
        title="The HUD of a session as data",
        description="The same with all ids, as JSON.",
        mime_type=JSON,
    ),
]

PROMPTS = [
    types.Prompt(name="hud", title="Show the HUD", description="Puts the HUD as it is now into the conversation."),
    types.Prompt(
        name="resume",
        title="Take up an earlier task",
        description="Takes up the task of another session, of any host, with its constraints, decisions and steps.",
        arguments=[types.PromptArgument(name="session", description="The session's id.", required=True)],
    ),
]
