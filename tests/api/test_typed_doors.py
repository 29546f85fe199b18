"""A program that uses the public doors is checked by `mypy --strict`: it passes, and each wrong use is found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

CACHE = Path(__file__).parents[2] / ".cache" / "mypy-strict"
"""What mypy knows of hudkit and the SDKs as a program sees them; without it each run takes half a minute."""

CONSUMER = '''\
"""What programs do with hudkit's public names."""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

from agents import Agent as SdkAgent
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from pydantic_ai import Agent

from hudkit import Hud, HudSession
from hudkit.agent import AgentLoop, LoopOptions, LoopSettings, PermissionRule, TurnEnded, hud_plugin
from hudkit.compose import Element, fit, h, markdown
from hudkit.config import Settings
from hudkit.context import count_tokens
from hudkit.hosts.langchain import HudMiddleware
from hudkit.hosts.openai_agents import HudRunner
from hudkit.hosts.pydantic_ai import HudCapability


class Words:
    """A counter of one's own."""

    name = "words"

    def count(self, text: str) -> int:
        return len(text.split())


def facade(path: Path) -> str:
    with Hud.open(path, clock=lambda: 1_795, ids=lambda: "i", counter=Words(), settings=Settings()) as hud:
        assert_type(hud, Hud)
        session = hud.session("ses_1", project=path.parent)
        assert_type(session, HudSession)
        session.call("task.set", {"description": "Implement auth"})
        answer: str = session.tool("hud", {"operation": "notes.add", "text": "x"})
        events = session.ingest([{"id": "m1", "role": "user", "text": "Never touch legacy/", "time": 1}])
        last: int = events[-1].seq
        frame = session.frame(used_tokens=134_000, limit_tokens=200_000, budget=600)
        assert_type(frame.tokens, int)
        blocks: list[tuple[str, str, str]] = [(delta.id, delta.anchor, delta.text) for delta in frame.deltas]
        description: str = session.state.task.description
        return f"{answer}{last}{blocks}{description}{frame.text}{session.state_at(last).seq}"


async def own_agent(project: Path, data: Path) -> str:
    options = LoopOptions(
        plugins=[("hud", hud_plugin(data / "hudkit.db"))],
        permissions=[PermissionRule("*", "*", "allow")],
        settings=LoopSettings(prune=False),
    )
    loop = await AgentLoop.open(project, "anthropic:claude-sonnet-4-6", data=data, options=options)
    ended = await loop.prompt("Make the tests pass.")
    assert_type(ended, TurnEnded)
    await loop.close()
    return ended.text


def langchain(model: BaseChatModel, log: Path) -> object:
    hud = HudMiddleware[None, None](log, project=".", window=200_000, tools={"load_text": "read"}, compact=False)
    return create_agent(model, [], middleware=[hud])


def pydantic_ai(log: Path) -> Agent[None, str]:
    hud = HudCapability[None](log, project=".", window=200_000, resume="ses_1")
    return Agent("test", capabilities=[hud])


async def openai_agents(log: Path) -> str:
    with HudRunner(log, project=".", compact=True) as hud:
        ended = await hud.run(SdkAgent(name="coder"), "Make the tests pass.", session="s1")
        return str(ended.final_output)


def composition() -> int:
    def measure(element: Element) -> int:
        return count_tokens(markdown.render(element))

    fitted = fit(h.document()[h.section(title="Task")["Implement auth"]], 100, measure)
    return measure(fitted.tree)
'''

WRONG = {
    "a setting that is none": ("from hudkit import Hud\nHud.open('x', cluck=print)\n", "call-arg"),
    "a clock that is a text": ("from hudkit import Hud\nHud.open('x', clock='now')\n", "arg-type"),
    "messages that are texts": (
        "from hudkit import HudSession\ndef use(s: HudSession) -> None:\n    s.ingest(['hello'])\n",
        "list-item",
    ),
    "a window in words": (
        "from hudkit.hosts.langchain import HudMiddleware\nHudMiddleware[None, None](window='large')\n",
        "arg-type",
    ),
    "an option that is none": ("from hudkit.agent import LoopOptions\nLoopOptions(tool='x')\n", "call-arg"),
}


def check(folder: Path, **sources: str) -> str:
    """What `mypy --strict` says of programs that have hudkit installed and no settings of ours."""
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--cache-dir",
        str(CACHE),
        "--no-error-summary",
        "--no-pretty",
    ]
    names = [f"{name}.py" for name in sources]
    return subprocess.run([*command, *names], cwd=folder, capture_output=True, text=True, check=False).stdout


def test_a_program_and_its_mistakes_are_checked(tmp_path: Path) -> None:
    """One run of mypy for all: it reads hudkit and three SDKs, which takes most of its time."""
    wrong = {f"wrong_{number}": source for number, (source, _) in enumerate(WRONG.values())}
    said = check(tmp_path, consumer=CONSUMER, **wrong).splitlines()
    assert [line for line in said if line.startswith("consumer.py")] == []
    for number, (what, (_, code)) in enumerate(WRONG.items()):
        errors = [line for line in said if line.startswith(f"wrong_{number}.py") and "error:" in line]
        assert len(errors) == 1 and f"[{code}]" in errors[0], (what, errors)
