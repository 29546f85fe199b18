"""What agents are told: files of one's own words with a schema, read into plain texts by name."""

from hudkit.rooms.prompts.actions import Category, read_actions
from hudkit.rooms.prompts.files import load_prompts, read_prompts, write_prompts
from hudkit.rooms.prompts.places import filled
from hudkit.rooms.prompts.schema import PROMPTS, check_prompts

__all__ = [
    "PROMPTS",
    "Category",
    "check_prompts",
    "filled",
    "load_prompts",
    "read_actions",
    "read_prompts",
    "write_prompts",
]
