"""Makes docs/claude-agent-sdk.svg, the picture of its page, from a session of the real Claude Agent SDK:
`python docs/make_claude_agent_sdk_picture.py`."""

from __future__ import annotations

import re
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import claude_agent_sdk as sdk

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "tests" / "hosts" / "claude_agent_sdk")]

from make_picture import COLUMNS, picture  # noqa: E402
from sdk_host import ClaudeAgentSdkHost, SdkTalk, conversation  # noqa: E402

from hudkit.cli.styles import HUD_STYLES, styled  # noqa: E402
from hudkit.models.scripted_answers import ScriptedCall, says, uses  # noqa: E402
from hudkit.testing.assertions import kept_base  # noqa: E402
from hudkit.testing.host_conformance import HostWorkspace  # noqa: E402
from hudkit.testing.model_server import ScriptedModel  # noqa: E402

PICTURE = ROOT / "docs" / "claude-agent-sdk.svg"
NAME = "the Claude Agent SDK with hudkit"
SUITE = ClaudeAgentSdkHost()

FIRST = (
    f"# Claude Agent SDK {sdk.__version__} with hudkit. Only the model's answers are scripted; output is shortened."
)
CODE = ("hud = HudHooks()", "async with ClaudeSDKClient(hud.options(options)) as client:")
COMPACTED = "# The summary of the compaction says:"
SEEN = "# What the agent still knows, in front of the next request:"
SUMMARY = "The report is being ported; the mapping is half done."

STYLES = (
    (r"^# .*", "white italic"),
    (r"^\S.*HudHooks.*|^async with.*", "bold green"),
    (r"^  > .*", "bold"),
    (r"^  ⚙ .*", "magenta"),
    *HUD_STYLES,
)
"""What is coloured, the first rule first."""


def session() -> tuple[list[tuple[str, list[str]]], str]:
    """What was said, prompt by prompt with what the agent did and said, and the base behind the compaction."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, ScriptedModel() as model:
        place = Path(folder)
        (place / "report" / ".git").mkdir(parents=True)
        model.compaction = SUITE.summary(SUMMARY)
        model.play(
            uses(SUITE.hud_call("task.set", text="Port the report to the new API")),
            uses(SUITE.hud_call("decisions.record", text="Amounts are integers in cents")),
            uses(ScriptedCall("Bash", {"command": "python -m unittest -q test_report"})),
            says("The mapping is half done."),
            says("Going on with the totals."),
        )
        talked = []
        with conversation(HostWorkspace(place / "report", place / "hud.db", place, model.url), "s1") as talk:
            for prompt in ("Port the report. Never change the columns.", "/compact", "Go on."):
                talk.messages.clear()
                words = talk.say(prompt)
                talked.append((prompt, [*_calls(talk), words]))
        return talked, kept_base(model.chats[-1])


def _calls(talk: SdkTalk) -> Iterator[str]:
    for message in talk.messages:
        for block in getattr(message, "content", ()) if isinstance(message, sdk.AssistantMessage) else ():
            if isinstance(block, sdk.ToolUseBlock):
                name = block.name.removeprefix("mcp__hudkit__")
                yield f"⚙ {name} {' · '.join(map(str, block.input.values()))}"


def lines(talked: list[tuple[str, list[str]]], base: str) -> Iterator[str]:
    """The picture's lines, at most `COLUMNS` wide."""
    yield FIRST
    yield from ("", *CODE)
    for prompt, said in talked:
        if prompt == "Go on.":
            yield from ("", COMPACTED, f"  {SUMMARY}")
        yield from ("", f"  > {prompt}")
        yield from (f"  {line}" for line in said if line)
    yield from ("", SEEN)
    for line in re.sub(r"\n\n(?=- )", "\n", base).splitlines():
        yield from textwrap.wrap(line, COLUMNS) or [""]


if __name__ == "__main__":
    PICTURE.write_text(picture([styled(line, STYLES) for line in lines(*session())], NAME), encoding="utf-8")
    print(f"wrote {PICTURE.name}")
