"""Does a small model take the newest value? Five projects of eight facts; six are replaced behind a tool's result.

The base has the values as they were; the changes are told as hudkit sends them, two messages before the question.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from bench.real_model.facts import Fact, facts_of, verdict
from bench.real_model.repeatable import repeatable_hud
from bench.real_model.server import ModelServer
from bench.retention.spoken import SYSTEM
from hudkit.api import HudSession
from hudkit.hud.frame import Frame
from hudkit.log.event import Origin

PROJECTS, CHANGED = 5, 6
MODEL = "qwen2.5-coder-0.5b-instruct"
"""As a host names it: a small model is told at the start of a turn what changed since the base, also just before."""
ANSWER_TOKENS = 24


def measured(server: ModelServer, placement: str) -> Counter[str]:
    """The verdicts on the 30 replaced values; `placement` is `anchored` or `system`."""
    counts: Counter[str] = Counter()
    for project in range(PROJECTS):
        facts = facts_of(project, CHANGED)
        with repeatable_hud() as hud:
            session = hud.session("placement")
            frame = _lived(session, facts, placement)
        for fact in facts[:CHANGED]:
            answer = server.complete(server.prompt(_request(frame, fact.question)), ANSWER_TOKENS, ("<|im_end|>",))
            counts[verdict(fact, answer)] += 1
    return counts


def _lived(session: HudSession, facts: list[Fact], placement: str) -> Frame:
    """The frame of the last of three calls; between the first and the second others change the values."""
    session.call("task.set", {"description": "Prepare the next release"})
    ids = [f"n{number}" for number in range(1, len(facts) + 1)]
    for fact in facts:
        session.call("notes.add", {"content": fact.said(fact.value)})
    asked, looked, seen, again = ("u1", "user"), ("a1", "assistant"), ("t1", "tool"), ("a2", "assistant")
    session.frame(2_000, 32_000, placement=placement, model=MODEL, transcript=[asked])
    for name, fact in zip(ids, facts, strict=True):
        if fact.newer:
            session.call("notes.update", {"id": name, "content": fact.said(fact.newer)}, origin=Origin.USER)
    session.frame(2_200, 32_000, placement=placement, model=MODEL, transcript=[asked, looked, seen])
    return session.frame(
        2_400, 32_000, placement=placement, model=MODEL, transcript=[asked, looked, seen, again, ("u2", "user")]
    )


def _request(frame: Frame, question: str) -> list[dict[str, Any]]:
    said = {
        "u1": "Have a look at what is in the project, please.",
        "a1": "I list the files.",
        "t1": "README.md\nsetup.cfg\nsrc\ntests\ntools",
        "a2": "There is a readme, the sources, tests and some tools.",
        "u2": question,
    }
    for delta in frame.deltas:
        said[delta.anchor] += f"\n\n{delta.text}"
    if frame.tail:
        said["u2"] += f"\n\n{frame.tail}"
    roles = {"u": "user", "a": "assistant", "t": "tool"}
    system = f"{SYSTEM}\n\n{frame.base}"
    return [
        {"role": "system", "content": system},
        *({"role": roles[name[0]], "content": text} for name, text in said.items()),
    ]
