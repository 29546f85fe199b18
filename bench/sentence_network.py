"""Teaches the network that reads the words of a sentence (`hudkit.ingest.extraction.sentence_network`).

`python -m bench.sentence_network` learns from the labelled sentences of `bench.sentence_model`, and prints how well
it judges the sets that nothing is learned from (`recorder_weights.MESSAGE_VALIDATION`); `--write` puts it into the
package. Two minutes on one processor, with `torch` beside the extra `hearing`.
"""

from __future__ import annotations

import argparse
import math
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import torch
from torch import Tensor, nn

from bench import recorder_weights, sentence_model
from hudkit.ingest.extraction.clause_grammar import features, word_class
from hudkit.ingest.extraction.prose import split_sentences
from hudkit.ingest.extraction.sentence_network import (
    NOTHING,
    SECTIONS,
    TABLE,
    WIDTHS,
    NetworkTable,
    SentenceNetwork,
    tokens_of,
)
from hudkit.ingest.sentence_model.encoder import KINDS

_PLACE = Path(__file__).parent.parent / "src/hudkit/ingest/extraction"
_WIDTH, _FILTERS, _LEAST_WORD, _LEAST_NAME = 48, 64, 5, 8
_RATE, _DECAY, _BATCH, _ROUNDS, _DROPPED, _HIDDEN_WORDS = 3e-3, 0.01, 64, 10, 0.4, 0.1
_SECTIONS_COUNT = 0.3
_COUNTS = {"development": 0.9, "talk": 0.6}
_PARTS = [(ago, width) for ago in range(len(WIDTHS)) for width in WIDTHS if width > ago]
"""The parts of a row: how many words later the filters end, and how wide they are."""


class Case(NamedTuple):
    """A sentence without code and quotations, its label, and the sections it may belong to, where they are known."""

    place: str
    bare: str
    label: int
    sections: tuple[str, ...]


def cases() -> list[Case]:
    """Return all labelled sentences."""
    return [
        Case(case.place, sentence.bare, case.label, tuple(KINDS[kind] for kind in case.kinds))
        for case in sentence_model.sentence_cases()
        for sentence in split_sentences(case.text)[:1]
    ]


class _Network(nn.Module):
    """The network while it learns."""

    def __init__(self, words: Sequence[str], classes: Sequence[str], names: Sequence[str]) -> None:
        super().__init__()
        self.words = {word: number + 2 for number, word in enumerate(words)}
        self.classes = {name: number + 1 for number, name in enumerate(classes)}
        self.names = {name: number for number, name in enumerate(names)}
        self.of_words = nn.Embedding(len(words) + 2, _WIDTH, padding_idx=0)
        self.of_classes = nn.Embedding(len(classes) + 1, _WIDTH, padding_idx=0)
        self.filters = nn.ModuleList(nn.Conv1d(_WIDTH, _FILTERS, width, padding=width - 1) for width in WIDTHS)
        self.output = nn.Linear(len(WIDTHS) * _FILTERS, 1 + len(SECTIONS))
        self.of_names = nn.EmbeddingBag(len(names) + 1, 1 + len(SECTIONS), mode="sum", padding_idx=len(names))
        nn.init.zeros_(self.of_names.weight)

    def forward(self, words: Tensor, classes: Tensor, names: Tensor) -> Tensor:
        is_word = words != 0
        if self.training:
            words = torch.where((torch.rand(words.shape) < _HIDDEN_WORDS) & is_word, 1, words)
        states = (self.of_words(words) + self.of_classes(classes)) * is_word.unsqueeze(-1)
        states = nn.functional.dropout(states, 0.2, self.training).transpose(1, 2)
        most = torch.cat([torch.relu(each(states)).amax(2) for each in self.filters], 1)
        answer: Tensor = self.output(nn.functional.dropout(most, _DROPPED, self.training)) + self.of_names(names)
        return answer

    def read(self, case: Case) -> tuple[list[int], list[int], list[int]]:
        """Return the numbers of a sentence's words, of their classes, and of the names of its grammar."""
        tokens = tokens_of(case.bare)
        return (
            [self.words.get(token, 1) for token in tokens] or [1],
            [self.classes[word_class(token)] for token in tokens] or [0],
            [self.names[name] for name in features(case.bare) if name in self.names],
        )

    def rows(self) -> tuple[Tensor, Tensor]:
        """Return what the filters find in each word, and in an unknown word of each class: by part, by filter."""
        filters = [each.weight.detach() for each in self.filters]
        of_classes = self.of_classes.weight.detach()
        numbers = torch.tensor([self.classes[word_class(word)] for word in self.words])
        of_words = self.of_words.weight.detach()[2:] + of_classes[numbers]
        unknown = of_classes[1:] + self.of_words.weight.detach()[1]
        first, second = (
            torch.stack([each @ filters[width - 1][:, :, width - 1 - ago].T for ago, width in _PARTS], 1)
            for each in (of_words, unknown)
        )
        return first, second


def table_of(network: _Network) -> NetworkTable:
    """Return what a network has learned, as the package reads it."""
    rows, class_rows = network.rows()
    largest = torch.cat([rows, class_rows]).abs().amax(0)
    scales = [largest[[part[1] == width for part in _PARTS]].amax(0) / 127 for width in WIDTHS]
    wide = torch.stack([scales[width - 1] for _, width in _PARTS])
    as_bytes = [
        (torch.round(each / wide) + NOTHING).to(torch.uint8).flatten(1).numpy().tobytes()
        for each in (rows, class_rows)
    ]
    biases = [
        NOTHING * width - each.bias.detach() / scale
        for width, scale, each in zip(WIDTHS, scales, network.filters, strict=True)
    ]
    outputs = network.output.weight.detach() * torch.cat(scales)
    of_names, starts = network.of_names.weight.detach(), network.output.bias.detach()
    return NetworkTable(
        list(network.words), as_bytes[0], list(network.classes), as_bytes[1],
        _rounded(torch.cat(biases), 2), [_rounded(each, 6) for each in outputs],
        {name: _rounded(of_names[number], 3) for name, number in network.names.items()}, _rounded(starts, 3),
    )  # fmt: skip


def _rounded(values: Tensor, digits: int) -> list[float]:
    return [round(each, digits) for each in values.tolist()]


def learn(all_cases: Sequence[Case]) -> _Network:
    """Return a network that has learned the labels."""
    counts = Counter(token for case in all_cases for token in set(tokens_of(case.bare)))
    words = sorted(word for word, count in counts.items() if count >= _LEAST_WORD)
    classes = sorted({word_class(token) for token in counts})
    of_names = Counter(name for case in all_cases for name in features(case.bare))
    network = _Network(words, classes, sorted(name for name, count in of_names.items() if count >= _LEAST_NAME))
    read = [network.read(case) for case in all_cases]
    labels = torch.tensor([float(case.label) for case in all_cases])
    shares = torch.tensor([_COUNTS.get(case.place, 1.0) for case in all_cases])
    sections = torch.tensor([[float(each in case.sections) for each in SECTIONS] for case in all_cases])
    known = torch.tensor([float(bool(case.sections)) for case in all_cases])
    entropy = nn.functional.binary_cross_entropy_with_logits
    optimizer = torch.optim.AdamW(network.parameters(), lr=_RATE, weight_decay=_DECAY)
    steps = _ROUNDS * math.ceil(len(read) / _BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.02, 1 - step / steps))
    network.train()
    order = list(range(len(read)))
    for _ in range(_ROUNDS):
        random.shuffle(order)
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            answers = network(*_padded([read[each] for each in batch], len(network.names)))
            loss = entropy(answers[:, 0], labels[batch], shares[batch])
            of_sections = entropy(answers[:, 1:], sections[batch], reduction="none").mean(1) * known[batch]
            loss = loss + _SECTIONS_COUNT * of_sections.sum() / known[batch].sum().clamp(min=1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    network.eval()
    return network


def _padded(read: Sequence[tuple[list[int], list[int], list[int]]], no_name: int) -> tuple[Tensor, Tensor, Tensor]:
    words, classes, names = (
        [torch.tensor(each, dtype=torch.long) for each in column] for column in zip(*read, strict=True)
    )
    pad = nn.utils.rnn.pad_sequence
    return pad(words, True), pad(classes, True), pad(names, True, no_name)


def report(table: NetworkTable, all_cases: Sequence[Case]) -> None:
    """Print how many are right at which recall, by set, as the package reads."""
    network = SentenceNetwork(table)
    for place in ("", *sorted({case.place for case in all_cases})):
        asked = [case for case in all_cases if place in ("", case.place)]
        ranked = sorted(
            ((network.read(case.bare, features(case.bare)).logit, case.label) for case in asked), reverse=True
        )
        right, everything, shown = 0, sum(label for _, label in ranked), [0.6, 0.7, 0.8, 0.9]
        sections = [
            (network.read(case.bare, features(case.bare)).section, case.sections) for case in asked if case.sections
        ]
        told = [f"sections {sum(said in right for said, right in sections) / max(len(sections), 1):.2f}"]
        for number, (logit, label) in enumerate(ranked, 1):
            right += label
            if shown and right >= shown[0] * everything:
                told.append(f"{shown.pop(0):.0%} {right / number:.2f} (from {logit:.1f} on)")
        print(place or "all", "precision at a recall of", ", ".join(told))


def main() -> None:
    """Learn, and print or write what was learned."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put what is learned into the package")
    options = parser.parse_args()
    without = recorder_weights.MESSAGE_VALIDATION
    everything = cases()
    taught = [case for case in everything if case.place not in without]
    torch.manual_seed(0)
    random.seed(0)
    table = table_of(learn(taught))
    report(table, [case for case in everything if case.place in without])
    if options.write:
        _PLACE.joinpath(TABLE).write_bytes(msgspec.msgpack.encode(table))


if __name__ == "__main__":
    main()
