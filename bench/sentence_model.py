"""Teaches the model of the extra `hearing` what a sentence is said for, and what a message ends.

`python -m bench.sentence_model sentences --write` reads of `bench/recorder` what `bench.recorder_weights` reads,
the sets `hand_a` to `hand_h`, and the messages of 55 hands more. `endings --write` reads the talks of `hand_i` to
`hand_ai`, too, and what holds in the development sessions; without every second session and some sets, by which
thresholds are chosen (`VALIDATION`). `--further` goes on from what the package has: its files were learned from the
hands up to `hand_x`, and then gone through once more with all of them (`--further --rounds 1`).
The third, eighth and tenth to sixteenth fresh set, the held-out sessions and BEAM are not read.

Each learns low-rank additions to the matrices of the published model (Hu et al., "LoRA: Low-Rank Adaptation of
Large Language Models", 2021) and a row for each thing that is asked, and puts them into
`src/hudkit/ingest/sentence_model` as `additions.npz` or `endings.npz`. `--without SET,SET` learns without some sets
and prints how well it judges them. Half an hour each on two processors, with `torch` beside the extra `hearing`.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from bench import recorder_fresh, recorder_weights, shapes
from hudkit.ingest.extraction.prose import split_sentences
from hudkit.ingest.sentence_model import PACKAGE
from hudkit.ingest.sentence_model.encoder import ADDITIONS, ENDINGS, KINDS, MATRICES, SentenceReader, constants_of

_PLACE = Path(__file__).parent / "recorder"
SETS = (*recorder_weights.STATEMENT_SETS, *recorder_weights.HANDS)
"""The sets that sentences may be learned from, with what ends in their talks."""
VALIDATION = ("fresh_seventh", "fresh_ninth", "hand_c", "hand_g", "hand_n")
"""The sets by which thresholds of endings are chosen; they are not learned from."""

_COUNTS = {"development": 0.9, "talk": 0.6}
_RANK, _RATE, _BATCH, _DROPPED, _SMOOTHED = 16, 1.5e-3, 32, 0.05, 0.02
_KIND_COUNTS = 0.3
_WARM_UP, _POOL = 60, 20
_AGENT, _MESSAGE = 200, 260
"""Characters of the agent's message before, and of the message that may end something. In use fewer of the first are
read, so that an agent's long message leaves room for the other."""


class Case(NamedTuple):
    """A sentence and what stands around it, or a statement and a later message; with what is right of it.

    `label`: whether the sentence is meant to last, or the message `ends` the statement.
    """

    place: str
    text: str
    around: str
    label: int
    kinds: tuple[str, ...] = ()
    ends: bool = False


def sentence_cases() -> Iterator[Case]:
    """Yield the labelled sentences of all sets."""
    for place in (*SETS, *recorder_weights.MESSAGES):
        for text, marks in recorder_fresh.messages(_PLACE / place):
            sure = {mark.words: mark.kinds for mark in marks if mark.sure}
            yield from _labelled(place, text, sure, [mark.words for mark in marks if not mark.sure])
        for _, messages, must, must_not in recorder_fresh.talks(_PLACE / place):
            first, *rest = [text for role, text in messages if role == "user"] or [""]
            yield from _labelled(place, first, dict.fromkeys([*must, *must_not], ()), [""])
            for text in rest:
                yield from _labelled(place, text, dict.fromkeys(must, ()), [])
    for label, name in ((1, "lasting"), (0, "momentary")):
        for line in (_PLACE / "wordings" / f"{name}.txt").read_text().splitlines():
            yield from (Case("wordings", each.text, line, label) for each in split_sentences(line))
    for text, words, maybe in recorder_weights.wording_messages():
        yield from _labelled("wordings", text, dict.fromkeys(words, ()), maybe)
    for blocks in shapes.shapes("development").values():
        for block in blocks:
            if block.head == "user":
                yield from _of_session(block)
    for text in recorder_weights.ordinary_talk():
        yield from (Case("talk", each.text, text, 0) for each in split_sentences(text))


def _labelled(place: str, text: str, sure: dict[str, tuple[str, ...]], maybe: Sequence[str]) -> Iterator[Case]:
    for sentence in split_sentences(text):
        folded = sentence.text.casefold()
        marks = [words for words in sure if words in folded]
        if marks or not any(words in folded for words in maybe):
            kinds = tuple(sorted({kind for words in marks for kind in sure[words]}))
            yield Case(place, sentence.text, text, int(bool(marks)), kinds)


def _of_session(block: shapes.Block) -> Iterator[Case]:
    for sentence in split_sentences(block.text):
        folded = sentence.text.casefold()
        golds = [gold for gold in block.gold if all(word in folded for word in gold.words)]
        kinds = {gold.kind for gold in golds if gold.sure} & {"constraint", "decision"}
        if kinds or not golds or any(gold.kind == "lifted" for gold in golds):
            yield Case("development", sentence.text, block.text, int(bool(kinds)), tuple(sorted(kinds)))


def talk_cases(sets: Sequence[str]) -> Iterator[Case]:
    """Yield each statement of a talk with each message behind it, and with messages of others, which end nothing.

    In a long talk only the last message ends something; of what stands before a message, some is asked.
    """
    chance = random.Random(5)
    chatter, first = recorder_weights.ordinary_talk(), list[tuple[str, str]]()
    for place in (*sets, "wordings"):
        for name, messages, must, must_not in recorder_weights.talks(place):
            is_long = name.startswith("long")
            last = max((at for at, (role, _) in enumerate(messages) if role == "user"), default=-1)
            standing: list[tuple[str, bool]] = []
            for at, (role, text) in enumerate(messages):
                if role == "user":
                    agent = messages[at - 1][1] if at and messages[at - 1][0] != "user" else ""
                    asked = standing if not is_long or at == last else _newest_and_another(standing, chance)
                    for statement, is_over in asked:
                        if at == last or is_long or not is_over:
                            yield from _pair(place, statement, agent, text, at == last and is_over)
                for sentence in split_sentences(text):
                    folded = sentence.text.casefold()
                    holds = any(words in folded for words in must)
                    if holds or any(words in folded for words in must_not):
                        standing.append((_flat(sentence.text), not holds))
            first += [(place, statement) for statement, _ in standing[:1]]
    for place, statement in first:
        yield Case(place, statement, turn("", chance.choice(chatter)), 0, ends=True)
        yield Case(place, statement, turn("", chance.choice(first)[1]), 0, ends=True)


def session_cases() -> Iterator[Case]:
    """Yield statements of every second development session with messages behind them; hardly anything ends there."""
    chance = random.Random(6)
    for _, blocks in sorted(shapes.shapes("development").items())[::2]:
        standing: list[str] = []
        agent = ""
        for block in blocks:
            if block.head == "user":
                ends = [gold for gold in block.gold if gold.kind in shapes.OVER]
                over = [each for each in standing if any(_has(each, gold.words) for gold in ends)]
                surely = {each for each in over if any(gold.sure and _has(each, gold.words) for gold in ends)}
                for statement in {*surely, *_newest_and_another(standing, chance)} - ({*over} - surely):
                    yield from _pair("development", statement, agent, block.text, statement in surely)
                standing = [each for each in standing if each not in over]
            if block.head in ("user", "agent"):
                golds = [gold for gold in block.gold if gold.sure and gold.kind in ("constraint", "decision")]
                for sentence in split_sentences(block.text):
                    if any(_has(sentence.text, gold.words) for gold in golds):
                        standing.append(_flat(sentence.text))
            agent = block.text if block.head == "agent" else ""


def _pair(place: str, statement: str, agent: str, text: str, is_over: bool) -> Iterator[Case]:
    """A statement with a message behind it, if that does not say it again."""
    if statement.casefold() not in _flat(text).casefold():
        yield Case(place, statement, turn(agent, text), int(is_over), ends=True)


def _newest_and_another(standing: Sequence[Any], chance: random.Random) -> Sequence[Any]:
    return [*standing[-1:], *(chance.sample(standing[:-1], 1) if len(standing) > 1 else ())]


def _has(text: str, words: Sequence[str]) -> bool:
    return all(word in text.casefold() for word in words)


def turn(agent: str, text: str) -> str:
    """A message of the user's behind the end of the agent's one before it, as the model reads it."""
    return (f"{_flat(agent)[-_AGENT:]} / " if agent else "") + _flat(text)[:_MESSAGE]


def _flat(text: str) -> str:
    return " ".join(text.split())


class _Added(nn.Module):
    """A matrix that stays as it is, with a product of two small ones beside it."""

    def __init__(self, matrix: Tensor, bias: Tensor) -> None:
        super().__init__()
        self.register_buffer("matrix", matrix)
        self.register_buffer("bias", bias)
        width, height = matrix.shape
        self.a = nn.Parameter(torch.randn(_RANK, width) / math.sqrt(width))
        self.b = nn.Parameter(torch.zeros(height, _RANK))

    def forward(self, states: Tensor) -> Tensor:
        dropped = nn.functional.dropout(states, _DROPPED, self.training)
        return states @ self.matrix + self.bias + dropped @ self.a.T @ self.b.T


class Learner(nn.Module):
    """The published model with what is learned beside it; it reads as `SentenceModel` does."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        constants = constants_of(path)
        self.reader = SentenceReader()
        rows, scales = constants.words
        self.words, self.places, self.parts = map(torch.tensor, (rows * scales, constants.places, constants.parts))
        self.norm = tuple(map(torch.tensor, constants.norm))
        self.layers = nn.ModuleList()
        self.norms: list[tuple[Any, Any]] = []
        for layer in constants.layers:
            added = {part: _Added(*map(torch.tensor, layer.matrices[part])) for part in MATRICES}
            self.layers.append(nn.ModuleDict({part.replace(".", "-"): each for part, each in added.items()}))
            first, last = (tuple(map(torch.tensor, norm)) for norm in layer.norms)
            self.norms.append((first, last))
        self.head = nn.Linear(self.words.shape[1], 2 + len(KINDS))

    def forward(self, cases: Sequence[tuple[list[int], list[int]]]) -> Tensor:
        most = max(len(first) + len(rest) for first, rest in cases)
        numbers, parts, mask = (torch.zeros(len(cases), most, dtype=torch.long) for _ in range(3))
        for row, (first, rest) in enumerate(cases):
            count = len(first) + len(rest)
            numbers[row, :count] = torch.tensor(first + rest)
            parts[row, len(first) : count] = 1
            mask[row, :count] = 1
        states = _normed(self.words[numbers] + self.places[:most] + self.parts[parts], self.norm)
        hidden = (1 - mask[:, None, None, :]) * -1e9
        for layer, norms in zip(self.layers, self.norms, strict=True):
            states = self._layer(layer, norms, states, hidden)
        own = ((parts == 0) & (mask == 1)).float().unsqueeze(-1)
        answers: Tensor = self.head((states * own).sum(1) / own.sum(1))
        return answers

    def _layer(self, layer: Any, norms: Any, states: Tensor, hidden: Tensor) -> Tensor:
        of = {part: layer[part.replace(".", "-")] for part in MATRICES}
        rows, count, width = states.shape
        query, key, value = (of[part](states).view(rows, count, 12, -1).transpose(1, 2) for part in MATRICES[:3])
        shares = torch.softmax(query @ key.transpose(2, 3) / math.sqrt(width / 12) + hidden, -1)
        seen = (shares @ value).transpose(1, 2).reshape(rows, count, width)
        states = _normed(states + of[MATRICES[3]](seen), norms[0])
        return _normed(states + of[MATRICES[5]](nn.functional.gelu(of[MATRICES[4]](states))), norms[1])

    def take(self, path: Path) -> None:
        """Take what was learned before, from a file of additions."""
        table = np.load(path)
        with torch.no_grad():
            self.head.weight.copy_(torch.tensor(table["head.weight"]))
            self.head.bias.copy_(torch.tensor(table["head.bias"]))
            for number, layer in enumerate(self.layers):
                for part in MATRICES:
                    for name in ("a", "b"):
                        rows, scales = table[f"{number}.{part}.{name}"], table[f"{number}.{part}.{name}.scale"]
                        getattr(layer[part.replace(".", "-")], name).copy_(torch.tensor(rows * scales[:, None]))
        self.eval()

    def additions(self) -> dict[str, Any]:
        """Return what was learned, as `SentenceModel` reads it: matrices as bytes, each row with its scale."""
        table: dict[str, Any] = {
            "head.weight": self.head.weight.detach().numpy(),
            "head.bias": self.head.bias.detach().numpy(),
        }
        for number, layer in enumerate(self.layers):
            for part in MATRICES:
                for name in ("a", "b"):
                    values = getattr(layer[part.replace(".", "-")], name).detach().numpy()
                    scales = np.maximum(np.abs(values).max(axis=1), 1e-3) / 127
                    table[f"{number}.{part}.{name}"] = np.round(values / scales[:, None]).astype(np.int8)
                    table[f"{number}.{part}.{name}.scale"] = scales.astype(np.float32)
        return table


def _normed(states: Tensor, norm: Any) -> Tensor:
    return nn.functional.layer_norm(states, states.shape[-1:], norm[0], norm[1], 1e-12)


def learn(learner: Learner, cases: Sequence[Case], rounds: int, rate: float) -> None:
    """Teach the model with cases, each `rounds` times, at a rate that falls."""
    read = [_read(learner.reader, case) for case in cases]
    learned = [parameter for parameter in learner.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=rate, weight_decay=0.01)
    steps = rounds * math.ceil(len(cases) / _BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / _WARM_UP) * max(0.02, 1 - step / steps)
    )
    learner.train()
    for number in range(rounds):
        lost = 0.0
        for batch in _batches(read):
            loss = _loss(learner([read[each] for each in batch]), [cases[each] for each in batch])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(learned, 1.0)
            optimizer.step()
            schedule.step()
            lost += loss.item() * len(batch) / len(cases)
        print(f"round {number + 1}: {lost:.3f}", flush=True)
    learner.eval()


def _loss(answers: Tensor, cases: Sequence[Case]) -> Tensor:
    entropy = nn.functional.binary_cross_entropy_with_logits
    ends = torch.tensor([case.ends for case in cases])
    labels = torch.tensor([float(case.label) for case in cases])
    counts = torch.tensor([_COUNTS.get(case.place, 1.0) for case in cases])
    asked = torch.where(ends, answers[:, -1], answers[:, 0])
    loss = (entropy(asked, labels * (1 - 2 * _SMOOTHED) + _SMOOTHED, reduction="none") * counts).mean()
    kinds = torch.tensor([[float(kind in case.kinds) for kind in KINDS] for case in cases])
    known = torch.tensor([float(bool(case.kinds)) for case in cases])
    of_kind = (entropy(answers[:, 1:-1], kinds, reduction="none").mean(1) * known).sum() / max(known.sum().item(), 1)
    return loss + _KIND_COUNTS * of_kind


def _batches(read: Sequence[tuple[list[int], list[int]]]) -> list[list[int]]:
    """Cases of about the same length together, in an order of chance."""
    order = list(range(len(read)))
    random.shuffle(order)
    batches = []
    for start in range(0, len(order), _BATCH * _POOL):
        pool = sorted(order[start : start + _BATCH * _POOL], key=lambda each: sum(map(len, read[each])))
        batches += [pool[place : place + _BATCH] for place in range(0, len(pool), _BATCH)]
    random.shuffle(batches)
    return batches


def _read(reader: SentenceReader, case: Case) -> tuple[list[int], list[int]]:
    return reader.pair(case.text, case.around) if case.ends else reader.sentence(case.text, case.around)


def report(learner: Learner, cases: Sequence[Case]) -> None:
    """Print how many are right at which recall."""
    for ends, name in ((False, "meant to last"), (True, "over")):
        asked = [case for case in cases if case.ends == ends]
        if not asked:
            continue
        with torch.no_grad():
            answers = [learner([_read(learner.reader, case)])[0, -1 if ends else 0].item() for case in asked]
        ranked = sorted(zip(answers, asked, strict=True), key=lambda pair: -pair[0])
        right, everything, shown = 0, sum(case.label for case in asked), [0.7, 0.8, 0.9]
        for number, (logit, case) in enumerate(ranked, 1):
            right += case.label
            if shown and right >= shown[0] * everything:
                print(
                    f"{name}: of {everything} {shown.pop(0):.0%}, precision {right / number:.2f}, from {logit:.1f} on"
                )


def main() -> None:
    """Learn, and print or write what was learned."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["sentences", "endings"])
    parser.add_argument("--write", action="store_true", help="put what is learned into the package")
    parser.add_argument("--out", type=Path, help="or elsewhere")
    parser.add_argument("--without", metavar="SET,SET", help="learn without these, and judge them")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--further", action="store_true", help="go on from what the package has, at half the rate")
    options = parser.parse_args()
    torch.manual_seed(1)
    random.seed(1)
    package = importlib.util.find_spec(PACKAGE)
    assert package is not None and package.origin is not None, "the extra `hearing` is not installed"
    learner = Learner(Path(package.origin).parent / "model.onnx")
    if options.what == "sentences":
        cases, place, without = [*sentence_cases()], ADDITIONS, {*recorder_weights.MESSAGE_VALIDATION}
    else:
        sets = (*SETS, *recorder_weights.TALKERS)
        cases, place, without = [*talk_cases(sets), *session_cases()], ENDINGS, {*VALIDATION}
    if options.further:
        learner.take(place)
    without |= set(options.without.split(",") if options.without else ())
    taught = [case for case in cases if case.place not in without]
    learn(learner, taught, options.rounds, _RATE / 2 if options.further else _RATE)
    report(learner, [case for case in cases if case.place in without])
    if options.write:
        np.savez_compressed(options.out or place, **learner.additions())


if __name__ == "__main__":
    main()
