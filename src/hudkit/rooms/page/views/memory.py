"""What an agent wrote down: all that it remembers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hudkit.compose.formats.html.hast import Element
from hudkit.rooms.actions.agent_actions import knowledge_tokens
from hudkit.rooms.page.views.scene import Scene
from hudkit.rooms.world import AgentState
from hudkit.web.elements import Child, e


def memory(scene: Scene, agent: AgentState) -> Element:
    used, most = knowledge_tokens(agent.knowledge), scene.world.rules.tokens.knowledge
    bar = e(
        "svg",
        e("rect", x=0, y=0, width=1000, height=10, class_="rest"),
        e("rect", x=0, y=0, width=f"{min(1.0, used / most) * 1000:.1f}", height=10, class_="part part-3"),
        viewBox="0 0 1000 10",
        preserveAspectRatio="none",
        class_="bar whole",
        aria_hidden="true",
    )
    return e(
        "section",
        e("p", e("b", f"{used:,}"), f" of {most:,} tokens · {used * 100 // most}%", class_="total"),
        bar,
        _tree(agent.knowledge, agent.weights, "")
        if agent.knowledge
        else e("p", "It wrote nothing down yet.", class_="empty"),
        class_="memory",
    )


def _tree(value: Mapping[str, Any], weights: Mapping[str, float], path: str) -> Element:
    return e("ul", [_entry(name, one, weights, f"{path}{name}") for name, one in value.items()], class_="tree")


def _entry(name: str, value: Any, weights: Mapping[str, float], path: str) -> Element:
    weight = e("small", f" {weights[path]:g}", class_="badge", title="its weight") if path in weights else None
    inner: Child
    if isinstance(value, Mapping) and value:
        inner = _tree(value, weights, f"{path}.")
    elif isinstance(value, list) and value:
        inner = e("ul", [e("li", _said(one)) for one in value])
    else:
        inner = e("span", _said(value))
    return e("li", e("b", name), weight, " ", inner)


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
