"""Undo after any mixture of tools, commands and other people: it does what it says, and the rest is untouched."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loops import opened

from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply, says, uses
from hudkit.models.scripted_model import InProcessModel

pytestmark = pytest.mark.slow

FILES = ("a", "b", "d/c")
STEP = st.tuples(st.sampled_from(["write", "write", "write", "remove", "append"]), st.sampled_from(FILES))
PROMPTS = st.lists(st.lists(STEP, max_size=5), min_size=1, max_size=3)
OTHERS = st.lists(st.tuples(st.sampled_from(["remove", "append", "same"]), st.sampled_from(FILES)), max_size=2)


def seen(here: Path) -> dict[str, bytes]:
    return {name: (here / name).read_bytes() for name in FILES if (here / name).is_file()}


def played(number: int, steps: list[tuple[str, str]]) -> list[ScriptedReply]:
    replies = []
    for place, (what, name) in enumerate(steps):
        text = f"{number}.{place}\n"
        call = {
            "write": ScriptedCall("write", {"path": name, "content": text}),
            "remove": ScriptedCall("bash", {"command": f"rm -f {name}"}),
            "append": ScriptedCall("bash", {"command": f"mkdir -p d; echo theirs {text.strip()} >> {name}"}),
        }[what]
        replies.append(uses(ScriptedCall("read", {"path": name}), call))
    return [*replies, says("done")]


def others(here: Path, what: str, name: str) -> None:
    place = here / name
    if what == "remove":
        place.unlink(missing_ok=True)
    elif what == "append":
        place.parent.mkdir(exist_ok=True)
        place.write_bytes((place.read_bytes() if place.is_file() else b"") + b"mine\n")


async def session(
    at: Path, first: set[str], prompts: list[list[tuple[str, str]]], later: list[tuple[str, str]]
) -> None:
    here = at / "project"
    (here / "d").mkdir(parents=True)
    for name in first:
        (here / name).write_text(f"{name} at first\n")
    model = InProcessModel([reply for number, steps in enumerate(prompts) for reply in played(number, steps)])
    async with opened(at, model) as loop:
        before = []
        for number, _ in enumerate(prompts):
            before.append(seen(here))
            await loop.prompt(f"prompt {number}")
        touched = {name for what, name in later if what != "same"}
        for what, name in later:
            others(here, what, name)
        for steps, was in zip(reversed(prompts), reversed(before), strict=True):
            now = seen(here)
            undone = await loop.undo()
            after = seen(here)
            for name in FILES:
                if name in undone.restored:
                    ran_before_it = ("append", name) in steps or ("remove", name) in steps
                    assert ran_before_it or after.get(name) == was.get(name)
                    lost = now.get(name, b"").count(b"mine") - after.get(name, b"").count(b"mine")
                    assert lost <= 0, "nobody's work is lost"
                else:
                    assert after.get(name) == now.get(name)
            written = {name for what, name in steps if what == "write"}
            moved = {name for what, name in steps if what != "write"}
            assert {*undone.restored, *(one.path for one in undone.kept_back)} == written
            assert written - moved - touched <= set(undone.restored)
            touched |= {one.path for one in undone.kept_back} | moved


@given(st.sets(st.sampled_from(FILES)), PROMPTS, OTHERS)
@settings(max_examples=20)
def test_undo_restores_what_it_says_and_touches_nothing_else(
    first: set[str], prompts: list[list[tuple[str, str]]], later: list[tuple[str, str]]
) -> None:
    with tempfile.TemporaryDirectory() as place:
        asyncio.run(session(Path(place), first, prompts, later))
