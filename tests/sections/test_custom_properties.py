"""Whatever the source of a section is, a frame comes, within its budget, and says what went wrong in one line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hudkit.api import Hud
from hudkit.config import CustomSectionSettings, Settings
from hudkit.log import Origin
from hudkit.log.payloads import SectionDefine, SectionPrepared
from hudkit.sections.sandboxed import READABLE_FIELDS
from hudkit.sections.state import STATE_FIELDS
from hudkit.tokens import count_tokens
from strategies import hostile, payloads

pytest.importorskip("pydantic_monty")

PROGRAMS = (
    "def section(notes, steps):\n    return [n['content'] for n in notes] + [s['description'] for s in steps]\n",
    "def section(notes, steps):\n    return {'full': {'notes': len(notes)}, 'compact': 'c', 'minimal': 'm'}\n",
    "def section(notes, steps):\n    return jsx('<list><item>{a}</item></list>', a=[str(n) for n in notes])\n",
    "def section(notes, steps):\n    return {'rows': [['a', 'b']] + [[s['id'], s['completed']] for s in steps]}\n",
    "def section(notes, steps):\n    x = 'a'\n    for _ in range(9):\n        x += x\n    return [x[:400]]\n",
)
PIECES = st.sampled_from(
    ["(", ")", "[", "]", "{", "}", "'", '"', "\n", "    ", ":", "=", "*", "**", "10**9", "while True:", "x", "notes",
     "section", "jsx", "return", "lambda", "None", "yield", "await", "import os", "\\", "\x00", "\ud800", "<break />"]
)  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(PROGRAMS))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 12)))
        text = text[:start] + draw(st.one_of(PIECES, hostile)) + text[end:]
    return text


@pytest.fixture(scope="module")
def hud() -> Iterator[Hud]:
    with Hud.in_memory(settings=Settings(custom=CustomSectionSettings(agent=True, budget_ms=2000))) as one:
        yield one


sources = st.one_of(
    mutated(), mutated(), st.text(max_size=200), st.binary(max_size=60).map(lambda raw: raw.decode("latin-1"))
)


@pytest.mark.slow
@given(
    st.lists(sources, min_size=1, max_size=3),
    st.lists(payloads, max_size=6),
    st.sampled_from([120, 300, 800]),
    st.data(),
)
@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_a_frame_comes_within_its_budget(hud, texts, told, budget, data) -> None:  # type: ignore[no-untyped-def]
    session = hud.session(f"s{len(hud.sessions())}")
    for n, text in enumerate(texts):
        session.append(SectionDefine(f"s{n}", text, reads=("notes", "steps")), origin=Origin.AGENT)
    for payload in told:
        session.append(payload, origin=Origin.AGENT)
    density = data.draw(st.sampled_from(["full", "compact", "minimal"]))
    frame = session.frame(used_tokens=10, limit_tokens=200_000, budget=budget, density=density, placement="system")
    assert frame.tokens == count_tokens(frame.text) <= frame.budget
    for one in session.state.custom:
        assert "\n" not in one.error and len(one.error) <= 160
        assert one.error or one.definition or not one.source, "each has run"
    assert Hud(hud.log).session(session.id).frame_at(session.state.seq).text == frame.text


@pytest.mark.slow
@given(
    st.builds(
        SectionPrepared, hostile, hostile, hostile, hostile, st.integers(-5, 500), hostile, hostile, hostile, hostile
    )
)
@settings(deadline=None, max_examples=60)
def test_a_log_that_others_wrote_does_no_harm(told: SectionPrepared) -> None:
    with Hud.in_memory() as hud:
        session = hud.session("s")
        session.append(told, origin=Origin.SYSTEM)
        for density in ("full", "compact", "minimal"):
            assert session.frame(budget=400, density=density, placement="system").tokens <= 400
            assert session.frame(budget=400, density=density).tokens <= 400


def test_what_can_be_read_is_there() -> None:
    assert set(READABLE_FIELDS) <= set(STATE_FIELDS)
