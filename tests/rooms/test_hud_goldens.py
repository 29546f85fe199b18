"""One agent's HUD as a document in each format; run with `--update-goldens`, then read it as the agent would."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_worlds import NOON, SHORT_PROMPTS, greenhouse

from hudkit.rooms.hud import CachedRenderer, as_markdown, build_agent_hud

GOLDEN = Path(__file__).parent / "goldens" / "greenhouse.md"
HEAD = """# Ada's HUD, in each format

Ada (1) has a greenhouse, and sits in the room of Bo (2), a weather bot, where she has 70 % of her attention. Cy (3)
asks to come into hers. She noted that she trusts Bo and what he said of the frost, liked his answer, and tried to
leave her own room. It is noon; the prompts are short ones.
"""


def test_golden(request: pytest.FixtureRequest) -> None:
    parts = [HEAD]
    renderer = CachedRenderer()
    for format_ in ("json", "compact", "toon"):
        world = greenhouse(prompts=SHORT_PROMPTS, input_format=format_).world
        seen = build_agent_hud(world, 1, NOON, renderer)
        parts.append(f"\n## {format_}: {seen.tokens} tokens\n\n~~~~{format_}\n{seen.text}\n~~~~\n")
        if format_ == "json":
            page = as_markdown(seen)
    parts.append(f"\n## For people\n\n~~~~markdown\n{page}~~~~\n")
    text = "".join(parts)
    if request.config.getoption("--update-goldens"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()
