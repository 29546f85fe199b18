"""The questions of `hudkit review` at a terminal: one item after the other, answered with one key each."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from rich.text import Text

from hudkit.agent.terminal.screen import Screen, wrap_styled
from hudkit.cli.review_answers import ANSWERS, ItemAnswer, ReviewSession, item_lines
from hudkit.cli.styles import REVIEW_STYLES, styled
from hudkit.compose import visible
from hudkit.errors import ConfigError
from hudkit.tools.review import ReviewedItem, heard_items

_KEYS = {
    "k": ("keep", "it is right; it is not marked as derived any more"),
    "e": ("edit", "word it otherwise"),
    "d": ("drop", "it is wrong or over; the same words are not heard again"),
    "p": ("for-project", "it is right, in all sessions of this project from now on"),
    "m": ("for-me", "it is right, in all of my sessions from now on, in every host"),
    "s": ("skip", "leave it as it is, and ask again next time"),
    "u": ("undo", "take the last answer back"),
    "q": ("quit", "end here; what was answered stays answered"),
    "?": ("help", "explain the keys"),
}
"""What each key means."""

_SEQUENCE_SECONDS = 0.02
"""Within which the rest of a key's sequence comes."""

_ENDS = ("", "\x04")
"""What ends the questions like q: the end of the input, and Ctrl-D."""


class _Question(NamedTuple):
    review: ReviewSession
    item: ReviewedItem


def ask_about(sessions: Sequence[ReviewSession]) -> None:
    """Ask about each item that was heard in these sessions, and record each answer at once; return nothing.

    Raises a `StoreError` where an answer cannot be recorded; those before it are.
    """
    questions = [_Question(review, item) for review in sessions for item in heard_items(review.session)]
    _Review(questions, Screen(sys.stdout)).run()


class _Review:
    """Where the questions are, and what was answered."""

    def __init__(self, questions: Sequence[_Question], screen: Screen) -> None:
        self._questions = questions
        self._screen = screen
        self._place = 0
        self._answered: list[tuple[int, ItemAnswer | None]] = []  # in order; `None` was skipped
        self._heading = ""

    def run(self) -> None:
        """Ask until there are no more questions, or the person ends."""
        self._show()
        with _single_keys():
            self._ask()
        self._tell_counts()

    def _ask(self) -> None:
        while self._place < len(self._questions):
            key = self._key()
            if key == "q":
                break
            if key == "?":
                self._help()
            elif key == "u":
                self._undo()
            elif key == "s":
                self._note(None)
            else:
                self._answer(_KEYS[key][0])

    def _show(self) -> None:
        """Show the item that is asked about, below a new session's heading."""
        if self._place >= len(self._questions):
            return
        review, item = self._questions[self._place]
        if review.heading != self._heading:
            self._heading = review.heading
            count = sum(each.review is review for each in self._questions)
            self._put(f"{review.heading}: {count} heard, not reviewed")
        self._put("", *item_lines(item))

    def _key(self) -> str:
        """Ask with one line, and return the key that was pressed; others mean nothing."""
        place, keys = f"({self._place + 1}/{len(self._questions)})", ",".join(_KEYS)
        asked = Text(f"{place} Keep this {self._questions[self._place].item.kind} [{keys}]? ", "bold")
        self._screen.hold([asked])
        try:
            while (key := _read_key()) not in _KEYS:
                if key in _ENDS:
                    key = "q"
        finally:
            self._screen.hold()
        self._screen.put(Text.assemble(asked, _KEYS[key][0].replace("-", " ")))
        return key

    def _answer(self, answer: str) -> None:
        review, item = self._questions[self._place]
        text = ""
        if answer == "edit":
            text = _edited(item.text)
            if not text:
                self._put("not changed")
                return
        try:
            answered = review.answer(answer, item, text)
        except ConfigError as error:
            self._put(visible(str(error)))
            return
        self._put(visible(answered.words))
        self._note(answered)

    def _note(self, answered: ItemAnswer | None) -> None:
        self._answered.append((self._place, answered))
        self._place += 1
        self._show()

    def _undo(self) -> None:
        if not self._answered:
            self._put("nothing was answered yet")
            return
        self._place, answered = self._answered.pop()
        if answered is not None:
            self._questions[self._place].review.take_back(answered)
            self._put(f"taken back: {ANSWERS[answered.answer]}")
        self._show()

    def _help(self) -> None:
        self._put(*(f"{key}  {name.replace('-', ' ')}: {meaning}" for key, (name, meaning) in _KEYS.items()))

    def _tell_counts(self) -> None:
        counts = Counter(ANSWERS[answered.answer] for _, answered in self._answered if answered is not None)
        left = len(self._questions) - counts.total()
        words = [f"{count} {word}" for word, count in counts.items()]
        words += [f"{left} left: hudkit review goes on"] if left else []
        self._put("", ", ".join(words))

    def _put(self, *lines: str) -> None:
        for line in lines:
            self._screen.put(*wrap_styled(styled(line, REVIEW_STYLES), self._screen.columns))


def _edited(text: str) -> str:
    """The words that the person makes of a text; empty where it is to stay as it is."""
    from prompt_toolkit import prompt

    try:
        return " ".join(prompt("new wording: ", default=text).split())
    except (EOFError, KeyboardInterrupt):
        return ""


@contextmanager
def _single_keys() -> Iterator[None]:
    """Give each key as it is pressed, without showing it, until the block ends."""
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    tty.setcbreak(fd, termios.TCSADRAIN)
    try:
        yield
    finally:
        with suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(fd, termios.TCSADRAIN, before)


def _read_key() -> str:
    """The next key; empty where the input has ended. A key without a letter, an arrow say, is none of ours."""
    try:
        key = _read_byte()
        if key == "\x1b" and _comes_more():
            # Its sequence may end with a letter: that of the arrow to the left is ESC [ D.
            lead = _read_byte()
            while lead in "[O" and _comes_more() and not "@" <= _read_byte() <= "~":
                pass
        return key
    except OSError:  # the terminal is gone
        return ""


def _read_byte() -> str:
    return os.read(sys.stdin.fileno(), 1).decode("latin-1")


def _comes_more() -> bool:
    return bool(select.select([sys.stdin.fileno()], [], [], _SEQUENCE_SECONDS)[0])
