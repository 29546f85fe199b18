"""Learns how a sentence reads that is meant to last, which statement is believed, and what a message ends.

Says how well on hands not read.

`python -m bench.recorder_weights` reads of `bench/recorder` the development sessions, the fresh sets that have
been read, and `wordings`, of which `talk.txt` is ordinary talk: nothing in it is said for more than the
moment, or ends something. The third, eighth, tenth to sixteenth fresh set, the held-out sessions and BEAM are
not read. Three logistic regressions by gradient descent; `--write` puts their weights into
`hudkit.ingest.extraction.clause_weights`.
"""

from __future__ import annotations

import math
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench import recorder_fresh, shapes
from hudkit.ingest.extraction import Extracted, KnownStatements, extract
from hudkit.ingest.extraction.clause_grammar import features
from hudkit.ingest.extraction.hedging import is_question
from hudkit.ingest.extraction.lasting import Place, belief_features, is_of_the_moment, own_sentences
from hudkit.ingest.extraction.prose import line_of, split_sentences
from hudkit.ingest.extraction.topic_endings import in_reach, own_lines, read_turn, turn_features

_PLACE = Path(__file__).parent / "recorder"
_MODULE = Path(__file__).parent.parent / "src/hudkit/ingest/extraction/clause_weights.py"
SETS = ("fresh", "fresh_second", "fresh_fourth", "fresh_fifth", "fresh_sixth", "fresh_seventh")
"""The fresh sets that may be learned from."""
STATEMENT_SETS = (*SETS, "fresh_ninth", "natural")
"""Those that statements and endings are learned from. Sentences are not: with the last two, more of what BEAM's users
say for the moment was kept ("everything's clear now")."""
HANDS = tuple(f"hand_{letter}" for letter in "abcdefgh")
TALKERS = (
    *(f"hand_{letter}" for letter in "ijklmnpqrstuvwxyz"),
    *(f"hand_a{letter}" for letter in "abcdefghi"),
)
"""Hands that wrote talks; the second ones long talks, too, where hardly anything ends. Endings are learned from them;
statements are not, as more of what BEAM's users say for the moment was kept."""
MESSAGES = (
    *(f"messages_{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"),
    "messages_aa",
    *(f"learners_{letter}" for letter in "abcdefghijk"),
    *(f"short_{letter}" for letter in "abcdefghijklmno"),
    *(f"implicit_{letter}" for letter in "ab"),
)
"""Hands that wrote single messages only: of every sort; of people who learn, make or plan something in a long
conversation, of which most state nothing that lasts; and short and plain ones."""
MESSAGE_VALIDATION = ("messages_b", "messages_e", "messages_l", "messages_n", "learners_c", "short_c")
"""The sets by which thresholds of sentences are chosen; nothing is learned from them."""
TALK_SETS = (*STATEMENT_SETS, *HANDS, *TALKERS)

_COUNTS = {"development": 0.9, "chatter": 0.5}
"""How much a sentence of a set counts, or a pair with ordinary talk; 1 where nothing stands here."""
_LEAST, _RIDGE, _ROUNDS, _SMALLEST = 8, 3.0, 250, 0.08
_FROM = 0.4
"""The logit from which on a sentence is kept."""
_BELIEF_LEAST, _BELIEF_ROUNDS, _BELIEVED = 6, 400, -0.35
_TOPIC_LEAST, _TOPIC_RIDGE, _TOPIC_ROUNDS = 6, 3.0, 500
_CHATTER = 2
"""Messages of ordinary talk, and statements of other talks, that each talk is asked with, too."""


class Row(NamedTuple):
    """A labelled sentence: its set, what it has, and whether it is meant to last."""

    place: str
    names: tuple[str, ...]
    label: int


def rows() -> Iterator[Row]:
    """Yield every labelled sentence of the sets that may be learned from."""
    for place in SETS:
        for text, marks in recorder_fresh.messages(_PLACE / place):
            sure = [mark.words for mark in marks if mark.sure]
            yield from _labelled(place, text, sure, [mark.words for mark in marks if not mark.sure])
        for _, messages, must, must_not in recorder_fresh.talks(_PLACE / place):
            users = [text for role, text in messages if role == "user"]
            if not users:
                continue
            yield from _labelled(place, users[0], [*must, *must_not], must_not, others=False)
            for text in users[1:]:
                yield from _labelled(place, text, must, [])
    wordings = _PLACE / "wordings"
    for label, name in ((1, "lasting"), (0, "momentary")):
        for line in (wordings / f"{name}.txt").read_text().splitlines():
            yield from (Row("wordings", tuple(features(each.bare)), label) for each in split_sentences(line))
    for text, sure, maybe in wording_messages():
        yield from _labelled("wordings", text, sure, maybe)
    for blocks in shapes.shapes("development").values():
        for block in blocks:
            if block.head == "user":
                yield from _of_session(block)
    for text in ordinary_talk():
        yield from (Row("talk", tuple(features(each.bare)), 0) for each in split_sentences(text))


def wording_messages() -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield each message of `wordings` with words of what must be heard in it, and of what may be."""
    for line in (_PLACE / "wordings" / "messages.txt").read_text().splitlines():
        text, _, notes = line.rpartition("||")
        words = [note.partition(":") for note in notes.split(";") if ":" in note]
        sure = [said.strip().casefold() for kind, _, said in words if not kind.strip().endswith("?")]
        maybe = [said.strip().casefold() for kind, _, said in words if kind.strip().endswith("?")]
        yield text.strip().replace("\\n", "\n"), sure, maybe


def ordinary_talk() -> list[str]:
    """Return the messages of ordinary talk."""
    lines = (_PLACE / "wordings" / "talk.txt").read_text().splitlines()
    return [line.replace("\\n", "\n") for line in lines if line and line[0] != "#"]


def belief_rows() -> Iterator[Row]:
    """Yield each statement that the tables or the grammar hear in a message, with whether it is meant to last."""
    for place in (*STATEMENT_SETS, *(each for each in MESSAGES if each not in MESSAGE_VALIDATION)):
        for text, marks in recorder_fresh.messages(_PLACE / place):
            sure = [mark.words for mark in marks if mark.sure]
            yield from _heard(place, text, sure, [mark.words for mark in marks if not mark.sure])
    for place in (*STATEMENT_SETS, "wordings"):
        for _, messages, must, must_not in talks(place):
            if messages[0][0] == "user":  # what ends later was meant to last
                yield from _heard(place, messages[0][1], [*must, *must_not], [""])
    for text, sure, maybe in wording_messages():
        yield from _heard("wordings", text, sure, maybe)
    for label, name in ((1, "lasting"), (0, "momentary")):
        for line in (_PLACE / "wordings" / f"{name}.txt").read_text().splitlines():
            yield from _heard("wordings", line, [""] if label else [], [])
    for text in ordinary_talk():
        yield from _heard("talk", text, [], [])
    for blocks in shapes.shapes("development").values():
        for block in blocks:
            for item, row in _heard_of(block.text) if block.head == "user" else ():
                golds = [gold for gold in block.gold if all(word in item for word in gold.words)]
                lasts = any(gold.sure and gold.kind in ("constraint", "decision") for gold in golds)
                if lasts or not golds or any(gold.kind == "lifted" for gold in golds):
                    yield Row("development", row, int(lasts))


def _heard(place: str, text: str, sure: Sequence[str], maybe: Sequence[str]) -> Iterator[Row]:
    for item, names in _heard_of(text, whole=False):
        lasts = any(words in item for words in sure)
        if lasts or not any(words in item for words in maybe):
            yield Row(place, names, int(lasts))


def _heard_of(text: str, *, whole: bool = True) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each statement that is heard in a message, folded, or the `whole` of its sentence, with what it has."""
    sentences = own_sentences(split_sentences(text))
    indices = {line_of(sentence): index for index, sentence in enumerate(sentences)}
    for section, item, form, line in _items(extract(text, KnownStatements(), weighed=False)[0]):
        index = next((at for other, at in indices.items() if line and line in other), None)
        if index is not None and not is_of_the_moment(item, section, Place(sentences, index)):
            names = tuple(belief_features(item, section, form, Place(sentences, index)))
            yield (line if whole else item).casefold(), names


def _items(said: Extracted) -> Iterator[tuple[str, str, str, str]]:
    for rule in said.rules:
        yield "constraints", rule.text, rule.form, rule.sentence
    for heard in said.preferences:
        yield "preferences", heard.text, heard.form, heard.sentence
    for heard in said.facts:
        yield "notes", heard.text, heard.form, heard.sentence
    for decision in said.decisions:
        yield "decisions", decision.summary, decision.form, decision.sentence


def _labelled(
    place: str, text: str, sure: Sequence[str], maybe: Sequence[str], *, others: bool = True
) -> Iterator[Row]:
    for sentence in split_sentences(text):
        folded = sentence.text.casefold()
        if any(words in folded for words in sure):
            yield Row(place, tuple(features(sentence.bare)), 1)
        elif others and not any(words in folded for words in maybe):
            yield Row(place, tuple(features(sentence.bare)), 0)


def _of_session(block: shapes.Block) -> Iterator[Row]:
    for sentence in split_sentences(block.text):
        folded = sentence.text.casefold()
        golds = [gold for gold in block.gold if all(word in folded for word in gold.words)]
        lasts = any(gold.sure and gold.kind in ("constraint", "decision") for gold in golds)
        if lasts or not golds or any(gold.kind == "lifted" for gold in golds):
            yield Row("development", tuple(features(sentence.bare)), int(lasts))


Talk = tuple[str, list[tuple[str, str]], list[str], list[str]]
"""Its name, its messages with who says them, the words that stand at its end, and those that do not."""


def talks(place: str) -> Iterator[Talk]:
    """Yield the talks of a fresh set, or of `wordings`."""
    if place != "wordings":
        yield from recorder_fresh.talks(_PLACE / place)
        return
    roles = {"U": "user", "A": "assistant"}
    for number, line in enumerate((_PLACE / "wordings" / "talks.txt").read_text().splitlines()):
        parts = [part.strip() for part in line.split(" | ")]
        messages = [(roles[part[0]], part[3:]) for part in parts if part[:3] in ("U: ", "A: ")]
        must = [part[2:].strip().casefold() for part in parts if part.startswith("+ ")]
        must_not = [part[2:].strip().casefold() for part in parts if part.startswith(("- ", "~ "))]
        yield str(number), messages, must, must_not


def topic_rows() -> Iterator[Row]:
    """Yield each pair of a message of a talk and a statement that stands before it, with whether it ends there.

    Each talk goes on with messages of ordinary talk and statements of other talks instead, too: those end nothing.
    """
    chance = random.Random(5)
    chatter = ordinary_talk()
    everything = {place: list(talks(place)) for place in (*TALK_SETS, "wordings")}
    others = [messages[0][1] for each in everything.values() for _, messages, *_ in each if messages[0][0] == "user"]
    for place, each in everything.items():
        for name, messages, must, must_not in each:
            standing = before = KnownStatements()
            last = max((at for at, (role, _) in enumerate(messages) if role == "user"), default=-1)
            for at, (role, text) in enumerate(messages):
                before = standing
                said, standing = extract(text, before, by_agent=role != "user")
                if role != "user":
                    continue
                for statement, names in _turns(text, before, said):
                    ends = any(words in statement for words in must_not) and not any(
                        words in statement for words in must
                    )
                    if not ends or at == last or name.startswith("long"):
                        yield Row(place, names, int(ends and at == last))
            for text in (*chance.sample(chatter, _CHATTER), *chance.sample(others, _CHATTER)):
                for _, names in _turns(text, before, extract(text, before)[0]):
                    yield Row("chatter", names, 0)


def session_rows() -> Iterator[Row]:
    """Yield each pair of a message of a development session and a statement in its reach that holds to the end of it.

    In the talks most messages end something; in sessions of a day hardly any does.
    """
    for blocks in shapes.shapes("development").values():
        holding = shapes.holding(blocks)
        pairs: list[tuple[str, tuple[str, ...]]] = []
        ended: set[str] = set()
        standing = KnownStatements()
        for block in blocks:
            if block.head not in ("user", "agent"):
                continue
            before = standing
            said, standing = extract(block.text, before, by_agent=block.head != "user")
            ended |= {each.text.casefold() for each in said.ended if not each.doubt}
            ended |= {text.casefold() for decision in said.decisions for text in decision.replaces}
            ended |= {text.casefold() for text in said.withdrawn}
            if block.head == "user":
                lines = own_lines(own_sentences(split_sentences(block.text)))
                reach = in_reach(lines, before.statements(), before.latest, before.age)
                near = {statement.text.casefold() for statement in reach}
                pairs += [pair for pair in _turns(block.text, before, said) if pair[0] in near]
        for text, names in pairs:
            if text not in ended and any(all(word in text for word in words) for words in holding):
                yield Row("sessions", names, 0)


def _turns(text: str, before: KnownStatements, said: Extracted) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each statement that stands before a message, folded, with what speaks for it that it ends there."""
    sentences = own_sentences(split_sentences(text))
    lines, standing = own_lines(sentences), before.statements()
    stated = [rule.text for rule in said.rules]
    stated += [heard.text for heard in (*said.preferences, *said.facts)]
    stated += [decision.summary for decision in said.decisions]
    for statement in standing if lines else ():
        if statement.text.casefold() in " ".join(text.split()).casefold():
            continue
        if any(
            (each.section, each.text) != (statement.section, statement.text) for each in said.ended if not each.doubt
        ):
            continue
        offer = before.offer.text
        turn = read_turn(lines, stated, ended=False, asks=any(map(is_question, sentences)), offer=offer)
        latest = (statement.section, statement.text) in before.latest
        names = turn_features(turn, statement, latest=latest, age=before.age)
        yield statement.text.casefold(), tuple(dict.fromkeys(names))


def learn(
    cases: Sequence[Row], least: int = _LEAST, ridge: float = _RIDGE, rounds: int = _ROUNDS
) -> dict[str, float]:
    """Return the weight of each thing that enough sentences have, and under the empty name the start."""
    counts = Counter(name for row in cases for name in row.names)
    names = ["", *(name for name, count in counts.items() if count >= least)]
    columns = {name: column for column, name in enumerate(names)}
    pairs = [(at, columns[name]) for at, row in enumerate(cases) for name in ("", *row.names) if name in columns]
    row, column = np.array(pairs).T
    labels = np.array([float(each.label) for each in cases])
    shares = np.array([_COUNTS.get(each.place, 1.0) for each in cases])
    ridges = np.full(len(names), ridge)
    ridges[0] = 0
    weights, steps = np.zeros(len(names)), np.full(len(names), 1e-6)
    for _ in range(rounds):
        logits = np.bincount(row, weights[column], len(cases))
        errors = shares * (1 / (1 + np.exp(-np.clip(logits, -30, 30))) - labels)
        slope = ridges * weights + np.bincount(column, errors[row], len(names))
        steps += slope**2
        weights -= 0.5 * slope / np.sqrt(steps)
    return dict(zip(names, weights.tolist(), strict=True))


def _likely(weights: dict[str, float], names: Sequence[str]) -> float:
    logit = weights[""] + sum(weights[name] for name in names if name in weights)
    return 1 / (1 + math.exp(-max(min(logit, 30.0), -30.0)))


def _report(cases: Sequence[Row], place: str) -> str:
    weights = learn([row for row in cases if row.place != place])
    least = 1 / (1 + math.exp(-_FROM))
    kept = [row for row in cases if row.place == place and _likely(weights, row.names) >= least]
    lasting = sum(row.label for row in cases if row.place == place)
    right = sum(row.label for row in kept)
    return (
        f"{place}: recall {right / lasting:.2f}, precision {right / max(len(kept), 1):.2f}, learned from the others"
    )


def _belief_report(cases: Sequence[Row], place: str) -> str:
    weights = learn([row for row in cases if row.place != place], _BELIEF_LEAST, _RIDGE, _BELIEF_ROUNDS)
    least = 1 / (1 + math.exp(-_BELIEVED))
    heard = [row for row in cases if row.place == place]
    kept = [row for row in heard if _likely(weights, row.names) >= least]
    right, all_right = sum(row.label for row in kept), sum(row.label for row in heard)
    wrong = len(kept) - right
    of_wrong = len(heard) - all_right
    return f"{place}: of {all_right} right ones heard {right} are believed, and {wrong} of {of_wrong} wrong ones"


def _topic_report(cases: Sequence[Row], place: str) -> str:
    weights = learn([row for row in cases if row.place != place], _TOPIC_LEAST, _TOPIC_RIDGE, _TOPIC_ROUNDS)
    pairs = [row for row in cases if row.place == place]
    over = sum(row.label for row in pairs)
    marked = [row for row in pairs if _likely(weights, row.names) >= 0.5]
    right = sum(row.label for row in marked)
    return (
        f"{place}: of {over} that are over {right} marked, and {len(marked) - right} of {len(pairs) - over} that hold"
    )


def _write(weights: dict[str, float], start: str, name_of_table: str) -> None:
    groups: dict[str, list[str]] = {}
    for name, weight in sorted(weights.items()):
        group, _, rest = name.partition(" ")
        if name and abs(weight) >= _SMALLEST:
            groups.setdefault(group, []).append(f"{rest or '-'} {round(100 * weight)}")
    table = "\n".join(f"{group}: {', '.join(entries)}" for group, entries in groups.items())
    source = _MODULE.read_text()
    source = re.sub(rf"(?m)^{start} = .*$", f"{start} = {round(100 * weights[''])}", source)
    written = f'\n{name_of_table} = """\n{table}\n"""'
    source = re.sub(rf'(?s)\n{name_of_table} = """\n.*?\n"""', lambda _: written, source)
    _MODULE.write_text(source)


if __name__ == "__main__":
    everything, heard, turns = list(rows()), list(belief_rows()), [*topic_rows(), *session_rows()]
    if "--write" in sys.argv:
        _write(learn(everything), "_START", "_TABLE")
        _write(learn(heard, _BELIEF_LEAST, _RIDGE, _BELIEF_ROUNDS), "_BELIEF_START", "_BELIEF_TABLE")
        _write(learn(turns, _TOPIC_LEAST, _TOPIC_RIDGE, _TOPIC_ROUNDS), "_TOPIC_START", "_TOPIC_TABLE")
    else:
        print(*(_report(everything, place) for place in (*SETS, "wordings")), sep="\n")
        print(*(_belief_report(heard, place) for place in (*STATEMENT_SETS, "wordings")), sep="\n")
        print(*(_topic_report(turns, place) for place in (*TALK_SETS, "wordings", "sessions")), sep="\n")
