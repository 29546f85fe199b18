"""The retention benchmark measures what it says; and what is recorded is kept at every compaction."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from bench.retention.measure import KEEP, TRIGGER, System, Truth, look, played
from bench.retention.ours import Ours
from bench.retention.scenes import SCENES
from bench.retention.sessions import Script, script
from bench.retention.spoken import SYSTEM, Message, cut, size, sizes
from bench.retention.summariser import MOST, Summariser, is_end, sides
from bench.retention.truncation import Tail

SHORT = 70
"""Turns of a session in these tests: two compactions."""


class Everything(System):
    """A window without an end."""

    def __init__(self) -> None:
        self.texts = [SYSTEM]

    def hear(self, message: Message) -> None:
        self.texts.append(message.whole)

    def ask(self) -> list[str]:
        return self.texts


@pytest.fixture(scope="module", params=SCENES, ids=lambda scene: scene.name)
def short(request: pytest.FixtureRequest) -> Script:
    return script(request.param, 5, SHORT)


@pytest.mark.slow
def test_a_session_is_the_same_each_time_and_another_with_another_seed(short: Script) -> None:
    scene = next(one for one in SCENES if one.name == short.scene)
    assert script(scene, 5, SHORT) == short
    assert script(scene, 6, SHORT).facts.keys() != short.facts.keys()


@pytest.mark.slow
def test_a_window_without_an_end_holds_all_that_is_live_and_shows_what_is_over_as_over(short: Script) -> None:
    end = played(short, Everything()).end
    assert end.live >= 10 and end.over >= 10
    assert (end.recall, end.stale) == (1, 0)


def test_statements_and_endings_are_told_apart(short: Script) -> None:
    for fact in short.facts.values():
        assert not is_end(fact.text)
        stated, ended = sides(f"{fact.text}. Nothing else.")
        assert (fact.word in stated, fact.word in ended) == (True, False)


@pytest.mark.slow
def test_truncation_loses_and_a_look_sees_it(short: Script) -> None:
    kept = played(short, Tail())
    assert kept.looks and max(one.recall for one in kept.looks) < 0.6
    assert all(one.reach == one.recall for one in kept.looks), "nothing brings it back"


def test_a_look_sees_what_stands_there_and_is_over() -> None:
    truth, turns = Truth(), script(SCENES[0], 5, SHORT).turns
    for turn in turns:
        truth.hear((*turn.heard, *turn.told))
    over = next(iter(truth.over.values()))
    assert look(0, truth, [over.text], Everything()).wrong == (over,)
    assert look(0, truth, [over.text, f"What I said of {over.word} no longer holds."], Everything()).wrong == ()


def _told(one: Script) -> list[str]:
    return [line for turn in one.turns for line in (turn.user, turn.agent, turn.tool.output)]


@pytest.mark.slow
def test_a_summary_keeps_lines_of_facts_only_as_often_as_it_is_to_and_is_bounded() -> None:
    long = script(SCENES[0], 5, 240)
    text = "\n".join(_told(long))
    full = Summariser(long, 1.0)(text)
    assert size(full) <= MOST + 10
    assert all(any(word in line for word in long.facts) for line in full.splitlines())
    few = script(SCENES[0], 5, 40)
    text = "\n".join(_told(few))
    all_of_it = sides(Summariser(few, 1.0)(text))[0] & few.facts.keys()
    half = sides(Summariser(few, 0.5)(text))[0] & few.facts.keys()
    assert all_of_it == sides(text)[0] & few.facts.keys()
    assert 0.2 < len(half) / len(all_of_it) < 0.8


def test_a_summary_leaves_out_what_the_prompt_says_survives() -> None:
    few = script(SCENES[0], 5, 40)
    text = "\n".join(_told(few))
    fact = next(iter(few.facts.values()))
    assert fact.word in Summariser(few, 1.0)(text)
    assert fact.word not in Summariser(few, 1.0)(f"{text}\n<hud>\n- {fact.text}\n</hud>")


def test_a_cut_does_not_part_a_result_from_its_call() -> None:
    messages = [Message(f"a{n}", "assistant", "", "c", "read") for n in range(3)]
    messages[1:1] = [Message("t", "tool", "", "c", "read")]
    assert [cut(messages, keep) for keep in (1, 2, 3, 4, 9)] == [3, 2, 0, 0, 0]


@pytest.mark.slow
@pytest.mark.parametrize("probability", [1.0, 0.9])
def test_what_is_recorded_is_kept_at_every_compaction(short: Script, probability: float) -> None:
    kept = played(short, Ours(Summariser(short, probability)))
    assert len(kept.looks) >= 2
    for one in kept.looks:
        assert one.state == 1, "all that is live is in the state"
        assert one.reach == 1, "and in the request, or one call away"
        assert one.revived == 0, "and nothing that is over is live again"


@pytest.mark.slow
def test_less_is_in_the_state_where_less_is_recorded(short: Script) -> None:
    least, half = (_states(short, share) for share in (0.0, 0.5))
    assert max(least) < 1
    assert sum(least) < sum(half) < len(half)


def _states(one: Script, share: float) -> Sequence[float]:
    return [each.state for each in played(one, Ours(Summariser(one, 1.0), share=share)).looks]


@pytest.mark.slow
def test_a_request_stays_below_the_trigger_after_a_compaction(short: Script) -> None:
    system = Ours(Summariser(short, 1.0))
    seen: list[int] = []
    ask = system.ask

    def asked() -> list[str]:
        texts = ask()
        seen.append(sizes(texts))
        return texts

    system.ask = asked  # type: ignore[method-assign]
    played(short, system)
    assert max(seen) < TRIGGER and len(system._messages) >= KEEP
