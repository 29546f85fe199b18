"""The parts of a HUD that are the same for all agents of a kind: `system` and `meta`, made from a world's prompts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hudkit.rooms.hud.compact import LEGEND
from hudkit.rooms.prompts import filled, load_prompts, read_actions
from hudkit.rooms.prompts.actions import GATED
from hudkit.rooms.prompts.schema import BOT, DIRECTIVES, PERSONA
from hudkit.rooms.rules import Rules
from hudkit.rooms.world import Agent

_FULL = "memory.full"


def texts(prompts: Mapping[str, str], rules: Rules) -> dict[str, str]:
    """Every prompt with its places filled; hudkit's own where a world has none."""
    return {name: filled(text, rules).strip() for name, text in {**load_prompts(), **prompts}.items()}


def advice(prompts: Mapping[str, str], rules: Rules) -> str:
    """What an agent is told while its memory is nearly full."""
    return filled(prompts.get(_FULL) or load_prompts()[_FULL], rules).strip()


def system(prompts: Mapping[str, str]) -> dict[str, Any]:
    return {"directives": "\n\n".join(prompts[name] for name in DIRECTIVES)}


def meta(prompts: Mapping[str, str], agent: Agent, examples: bool) -> dict[str, Any]:
    """How to read the HUD and answer it. Without `examples`, the recommended layout of knowledge and the example of
    an answer are left out."""
    parts = [prompts[name] for name in (PERSONA if agent.kind == "persona" else BOT)]
    if examples:
        parts.append(prompts[f"layouts.{agent.kind}"])
    found: dict[str, Any] = {"instructions": "\n\n".join(parts)}
    if notation := {"compact": LEGEND, "toon": prompts["notation.toon"]}.get(agent.input_format):
        found["notation"] = notation
    found["available_actions"] = {
        one.name: {"_description": one.description, "actions": list(one.actions)}
        for one in read_actions(prompts["actions"])
        if one.name != GATED or agent.can_create
    }
    answer = agent.output_format
    found["response_format"] = {
        "type": answer,
        "description": f"Answer in {answer.upper()}",
        "instructions": prompts[f"answer.{answer}"],
    }
    if examples:
        found["response_format"]["example"] = prompts[f"answer.{answer}-example"]
    return found
