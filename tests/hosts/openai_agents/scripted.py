"""The SDK's own fake model, what it is to answer, and what reached it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agents import Agent, function_tool
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call
from agents.usage import Usage

from hudkit.api import Hud
from hudkit.sections.state import HudState

NOTE = "prices are in cents"


@function_tool
def work(part: str) -> str:
    """Does a part of the work."""
    return f"{part} is done"


def calls(name: str, arguments: Any, id: str, *, used: int | None = None, response: str | None = None) -> ModelStep:
    return ModelStep([function_call(name, arguments, call_id=id)], _usage(used), response)


def says(text: str, *, used: int | None = None, response: str | None = None) -> ModelStep:
    return ModelStep([assistant_message(text)], _usage(used), response)


def notes(text: str, id: str) -> ModelStep:
    return calls("hud", {"tool": "notes.add", "args": {"content": text}}, id)


def agent(*steps: Any, name: str = "coder", **given: Any) -> tuple[Agent[Any], ScriptedModel]:
    model = ScriptedModel(steps)
    return Agent(name, model=model, **{"instructions": "Work.", "tools": [work], **given}), model


def system(call: ModelCall) -> str:
    return call.system_instructions or ""


def text(items: Any) -> str:
    """Everything that a model reads of a list of items."""
    if isinstance(items, str):
        return items
    if isinstance(items, Sequence):
        return "\n".join(map(text, items))
    if isinstance(items, dict):
        return "\n".join(text(items.get(name, "")) for name in ("content", "text", "output", "arguments", "summary"))
    return ""


def state(hud_file: Path, project: Path, id: str) -> HudState:
    with Hud.open(hud_file) as log:
        return log.session(id, project=project, host="openai-agents").state


def orphans(items: Sequence[Any]) -> list[str]:
    """The ids of results without a call before them, and of calls without a result."""
    called = [str(item["call_id"]) for item in items if item.get("type") == "function_call"]
    done = [str(item["call_id"]) for item in items if item.get("type") == "function_call_output"]
    return sorted(set(called) ^ set(done))


def _usage(used: int | None) -> Usage:
    return Usage() if used is None else Usage(1, used - 10, output_tokens=10, total_tokens=used)
