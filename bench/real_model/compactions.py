"""What a model still knows after it has compacted its own conversation: summary alone, with the HUD, and all facts.

The user tells the facts between stretches of ordinary work; the model writes the summaries, by hudkit's own prompt.
What the HUD holds is recorded by the script: an agent that records nothing has less.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from bench.real_model.facts import Fact, facts_of, verdict
from bench.real_model.repeatable import repeatable_hud
from bench.real_model.server import ModelServer
from bench.retention.spoken import SYSTEM
from hudkit.api import HudSession
from hudkit.context.compaction.summaries import summary_prompt

PROJECTS = 5
FACTS, CHANGED = 6, 2
SUMMARY_TOKENS, ANSWER_TOKENS = 130, 24
ARMS = ("summary", "summary and HUD", "all facts")
_WORK = (
    "I read src/importer.py; it has 214 lines and three classes.",
    "The tests pass: 41 passed in 2.3 s.",
    "I moved parse_row() into its own module and mended its import in four files.",
    "ruff has nothing to say about the change.",
)


def measured(server: ModelServer, compactions: int) -> dict[str, Counter[str]]:
    """By arm, the verdicts on thirty questions after that many compactions."""
    found: dict[str, Counter[str]] = {arm: Counter() for arm in ARMS}
    for project in range(PROJECTS):
        facts = facts_of(project, CHANGED)[:FACTS]
        with repeatable_hud() as hud:
            session = hud.session("compactions")
            told = {with_hud: _compacted(server, session, facts, compactions, with_hud) for with_hud in (False, True)}
            base = session.frame_after_compaction().base
        systems = {
            "summary": (SYSTEM, told[False]),
            "summary and HUD": (f"{SYSTEM}\n\n{base}", told[True]),
            "all facts": (f"{SYSTEM}\n\n" + "\n".join(fact.said(fact.now) for fact in facts), "Work goes on."),
        }
        for arm, (system, summary) in systems.items():
            for fact in facts:
                asked = f"Earlier in this conversation:\n{summary}\n\n{fact.question}"
                messages = [{"role": "system", "content": system}, {"role": "user", "content": asked}]
                answer = server.complete(server.prompt(messages), ANSWER_TOKENS, ("<|im_end|>",))
                found[arm][verdict(fact, answer)] += 1
    return found


def _compacted(server: ModelServer, session: HudSession, facts: list[Fact], compactions: int, with_hud: bool) -> str:
    """The last of the summaries that the model writes; in the first one's conversation the facts are told, in the
    last one's the newer values. With the HUD, they are recorded, too."""
    summary = ""
    for number in range(compactions):
        news = [fact.said(fact.value) for fact in facts] if number == 0 else []
        if number == compactions - 1:
            news += [f"By the way: {fact.said(fact.newer)} Not {fact.value}." for fact in facts if fact.newer]
        if with_hud:
            _record(session, facts, number == 0, number == compactions - 1)
        hud = session.frame_after_compaction().base if with_hud else ""
        messages: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}]
        for line, done in zip(news, _WORK * len(news), strict=False):
            messages += [{"role": "user", "content": line}, {"role": "assistant", "content": done}]
        if not news:
            messages += [{"role": "user", "content": "Go on."}, {"role": "assistant", "content": _WORK[number % 4]}]
        messages.append({"role": "user", "content": summary_prompt(hud, summary)})
        summary = server.complete(server.prompt(messages), SUMMARY_TOKENS, ("<|im_end|>",))
    return summary


def _record(session: HudSession, facts: list[Fact], first: bool, last: bool) -> None:
    for number, fact in enumerate(facts, 1):
        if first:
            session.call("notes.add", {"content": fact.said(fact.value)})
        if last and fact.newer:
            session.call("notes.update", {"id": f"n{number}", "content": fact.said(fact.newer)})
