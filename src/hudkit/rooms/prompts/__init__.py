"""What agents are told: files of one's own words with a schema, read into plain texts by name."""

from hudkit.rooms.prompts.prompt_files import (
    PROMPTS,
    ActionCategory,
    check_prompts,
    fill_placeholders,
    load_prompts,
    read_actions,
    read_prompts,
    write_prompts,
)

__all__ = [
    "PROMPTS",
    "ActionCategory",
    "check_prompts",
    "fill_placeholders",
    "load_prompts",
    "read_actions",
    "read_prompts",
    "write_prompts",
]
