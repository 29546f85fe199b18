"""`ScriptedJudge`, a judge of sentences that is told what to say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hudkit.ingest.extraction.sentence_judge import Judged

_NO, _YES = -4.0, 4.0


class ScriptedJudge:
    """Says of the sentences with some words that they are meant to last, and which messages end which statements."""

    def __init__(self, lasting: Mapping[str, str] | None = None, ending: Mapping[str, str] | None = None) -> None:
        """`lasting` gives words of a sentence its section, `ending` words of a message those of what it ends."""
        self._lasting, self._ending = lasting or {}, ending or {}

    def judge(self, sentences: Sequence[str], message: str) -> list[Judged]:  # noqa: ARG002 (a judge may read it)
        """Return a logit of 4 and the section for a sentence with such words, -4 for any other."""
        sections = (next((self._lasting[key] for key in self._lasting if key in each), "") for each in sentences)
        return [Judged(_YES if section else _NO, section or "notes") for section in sections]

    def ends(self, statements: Sequence[str], message: str) -> list[float]:
        """Return 4 for a statement that the message ends, -4 for any other."""
        over = [words for key, words in self._ending.items() if key in message]
        return [_YES if any(words in statement for words in over) else _NO for statement in statements]
