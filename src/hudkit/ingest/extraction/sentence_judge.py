"""What a judge of sentences adds to the rules: the network that comes with the package, or a model in its place.

A judge is asked of each of the user's sentences whether it is meant to last. A statement that the rules read in a sentence
is then believed by both: by the judge and by how it reads where it stands. A sentence in which the rules read nothing and of
which the judge is sure is kept whole, with the one before it where it says little alone. The network
(`sentence_network`) is asked always. Where a model is there (`hudkit.ingest.sentence_model` is one), it is asked instead; what it believes is kept as
the whole sentence, and it is asked, too, which statement a message ends where the rules found none.

For example, of "My pupils are in year 4. Can you write a worksheet on volcanoes?" the rules read nothing, and the judge
adds `My pupils are in year 4`.
"""

# ruff: noqa: E501 (a table of patterns is read by its rows)
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, Protocol

from hudkit.ingest.extraction.caseless import any_case
from hudkit.ingest.extraction.conflicts import Statement
from hudkit.ingest.extraction.hedging import is_question
from hudkit.ingest.extraction.imperatives import MAX_RULE
from hudkit.ingest.extraction.lasting import with_referent, without_lead
from hudkit.ingest.extraction.prose import LABEL, Sentence, line_of
from hudkit.ingest.extraction.sentence_network import read_words

_BY_GRAMMAR, _BY_TABLE, _PLAIN = 0.7, -1.5, -5.0
"""The sum of what network and rules say of a statement from which on it is believed: where it was read by its grammar
alone, where it fits a table of wordings, and where it is said in so many words."""
_LEAST_BELIEF = -150
"""The least that the rules say of what fits a table, in hundredths of a logit: the network is heard where they doubt it."""
_OF_THE_MOMENT = -2.5
"""The logit of the network below which a sentence takes the place of nothing that is over."""
_PASSING = -2.5
"""The logit of the network below which no rule or fact is looked for in a sentence: 44 of 100 sentences of sessions are there;
of 2,687 statements that were kept otherwise, five."""
_RULES_COUNT = 0.5
"""How much that sum counts beside a model: both are logits."""
_DOUBTED, _BELIEVED = 1.5, 2.0
"""The logit of a model below which a statement that network and rules believe is not, and the sum from which on it is."""
_WEIGHT_COUNTS, _LEAST_WEIGHT, _OVER = 0.5, -300, -3.7
"""How much what the rules say of an ending counts beside the judge, the least that it can be, and the sum from which on a
statement may be over: chosen by five sets of talks and forty sessions that the model had not seen."""

_REPLACED = 0.0
"""The sum from which on something takes the place of what is over."""
_IN_PLACE = 0.0
"""The logit from which on a sentence is kept that stands in the place of what its message ends."""
_MIN_WORDS = 2
_WORD = re.compile(r"[^\W\d_]{2,}")
_OWN_PLAN = any_case(
    r"^(?:and |so |but |then |also |now |ok(?:ay)?,? |yes,? |yeah,? )*i(?:['’]ll| will|['’]m going to| am going to|['’]m planning| plan to| want to make sure (?:that )?i\b)|^(?:and |but |so )?(?:(?:i|we)(?:['’]m|['’]re| am| are) )?(?:\w+ )?looking forward to\b"
)
"""How somebody says what he will do himself, or waits for."""
_ANNOUNCES_WORK = any_case(
    r"^(?:(?:and|ok(?:ay)?|so|now|then),? )*(?:the )?(?:new|next|another) (?:task|job|topic|step|ticket|question|thing)\b ?[:.–—-]"
)
"""How somebody announces the work that is next."""
_TO_BE_BUILT = any_case(
    r"^(?:(?:and|so|also|then),? )*(?:our|the|my|this|an?) (?:[\w-]+ ){1,3}(?:must|should|needs? to|ha(?:s|ve) to) (?:also )?(?:get|gain|learn|become)\b(?!.*\b(?:every|each|any|all|always|never|before|after|per)\b)"
)
"""How somebody says what a thing is to have when the work is done."""
_ASKS_FOR_HELP = any_case(
    r"\b(?:appreciate|grateful for|welcome|thankful for|happy about) (?:any|your|some|all)(?: of your)? (?:\w+ )?(?:help|advice|input|insights?|suggestions?|feedback|guidance|tips?|thoughts|ideas?|support|assistance)\b"
)
"""How somebody asks for help without a question."""
_MAX_BEFORE, _MAX_TURN = 120, 260
"""Characters of the agent's words before a message, and of the message, that may end something."""

_POINTS_BACK = any_case(
    r"^(?:and |so |but |also |then |please )*(?:otherwise|that|this|it|they|these|those|such|both|(?:no|not|never|only) (?:this|that|it|them))\b|\b(?:otherwise|without)[.!]?$|\b(?:before|after|to|on|by|than|until|till) (?:that|this|it)\b|\b(?:at|in|with|for) this \w+|\b(?:each one|none of)\b"
)
"""How a sentence reads that says little without the one before it."""

_FOLLOWS = any_case(r"^(?:so|that's why|therefore|which means)\b")
"""How one begins that says what follows from the one before it."""

_GOES_ON = any_case(
    r"^(?:and|so|but|also|or|then|he|she|same|everything|anything|nothing|no|not|only|never)\b|\b(?:that|this|it|them|such|those|so|too|either|instead)[.!]?$|\b(?:with|of) (?:that|this|it)\b|\b(?:this|that|these|those|such|the same|the other|the rest)\b"
)
"""How one reads that may go on with it, where the rules read nothing in it."""


class Judged(NamedTuple):
    """How much speaks for it that a sentence is meant to last (a logit), and the section that it then belongs to."""

    logit: float
    section: str


class Limits(NamedTuple):
    """The logits of a judge from which on a sentence is kept that the rules read nothing in."""

    sure: float
    certain: float
    """The same where a gate of theirs says no."""


OF_NETWORK = Limits(sure=0.2, certain=2.95)
OF_MODEL = Limits(sure=1.5, certain=2.5)


class SentenceJudge(Protocol):
    """A model that reads what a person writes. The same words are judged the same, always. It can be hashed."""

    def __hash__(self) -> int: ...

    def judge(self, sentences: Sequence[str], message: str) -> Sequence[Judged]:
        """Return what each of a message's sentences is said for."""

    def ends(self, statements: Sequence[str], message: str) -> Sequence[float]:
        """Return how much speaks for it (a logit) that a message ends each of the statements that stand before it."""


class JudgedSentences:
    """The sentences of one message, with what a judge says of them: a model where there is one, else the network."""

    def __init__(self, sentences: Sequence[Sentence], message: str, model: SentenceJudge | None = None) -> None:
        self._sentences = sentences
        self._message = LABEL.sub("", message)
        self._model = model
        self._limits = OF_MODEL if model is not None else OF_NETWORK

    @cached_property
    def judged(self) -> Sequence[Judged]:
        """Return what each sentence is said for."""
        if self._model is None:
            return self._by_network
        return self._model.judge(list(map(_line, self._sentences)), self._message)

    @cached_property
    def _by_network(self) -> Sequence[Judged]:
        return list(map(_judged_by_network, self._sentences))

    @property
    def is_by_model(self) -> bool:
        """Return whether a model was asked."""
        return self._model is not None

    def is_believed(self, index: int, belief: int, *, doubted: bool, by_table: bool, plain: bool) -> bool:
        """Return whether a statement that the rules read in a sentence is meant to last.

        `belief` is what they say of it, in hundredths of a logit. `doubted`: a gate of theirs says no; `by_table`:
        it fits a table of wordings; `plain`: it is said in so many words.
        """
        network, logit = self._by_network[index].logit, self.judged[index].logit
        if doubted:
            return logit >= self._limits.certain
        together = network + (max(belief, _LEAST_BELIEF) if by_table else belief) / 100
        by_rules = together >= (_PLAIN if plain else _BY_TABLE if by_table else _BY_GRAMMAR)
        if self._model is None or (by_rules and plain):
            return by_rules
        return (by_rules and logit >= _DOUBTED) or logit + _RULES_COUNT * together >= _BELIEVED

    def lasts(self, index: int) -> bool:
        """Return whether the judge says so of a sentence in which the rules read something."""
        return self.judged[index].logit >= (_BELIEVED if self.is_by_model else self._limits.sure)

    def is_passing(self, index: int) -> bool:
        """Return whether the network is sure that nothing in a sentence is meant to last, whatever else says so."""
        return self._by_network[index].logit < _PASSING

    def may_last(self, index: int) -> bool:
        """Return whether it is sure enough of a sentence in which they read nothing, if nothing else speaks against it."""
        return self.judged[index].logit >= self._limits.sure

    def surely_lasts(self, index: int, belief: int, *, doubted: bool) -> bool:
        """Return whether it is sure enough of a sentence in which they read nothing; `doubted`: a gate says no."""
        logit, limits = self.judged[index].logit, self._limits
        if logit < (limits.certain if doubted else limits.sure) or not self._says_something(index):
            return False
        return self.is_by_model or logit + belief / 100 >= _BY_GRAMMAR

    def whole(self, index: int, *, was_read: bool) -> str:
        """Return the words of a sentence, with the one before it where it says little without; `was_read` by the rules.

        Empty where that is too long for a statement.
        """
        line = _line(self._sentences[index])
        text = without_lead(line)
        if index:
            before = self._sentences[index - 1]
            text = with_referent(text, before)
            leans = _POINTS_BACK.search(line) or _FOLLOWS.match(line) or (not was_read and _GOES_ON.search(line))
            both = f"{without_lead(_line(before))}. {text}"
            if text == without_lead(line) and leans and self.lasts(index - 1) and len(both) <= MAX_RULE:
                return both
        return text if len(text) <= MAX_RULE else ""

    def in_place(self, own: Sequence[str]) -> str:
        """Return the sentence of a message's `own`, which ask nothing, that most likely says what holds now; empty where
        none is likely."""
        lines = {line_of(sentence): index for index, sentence in enumerate(self._sentences)}
        likely = [
            (self.judged[index].logit, line)
            for line in own
            if (index := lines.get(line)) is not None and self._says_something(index)
        ]
        logit, line = max(likely, default=(0.0, ""))
        return without_lead(line) if line and logit >= _IN_PLACE else ""

    def may_hold(self, line: str) -> bool:
        """Return whether one of the sentences may say what holds now, and does not surely speak of the moment."""
        index = next((index for index, sentence in enumerate(self._sentences) if line_of(sentence) == line), None)
        if index is None:
            return True
        least = 0.0 if _OWN_PLAN.match(self._sentences[index].bare) else _OF_THE_MOMENT
        return self.judged[index].logit >= least

    def _says_something(self, index: int) -> bool:
        """Whether a sentence has more than hardly a word, announces nothing that stands behind it, is no own plan, asks for
        nothing, and is no part of a document."""
        sentence = self._sentences[index]
        bare = sentence.bare
        if (
            _ANNOUNCES_WORK.match(bare)
            or _TO_BE_BUILT.match(bare)
            or "**" in bare
            or "\\" in bare
            or _ASKS_FOR_HELP.search(bare)
            or (not self.is_by_model and is_question(sentence))
        ):
            return False
        return not (bare.rstrip().endswith(":") or _OWN_PLAN.match(bare) or len(_WORD.findall(bare)) < _MIN_WORDS)

    def over(self, weights: Mapping[Statement, int], spoken_of: str, *, more: float) -> tuple[Statement | None, bool]:
        """Return the one of some statements that the message may end, and whether it does so likely enough that something
        takes its place; `weights` are what the rules say of each, in hundredths of a logit, `spoken_of` what the agent said
        before it, `more` how much more (a logit) is asked for here than where little stands."""
        if not weights or self._model is None:
            return None, False
        before = spoken_of[-_MAX_BEFORE:]
        turn = (f"{before} / " if before else "") + " ".join(self._message.split())[:_MAX_TURN]
        logits = self._model.ends([each.text for each in weights], turn)
        likely = {
            statement: logit + _WEIGHT_COUNTS * max(weight, _LEAST_WEIGHT) / 100
            for (statement, weight), logit in zip(weights.items(), logits, strict=True)
        }
        best = max(likely, key=likely.__getitem__)
        least = _OVER + more
        return best if likely[best] >= least else None, likely[best] >= _REPLACED


def _judged_by_network(sentence: Sentence) -> Judged:
    words = read_words(sentence.bare)
    return Judged(words.logit, words.section if words.logit > 0 else "")


def _line(sentence: Sentence) -> str:
    return LABEL.sub("", line_of(sentence))
