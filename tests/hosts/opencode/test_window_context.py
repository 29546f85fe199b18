"""In real OpenCode, on all three shapes: the agent asks what fills its window, before and after a compaction."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from opencode_host import Hosts

from hudkit.hosts.opencode.plugin.plugin_source import SUMMARIZER_PROMPT
from hudkit.models.scripted_answers import ScriptedCall, says, uses
from hudkit.testing.model_server import ScriptedModel

pytestmark = pytest.mark.slow

ASK = ScriptedCall("memory", {"tool": "context", "args": {}})


@pytest.mark.parametrize("shape", ["openai", "anthropic", "gemini"])
def test_the_agent_sees_what_fills_its_window(
    opencode: Hosts, model: ScriptedModel, plugin: Path, shape: str
) -> None:
    model.marks["compaction"] = (SUMMARIZER_PROMPT[:80],)
    text = "".join(f"line {n}: {'x' * 60}\n" for n in range(300))
    host = opencode(shape=shape, plugins=[plugin], files={"a.txt": text}, limit=(60_000, 4_000))
    host.serve()
    session = host.create("a day")
    read = ScriptedCall("read", {"filePath": str(host.project / "a.txt")})
    model.play(uses(read), uses(read), uses(read), uses(ASK), says("Read."))
    host.prompt(session, "What is in a.txt?")
    answer = next(piece.text for piece in model.chats[-1].pieces if "| part | tokens |" in piece.text)
    rows = dict(re.findall(r"^\| ([^|]+?) ~? ?\| ([\d,]+) \|", answer, re.M))
    parts = {name: int(tokens.replace(",", "")) for name, tokens in rows.items()}
    assert next(iter(parts)) == "output of read" and {"system prompt", "tool definitions", "HUD"} <= parts.keys()
    assert abs(sum(parts.values()) - 60_000) <= 1, "they are the whole window"
    assert host.summarize(session)
    model.play(uses(ASK), says("Done."))
    host.prompt(session, "And now?")
    later = [piece.text for piece in model.chats[-1].pieces if "| part | tokens |" in piece.text][-1]
    assert "unknown until the next report" in later and "(estimated, ±" in later
