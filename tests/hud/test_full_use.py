"""Contract 2: a base uses its share to the full, the most important first, and tells of all that it leaves out.

States are random, from nearly nothing to ten times what fits. Every fact begins with a word of its own, by which it
is found in a frame.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator
from statistics import median

import pytest

from hudkit.api import Hud, HudSession
from hudkit.compose import Density, shorten
from hudkit.context.budget import BAND_SHARES, PRESSED_RULES, base_share
from hudkit.errors import BudgetError
from hudkit.hud.frame import Frame
from hudkit.log import Origin, Payload
from hudkit.log import payloads as p
from hudkit.testing.assertions import calls_in
from hudkit.tokens import count_tokens

pytestmark = pytest.mark.slow

BUDGETS = (60, 90, 130, 200, 300, 420, 700, 1000, 1500, 2000)
STATES = 16
TEXT = """keep the column where it is because finance reads by position never change a signature tests first no new
dependencies staging answers requests map old fields totals row src/report/part.py make ship 429 leap day"""

ORDER = ("rule", "blocker", "error", "current", "decision", "step", "edited", "note", "before", "read")
"""Kinds of facts, those that are worth most first; `before` are edited files behind the last eight."""

MARKER = 9
"""Tokens of `- +999 more: constraints.list`, at most."""

TITLES = {
    "constraints": "Constraints", "blockers": "⚠ Blockers", "errors": "Open Errors", "decisions": "Decisions",
    "steps": "Next Steps", "files": "Active Files", "notes": "Notes",
}  # fmt: skip
NOUNS = {
    "constraints": "constraint", "blockers": "blocker", "errors": "open error", "decisions": "decision",
    "steps": "step", "files": "file", "notes": "note",
}  # fmt: skip


class Facts:
    """A session with random facts: by the word that each begins with, its kind, section and text."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.session: HudSession = Hud.in_memory().session("s")
        self.facts: dict[str, tuple[str, str, str]] = {}
        size = self.chance.choice((1, 2, 4, 9))
        told: list[Payload] = [p.TaskSet(self.text("task"))]
        told += [p.ConstraintAdd(self.fact("rule", "constraints")) for _ in self.times(3 * size)]
        told += [p.BlockerAdd(self.fact("blocker", "blockers")) for _ in self.times(2)]
        told += [p.ErrorEncountered(self.fact("error", "errors")) for _ in self.times(size)]
        told += [p.DecisionRecord(self.fact("decision", "decisions"), self.reason()) for _ in self.times(4 * size)]
        for n in self.times(3 * size):
            told.append(p.StepAdd(self.fact("step" if n else "current", "steps")))
        edited = self.times(2 * size)
        told += [p.FileEdit(self.fact("edited" if n in edited[-8:] else "before", "files", "/a.py")) for n in edited]
        told += [p.NoteAdd(self.fact("note", "notes")) for _ in self.times(4 * size)]
        told += [p.FileOpen(self.fact("read", "files", "/b.py")) for _ in self.times(2 * size)]
        self.session.append(*told, origin=Origin.USER)

    def times(self, most: int) -> range:
        return range(self.chance.randrange(most + 1))

    def text(self, word: str) -> str:
        length = self.chance.choice((2, 4, 7, 12, 20, 60))
        return " ".join([word, *(self.chance.choice(TEXT.split()) for _ in range(length))])

    def fact(self, kind: str, section: str, path: str = "") -> str:
        word = f"{kind[0]}{len(self.facts):03}x"
        text = f"{word}{path}" if path else self.text(word)
        self.facts[word] = (kind, section, text)
        return text

    def reason(self) -> str:
        """Return the reason of the newest fact, which begins with a word of its own; half of them have none."""
        word = f"because{len(self.facts) - 1:03}"
        return self.text(word) if self.chance.random() < 0.5 else ""

    def frame(self, budget: int, **call: object) -> Frame | None:
        try:
            return self.session.frame(1_000, 200_000, budget=budget, **call)  # type: ignore[arg-type]
        except BudgetError:
            return None

    def shown(self, frame: Frame) -> list[str]:
        return [word for word in self.facts if word in frame.base]

    def reasons(self) -> dict[str, str]:
        """Return the reasons of decisions by the word that each begins with, the newest last."""
        return {one.details.split()[0]: one.details for one in self.session.state.decisions if one.details}

    def has_reason(self, decision: str) -> bool:
        found = self.session.state.decisions.find(decision)
        return found is not None and bool(found.details)


def share_of(frame: Frame) -> int:
    return int(base_share(frame.budget, count_tokens(frame.tail)) * BAND_SHARES.get(frame.band, 1.0))


def share_of_green(frame: Frame) -> int:
    return base_share(frame.budget, count_tokens(frame.tail))


def frames(seeds: range, **call: object) -> Iterator[tuple[Facts, Frame]]:
    for seed, budget in itertools.product(seeds, BUDGETS):
        facts = Facts(seed)
        frame = facts.frame(budget, **call)
        if frame is not None:
            assert frame.tokens == count_tokens(frame.text) <= budget
            yield facts, frame


def short(facts: Facts, word: str) -> str:
    kind, _, text = facts.facts[word]
    chars = 60 if kind in ("rule", "blocker", "error", "current") else 90
    has_mark = kind == "decision" and len(text) <= chars and facts.has_reason(text)
    return shorten(text, chars) + (" …" if has_mark else "")


def room_needed(facts: Facts, frame: Frame, word: str) -> int:
    """At most what showing a fact in its shortest form adds, its section's head and marker included."""
    section, text = facts.facts[word][1], short(facts, word)
    title = TITLES[section]
    if f"## {title} (" in frame.base:
        return count_tokens(f"- `{text}` (editing)\n")
    if f"{title} (" in frame.base:
        return count_tokens(f" · {text}")
    return count_tokens(f"{title} (999): {text} · +999: {section}.list\n\n")


def tokens_of_worse(facts: Facts, shown: set[str], kind: str) -> int:
    """At least what would be free without all shown facts that are worth less; blockers are always there."""
    freed = 0
    for section in TITLES:
        words = [word for word, fact in facts.facts.items() if fact[1] == section and word in shown]
        worse = [word for word in words if ORDER.index(facts.facts[word][0]) > ORDER.index(kind)]
        if section != "blockers" and worse:
            # Instead of the last of them there is a marker, or a count.
            freed += max(0, sum(count_tokens(short(facts, word)) for word in worse) - MARKER)
    return freed


def test_what_is_left_out_would_not_fit_and_nothing_of_less_worth_is_there_in_its_place() -> None:
    uses = []
    for facts, frame in frames(range(STATES)):
        left = share_of(frame) - count_tokens(frame.base)
        shown = set(facts.shown(frame))
        ranked = sorted(facts.facts, key=lambda word: ORDER.index(facts.facts[word][0]))
        for word in ranked:
            kind = facts.facts[word][0]
            if word not in shown:
                need = room_needed(facts, frame, word)
                assert left < need, (frame.budget, word, left, need)
                freed = left + tokens_of_worse(facts, shown, kind)
                assert freed < need, (frame.budget, word, freed, need)
        if frame.omitted and frame.budget >= 300:
            uses.append(count_tokens(frame.base) / share_of(frame))
    assert len(uses) > 40 and median(uses) >= 0.95 and min(uses) > 0.85


def test_a_reason_takes_the_room_of_no_item() -> None:
    with_reasons = with_omitted = 0
    for facts, frame in frames(range(STATES)):
        shown = facts.shown(frame)
        reasons = [text for word, text in facts.reasons().items() if word in frame.base]
        # What a reason costs: as much of it as is shown at least, less what joins with the text before.
        freed = sum(count_tokens(f" (because: {shorten(text, 90)})") - 2 for text in reasons)
        left = share_of(frame) - count_tokens(frame.base)
        for word in facts.facts:
            if word not in shown:
                assert left + freed < room_needed(facts, frame, word), (frame.budget, word)
        with_reasons += bool(reasons)
        with_omitted += len(shown) < len(facts.facts) and bool(facts.reasons())
    assert with_reasons > 20 and with_omitted > 20


def test_a_decision_has_its_reason_or_a_mark_that_there_is_one_the_newest_first() -> None:
    whole = marked = 0
    for facts, frame in frames(range(STATES)):
        texts = {one.details.split()[0]: one.summary for one in facts.session.state.decisions if one.details}
        reasons = [word for word, summary in texts.items() if summary.split()[0] in frame.base]
        told = [word for word in reasons if word in frame.base]
        lines = re.split(r"\n| · ", frame.base)
        for word in reasons:
            (line,) = (line for line in lines if texts[word].split()[0] in line)
            assert ("(because: " in line) if word in told else "…" in line, line
        whole += len(told)
        marked += len(reasons) - len(told)
        left = share_of(frame) - count_tokens(frame.base)
        for earlier, later in itertools.combinations(reasons, 2):
            if earlier in told and later not in told:  # the newer one is too long for what is left
                assert len(facts.reasons()[earlier]) < len(facts.reasons()[later]), (frame.budget, earlier, later)
        for word in set(reasons) - set(told):
            assert left < count_tokens(f" (because: {shorten(facts.reasons()[word], 90)})") + 1, (frame.budget, word)
    assert whole > 50 and marked > 50


def test_within_a_section_the_oldest_rules_and_steps_stay_and_the_newest_of_all_else() -> None:
    for facts, frame in frames(range(STATES)):
        shown = set(facts.shown(frame))
        for kind in ORDER:
            words = [word for word in facts.facts if facts.facts[word][0] == kind]
            lengths = {word: count_tokens(short(facts, word)) for word in words}
            kept = words if kind in ("rule", "step") else list(reversed(words))
            for earlier, later in itertools.combinations(kept, 2):
                if later in shown and earlier not in shown:
                    assert lengths[earlier] > lengths[later], (frame.budget, earlier, later)


@pytest.mark.parametrize("density", [None, *Density])
def test_omitted_and_the_counts_add_up_to_the_state(density: Density | None) -> None:
    for facts, frame in frames(range(STATES), density=density):
        omitted = {omission.text for omission in frame.omitted if not omission.path.endswith("/whole")}
        for section, title in TITLES.items():
            words = [word for word, fact in facts.facts.items() if fact[1] == section]
            missing = [word for word in words if word not in frame.base]
            assert all(facts.facts[word][2][:200] in omitted for word in missing)
            counted = re.search(rf"^(?:## )?{title} \((\d+)\)", frame.base, re.MULTILINE)
            more = re.search(rf"\+(\d+)(?: more)?: {section}\.list", frame.base)
            plural = re.search(rf"(?:^|\| )(\d+) {NOUNS[section]}s?(?: \||:)", frame.base, re.MULTILINE)
            if counted:
                assert int(counted[1]) == len(words) and int(more[1] if more else 0) == len(missing)
            elif plural:
                assert int(plural[1]) == len(words) == len(missing)
            elif "\nStep: " not in frame.base or section != "steps":
                assert not words or frame.budget < 130 or frame.density == "minimal", (frame.budget, section)


def test_what_is_named_returns_what_was_cut() -> None:
    for facts, frame in frames(range(0, STATES, 3)):
        missing = [word for word in facts.facts if word not in frame.base]
        answers = "".join(facts.session.tool(router, call) for router, call in calls_in(frame.base))
        # Below that there may be no room for the counts.
        assert frame.budget < 130 or all(word in answers for word in missing), frame.base


def test_as_many_facts_as_the_best_density_alone() -> None:
    behind = total = 0
    for seed, budget in itertools.product(range(STATES), BUDGETS):
        facts = Facts(seed)
        frame = facts.frame(budget)
        for density in Density if frame is not None else ():
            alone = Facts(seed).frame(budget, density=density)
            if alone is None:
                continue
            ours, theirs = set(facts.shown(frame)), set(facts.shown(alone))
            for kind in ORDER:
                # The smallest density has a line of its own for the current step, without the number of steps.
                if kind == "current" and density is Density.MINIMAL:
                    break
                words = [word for word in facts.facts if facts.facts[word][0] == kind]
                if len(ours & set(words)) != len(theirs & set(words)):
                    assert len(ours & set(words)) > len(theirs & set(words)), (seed, budget, density, kind)
                    break
            total += 1
            behind += len(ours) < len(theirs)
    assert behind <= total // 50


@pytest.mark.parametrize("placement", ["anchored", "system"])
def test_counts_and_blockers_are_shown_at_every_budget_that_can_hold_them(placement: str) -> None:
    for used in (1_000, 180_000, 190_000):
        session = Hud.in_memory().session("s")
        session.append(p.TaskSet("Port the report"), *(p.BlockerAdd(f"waiting for key {n}") for n in range(3)))
        session.append(*(p.ConstraintAdd(f"rule {n}: never touch part {n} of the report") for n in range(30)))
        session.append(*(p.DecisionRecord(f"decision {n}: keep column {n} where it is") for n in range(30)))
        for budget in range(110, 700, 35):
            frame = session.frame(used, 200_000, budget=budget, placement=placement)
            assert all(f"waiting for key {n}" in frame.base for n in range(3)), budget
            assert "Constraints (30)" in frame.base or "30 constraints" in frame.base, budget
            assert "Decisions (30)" in frame.base or "30 decisions" in frame.base, budget


@pytest.mark.parametrize("placement", ["anchored", "system"])
@pytest.mark.parametrize("used", [14_100, 14_900, 15_900])
def test_a_small_window_that_is_nearly_full_shows_the_rules_first(used: int, placement: str) -> None:
    complete = incomplete = 0
    for seed in range(STATES * 2):
        facts = Facts(seed)
        frame = facts.session.frame(used, 16_000, placement=placement)
        assert frame.tokens <= frame.budget == 320
        shown = set(facts.shown(frame))
        rules = [word for word, (kind, *_) in facts.facts.items() if kind == "rule"]
        missing = [word for word in rules if word not in shown]
        assert rules[:2] == [word for word in rules[:2] if word in shown], frame.base
        if missing:
            # No more than what fits behind the rules is there in their place, up to what is given for them.
            limit = frame.budget - count_tokens(frame.tail) if placement == "system" else share_of_green(frame)
            free = min(limit, PRESSED_RULES) - count_tokens(frame.base) + tokens_of_worse(facts, shown, "rule")
            assert free < room_needed(facts, frame, missing[0]), frame.base
        complete, incomplete = complete + (not missing), incomplete + bool(missing)
    assert complete > incomplete > 0
