"""What the list, the keys and the options of `hudkit review` share: how an item is shown, what each answer does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from hudkit.api import HudSession
from hudkit.compose import visible
from hudkit.errors import ConfigError, StoreError
from hudkit.hosts.installing.config_files import note_settings_directory
from hudkit.hud.always_file import AlwaysItem, add_always, remove_always
from hudkit.hud.session_keys import project_key, project_of_key
from hudkit.paths import always_path, data_directory, git_root
from hudkit.tools.review import ReviewedItem, drop_item, edit_item, keep_item, promote_item, undo_answer

ANSWERS = {
    "keep": "kept",
    "edit": "edited",
    "drop": "dropped",
    "for-project": "always for this project",
    "for-me": "always for you",
}
"""What can be answered, each with how it is told afterwards."""

_AGENT_SHELLS = ("CLAUDECODE", "CODEX_THREAD_ID", "OPENCODE", "HUDKIT_CALL")
"""What agents' hosts put into the environment of the commands that their agents run."""

_INDENT = "    "


class ItemAnswer(msgspec.Struct, frozen=True):
    """What was answered about an item: the numbers of the events that record it, and what is told of it."""

    item: ReviewedItem
    answer: str
    seqs: tuple[int, ...]
    words: str
    added: AlwaysItem | None = None
    """What was put into the file of what holds in all sessions."""


class ReviewSession(NamedTuple):
    """A session that is reviewed, and how it is called."""

    session: HudSession
    heading: str

    def answer(self, answer: str, item: ReviewedItem, text: str = "") -> ItemAnswer:
        """Record an answer about an item and return what was done. Raises `ConfigError` or a `StoreError`."""
        words, added = ANSWERS[answer], None
        if answer in ("for-project", "for-me"):
            seqs, added = self._promote(answer, item)
        elif answer == "keep":
            seqs = keep_item(self.session, item)
        elif answer == "drop":
            seqs = drop_item(self.session, item)
        else:
            seqs = edit_item(self.session, item, text)
            words = f"{words}, now: {text}"
        if item.level and answer in ("edit", "drop"):
            words += " (in this session; others have it as it was: hudkit review --forget)"
        return ItemAnswer(item, answer, seqs, words, added)

    def take_back(self, answered: ItemAnswer) -> None:
        """Take an answer back: the item is as it was. Raises a `StoreError`."""
        if answered.added is not None:
            remove_always(always_path(), answered.added)
        if answered.seqs:
            undo_answer(self.session, answered.seqs)

    def _promote(self, answer: str, item: ReviewedItem) -> tuple[tuple[int, ...], AlwaysItem | None]:
        """Make an item hold in all sessions of the project, or of the user: in the file, and then in the log.

        Returns the numbers of the events, and what is new in the file.
        """
        require_person()
        place = str(self._project()) if answer == "for-project" else ""
        today = date.today()  # noqa: DTZ011 (the day on the wall of who reads the file)
        always = AlwaysItem(item.section, item.text, item.reason, place, self.session.id, today)
        path = always_path()
        with suppress(ConfigError):  # only a later `uninstall --purge` asks for it
            note_settings_directory(data_directory(), path.parent)
        is_new = add_always(path, always)
        try:
            return promote_item(self.session, item, always.level), always if is_new else None
        except (ConfigError, StoreError):
            if is_new:
                remove_always(path, always)
            raise

    def _project(self) -> Path:
        """The root of the session's project. Raises `ConfigError` where it is in none that is known."""
        own = project_of_key(self.session.id)
        for directory in (self.session.state.session.directory, str(Path.cwd())):
            if directory and own and project_key(directory) == own:
                return git_root(directory)
        raise ConfigError("it is not known where the session's project is", hint="Run this in the project")


def require_person() -> None:
    """Raise `ConfigError` where an agent's shell runs this: what holds beyond a session is its person's to say."""
    shell = next((name for name in _AGENT_SHELLS if os.environ.get(name)), "")
    if shell:
        raise ConfigError(
            f"this shell is an agent's ({shell} is set)", hint="What holds in all sessions its person says elsewhere"
        )


def item_lines(item: ReviewedItem) -> Iterator[str]:
    """Return what a person needs to know of an item to answer: its text, and the sentence, who, when and doubt."""
    yield visible(f"{item.id}  {item.kind}: {item.text}")
    if item.reason:
        yield visible(f"{_INDENT}because: {item.reason}")
    if item.sentence and item.sentence != item.text:
        yield visible(f"{_INDENT}read in: {item.sentence}")
    form = f", as {_article(item.form)}" if item.form and item.form != item.kind else ""
    yield visible(f"{_INDENT}from {item.speaker}, {_minute(item.time)}{form}")
    if item.doubt:
        word = "but" if item.suspended else "may be over"
        yield visible(f"{_INDENT}{word}: {item.doubt}")


def _article(noun: str) -> str:
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def _minute(timestamp: int) -> str:
    try:
        return datetime.fromtimestamp(timestamp / 1000).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return f"{timestamp} ms"
