"""Contract 1 on a file: every state and every frame is rebuilt from the log, by whoever opens it next."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudkit.api import Hud
from hudkit.errors import BudgetError
from hudkit.hud.frame import Frame
from hudkit.log import Origin, Payload
from hudkit.sections.state import HudState
from hudkit.tokens import count_tokens
from strategies import payloads

calls = st.fixed_dictionaries(
    {
        "used_tokens": st.one_of(st.none(), st.integers(0, 210_000)),
        "limit_tokens": st.sampled_from([None, 20_000, 200_000]),
        "budget": st.sampled_from([None, 300, 900]),
        "density": st.sampled_from([None, None, "full", "minimal"]),
        "placement": st.sampled_from(["anchored", "anchored", "system"]),
        "last": st.sampled_from(["user", "tool", "revert"]),
    }
)


@pytest.mark.slow
@settings(max_examples=20)
@given(st.lists(st.one_of(payloads, calls, st.just("reopen")), max_size=16))
def test_replay(ops: list[Payload | dict[str, Any] | str]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log" / "hud.db"
        hud = Hud.open(path)
        messages: list[tuple[str, str]] = []
        states: dict[int, HudState] = {}
        sent: list[tuple[int, Frame]] = []
        for number, op in enumerate(ops):
            session = hud.session("s")
            if isinstance(op, str):
                hud.close()
                hud = Hud.open(path)
            elif isinstance(op, dict):
                frame = _call(hud, op, messages, number)
                if frame is not None:
                    sent.append((session.state.seq, frame))
            else:
                session.append(op, origin=Origin.AGENT)
            states[hud.session("s").state.seq] = hud.session("s").state
        hud.close()
        with Hud.open(path) as fresh:
            session = fresh.session("s")
            for seq, state in states.items():
                assert session.state_at(seq) == state
            for seq, frame in sent:
                assert session.frame_at(seq) == frame
            assert list(fresh.verify()) == []


def _call(hud: Hud, arguments: dict[str, Any], messages: list[tuple[str, str]], number: int) -> Frame | None:
    arguments = dict(arguments)
    last = arguments.pop("last")
    if last == "revert":
        del messages[len(messages) // 2 :]
        last = "user"
    messages.append((f"m{number}", last))
    try:
        frame = hud.session("s").frame(transcript=messages, **arguments)
    except BudgetError:
        return None
    assert frame.tokens == count_tokens(frame.text) <= frame.budget
    return frame
