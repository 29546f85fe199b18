"""All sessions that were recorded on this machine: the hosts' transcripts, and the search index over them.

This is the port through which operations read earlier sessions: a host gives one to `Hud(..., past=...)`, or none,
and then nothing can be read. Transcripts are opened when they are first asked for. A host that is not installed has
none; one whose transcript cannot be read is named in `problems` and does not keep the others from being read.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import NamedTuple

from hudkit.errors import HudkitError, StoreBusy, TranscriptError
from hudkit.transcripts.claude_code import open_claude
from hudkit.transcripts.codex import open_codex
from hudkit.transcripts.named_files import SavedPlan, list_plans, read_plan
from hudkit.transcripts.opencode_database import OpenCodeTranscript
from hudkit.transcripts.pi import open_pi
from hudkit.transcripts.search.index_database import IndexProgress, IndexWriter, nothing_read_yet
from hudkit.transcripts.search.index_reader import IndexReader
from hudkit.transcripts.search.passages import passages
from hudkit.transcripts.search.query import MAX_HITS, SearchFilters, SearchHit, SearchQuery, parse_query
from hudkit.transcripts.transcript import Message, SessionRow, Transcript

# -- where hosts keep their files ------------------------------------------------------------------------------------


def _opencode_data(env: Mapping[str, str] = os.environ) -> Path:
    """Return OpenCode's data folder: `XDG_DATA_HOME/opencode`, else `~/.local/share/opencode`."""
    named = env.get("XDG_DATA_HOME")
    return (Path(named) if named else _home(env) / ".local" / "share") / "opencode"


def _opencode_db(env: Mapping[str, str] = os.environ) -> Path:
    """Return OpenCode's database: `OPENCODE_DB` (absolute, or within the data folder), else `opencode.db`."""
    named = env.get("OPENCODE_DB", "")
    return _opencode_data(env) / (named if named and named != ":memory:" else "opencode.db")


def claude_projects(env: Mapping[str, str] = os.environ) -> Path:
    """Return where Claude Code keeps transcripts: `projects` below `CLAUDE_CONFIG_DIR`, else below `~/.claude`."""
    named = env.get("CLAUDE_CONFIG_DIR")
    return (Path(named) if named else _home(env) / ".claude") / "projects"


def _codex_sessions(env: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of Codex's transcripts: `sessions` below `CODEX_HOME`, else below `~/.codex`."""
    named = env.get("CODEX_HOME")
    return (Path(named) if named else _home(env) / ".codex") / "sessions"


def _pi_sessions(env: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of pi's transcripts: where pi's variables say, else `sessions` below `~/.pi/agent`."""
    if env.get("PI_CODING_AGENT_SESSION_DIR"):
        return Path(env["PI_CODING_AGENT_SESSION_DIR"])
    named = env.get("PI_CODING_AGENT_DIR")
    return (Path(named) if named else _home(env) / ".pi" / "agent") / "sessions"


def host_folders() -> tuple[tuple[str, Path], ...]:
    """Return where each host keeps its sessions, whether something is there or not."""
    return (
        ("opencode", _opencode_db()),
        ("claude-code", claude_projects()),
        ("codex", _codex_sessions()),
        ("pi", _pi_sessions()),
    )


def find_session_file(host: str, session: str) -> Path | None:
    """Return the file of a session of Claude Code, Codex or pi by its id, in its usual place; `None`: not there."""
    patterns = {
        "claude-code": (claude_projects(), (f"*/{escape(session)}.jsonl", f"*/*/subagents/{escape(session)}.jsonl")),
        "codex": (_codex_sessions(), (f"*/*/*/rollout-*{escape(session)}.jsonl",)),
        "pi": (_pi_sessions(), (f"*/*_{escape(session)}.jsonl", f"*_{escape(session)}.jsonl")),
    }
    root, wanted = patterns.get(host, (Path(), ()))
    with suppress(OSError, ValueError):
        return next((path for pattern in wanted for path in root.glob(pattern)), None)
    return None


def _plan_folders(roots: tuple[str, ...] = (), env: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """Return where plans are: OpenCode's of the projects at `roots` and of no project, and Claude Code's."""
    own = [Path(root) / ".opencode" / "plans" for root in roots if root.startswith("/")]
    return (*own, _opencode_data(env) / "plans", claude_projects(env).parent / "plans")


def _home(env: Mapping[str, str]) -> Path:
    return Path(env["HOME"]) if env.get("HOME") else Path.home()


class TranscriptSource(NamedTuple):
    """A transcript that may be there: whose, where, and how to open it."""

    host: str
    place: Path
    open: Callable[[Path], Transcript]


_SCAN_SECONDS = 1.5
"""Seconds that one session is looked through without an index."""

_READING_SECONDS = 5.0
"""Seconds that a question may read transcripts which are not in the index yet; the next question goes on."""


class PastSessions:
    """Sessions of all hosts by their ids. Safe to use from several threads."""

    def __init__(
        self,
        sources: Sequence[TranscriptSource | Transcript],
        index: Path | None = None,
        exports: Path | None = None,
        *,
        eager: bool = True,
        clock: Callable[[], float] = time.monotonic,
        busy_timeout: float = 5.0,
    ) -> None:
        """`sources` are asked in this order. `index` is the index's file. The first questions read what is not in it,
        the newest sessions first and a few seconds each, but only if `eager`: else somebody else calls `update`.
        Without one, the transcripts that were given open are searched as they stand. `exports` is the folder of
        exported sessions, `clock` gives seconds; so many is another writer waited for (`busy_timeout`)."""
        self._sources = tuple(sources)
        self._opened: dict[TranscriptSource, Transcript] = {}
        self._index = index
        self.exports = exports
        self._eager = eager
        self._clock = clock
        self._busy_timeout = busy_timeout
        self._was_asked = False
        self.is_behind = False
        """Whether the last question left transcripts unread, so that the next one may find more."""
        self._writer: IndexWriter | None = None
        self._reader: IndexReader | None = None
        self._lock = threading.RLock()
        self.problems: dict[str, str] = {}
        """What could not be read, by host."""

    # -- transcripts -------------------------------------------------------------------------------------------

    def transcripts(self) -> tuple[Transcript, ...]:
        """Return the transcripts that are there now."""
        with self._lock:
            return tuple(filter(None, map(self._open, self._sources)))

    def joined(self, transcript: TranscriptSource | Transcript) -> PastSessions:
        """Return the same sessions behind those of a transcript that is asked first: a host's own conversations.

        Closing what is returned closes neither the transcript nor these sessions.
        """
        return PastSessions(
            (transcript, *self._sources), self._index, self.exports, eager=self._eager, clock=self._clock
        )

    def has(self, session_id: str, host: str) -> bool:
        """Return whether the transcripts of a host have this session. One that cannot be read has none."""
        for transcript in self.transcripts():
            if transcript.host == host:
                try:
                    if transcript.session(session_id) is not None:
                        return True
                except TranscriptError as error:
                    self.problems[host] = str(error)
        return False

    def sessions(self) -> tuple[SessionRow, ...]:
        """Return all sessions, the newest first; one that two transcripts have as the first of them has it."""
        rows: dict[tuple[str, str], SessionRow] = {}
        for transcript in self.transcripts():
            try:
                for row in transcript.sessions():
                    rows.setdefault((row.host, row.id), row)
            except TranscriptError as error:
                self.problems[transcript.host] = str(error)
        return tuple(sorted(rows.values(), key=lambda row: (-row.updated, row.id)))

    def find(self, session_id: str) -> tuple[Transcript, SessionRow]:
        """Return the session with this id, and its transcript. Raises `TranscriptError`."""
        for transcript in self.transcripts():
            try:
                row = transcript.session(session_id)
            except TranscriptError as error:
                self.problems[transcript.host] = str(error)
                continue
            if row is not None:
                return transcript, row
        raise TranscriptError(f"there is no session {session_id!r:.80}", hint="`sessions` lists the ids.")

    def has_session(self, session_id: str) -> bool:
        """Return whether any transcript has a session with this id."""
        try:
            self.find(session_id)
        except TranscriptError:
            return False
        return True

    def messages(self, session_id: str) -> Iterator[Message]:
        """Return a session's messages in order. Raises `TranscriptError`."""
        transcript, _ = self.find(session_id)
        return transcript.messages(session_id)

    # -- plans -------------------------------------------------------------------------------------------------

    def plans(self, directory: str = "") -> tuple[SavedPlan, ...]:
        """Return saved plans: of the project at `directory`, and those of no project."""
        return list_plans(_plan_folders((directory,) if directory else ()))

    def plan(self, name: str, directory: str = "") -> tuple[str, bool]:
        """Return a plan's text, and whether it was cut. Raises `TranscriptError`."""
        return read_plan(_plan_folders((directory,) if directory else ()), name)

    # -- search ------------------------------------------------------------------------------------------------

    def search(self, question: SearchQuery) -> tuple[SearchHit, ...]:
        """Return the messages that answer best; where there is no index yet, it is made first, as far as there is
        time (`is_behind`).

        What the host has just said is found, too: transcripts that were given open are read again before each
        question (those of other hosts are not, which may be gigabytes). Raises `OperationError` and a `StoreError`.
        """
        own = [source for source in self._sources if not isinstance(source, TranscriptSource)]
        if self._index is None:
            return _scan(((each, row) for each in own for row in each.sessions()), question)
        if self._eager:
            with suppress(StoreBusy):  # another process reads them just now
                # The first question reads what all hosts have new: another process may have left it half read.
                if self.is_behind or not self._was_asked:
                    self._read_for_a_while()
                    self._was_asked = True
                elif own:
                    self._index_writer().update(own)
        return self._index_reader().search(question)

    def scan(self, session_id: str, question: SearchQuery) -> tuple[SearchHit, ...]:
        """Return the messages of one session that hold all words of a question as they stand, the newest first.

        They are read where the host has them, for a while: an index that somebody else brings up to date may not know
        yet what was said a moment ago. Raises `TranscriptError`.
        """
        transcript, row = self.find(session_id)
        return _scan([(transcript, row)], question, stop_at=self._clock() + _SCAN_SECONDS, clock=self._clock)

    def counts(self) -> dict[str, int]:
        """Return the numbers of sessions, messages and passages in the index."""
        return self._index_reader().counts()

    def update(
        self,
        session_id: str = "",
        *,
        host: str = "",
        progress: Callable[[IndexProgress], None] = lambda _: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> int:
        """Bring the index up to date, of one session, of one host's, or of all; return how many messages were read.

        Never to be called where an answer waits. Raises a `StoreError`.
        """
        writer = self._index_writer()
        chosen = [transcript for transcript in self.transcripts() if not host or transcript.host == host]
        return writer.update(chosen, session_id=session_id, progress=progress, stop=stop)

    def redact(self, secret: str) -> int:
        """Take a text out of the index, physically; return how many passages held it."""
        # An id that no session has: this opens the writer and reads nothing.
        self.update(session_id="-")
        assert self._writer is not None
        return self._writer.redact(secret)

    def close(self) -> None:
        """Closing twice is harmless."""
        with self._lock:
            for opened in (self._reader, self._writer, *self._opened.values()):
                if opened is not None:
                    opened.close()
            self._writer = self._reader = None
            self._opened.clear()

    # ----------------------------------------------------------------------------------------------------------

    def _open(self, source: TranscriptSource | Transcript) -> Transcript | None:
        if not isinstance(source, TranscriptSource):
            return source
        if source not in self._opened:
            if not source.place.exists():
                return None
            try:
                self._opened[source] = source.open(source.place)
            except HudkitError as error:
                self.problems[source.host] = str(error)
                return None
            # It can be read again: the host has repaired or written its file.
            self.problems.pop(source.host, None)
        return self._opened[source]

    def _index_reader(self) -> IndexReader:
        with self._lock:
            if self._reader is None:
                if not self._index_path().exists():
                    if not self._eager:
                        raise nothing_read_yet()
                    self._read_for_a_while()
                self._reader = IndexReader.open(self._index_path())
            return self._reader

    def _read_for_a_while(self) -> None:
        """Bring the index up to date as far as there is time: an answer waits, and the host's other calls with it."""
        until = self._clock() + _READING_SECONDS

        def stop() -> bool:
            self.is_behind = self._clock() >= until
            return self.is_behind

        self.is_behind = False
        self.update(stop=stop)

    def _index_writer(self) -> IndexWriter:
        with self._lock:
            if self._writer is None:
                self._writer = IndexWriter.open(self._index_path(), busy_timeout=self._busy_timeout)
            return self._writer

    def _index_path(self) -> Path:
        if self._index is None:
            raise TranscriptError("no index is configured", hint="Give `PastSessions` a path for it.")
        return self._index


_SNIPPET_CHARACTERS = 200


def _scan(
    sessions: Iterable[tuple[Transcript, SessionRow]],
    question: SearchQuery,
    *,
    stop_at: float = math.inf,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[SearchHit, ...]:
    """Return the messages that hold all words of a question as they stand, the newest first.

    What a search is where nothing may be written: no stems, no ranks, and time in proportion to what was said.
    """
    asked = parse_query(question.text)
    words = [*(phrase.casefold() for phrase in asked.phrases), *asked.words] or [question.text.casefold()]
    hits: list[SearchHit] = []
    for transcript, row in sessions:
        for message in transcript.messages(row.id):
            hit = _hit(row, message, words, question.filters)
            if hit is not None:
                hits.append(hit)
            if clock() >= stop_at:
                break
    hits.sort(key=lambda hit: -hit.time)
    if hits and (question.filters.since or question.filters.until):
        newest = hits[0].time
        since, until = (
            newest + bound if bound < 0 else bound for bound in (question.filters.since, question.filters.until)
        )
        hits = [hit for hit in hits if hit.time >= since and (not until or hit.time < until)]
    return tuple(hits[: max(1, min(question.limit, MAX_HITS))])


def _hit(row: SessionRow, message: Message, words: Sequence[str], filters: SearchFilters) -> SearchHit | None:
    """Return the first passage of a message that has all words and is what the filters ask for, as a hit."""
    place = row.root or row.directory
    if filters.session not in ("", row.id) or filters.host not in ("", row.host) or filters.project not in place:
        return None
    for passage in passages(message):
        folded = passage.text.casefold()
        fits = filters.role in ("", passage.role) and filters.tool in ("", passage.tool)
        if fits and all(word in folded for word in words):
            rarest = min(words, key=folded.count)  # the others may stand in every line
            start = max(0, folded.find(rarest) - _SNIPPET_CHARACTERS // 4)
            snippet = passage.text[start : start + _SNIPPET_CHARACTERS]
            facts = (passage.role, passage.tool, message.created, row.title, place, snippet)
            return SearchHit(row.id, message.id, row.host, *facts, score=1.0)
    return None


def open_past_sessions(
    index: str | Path,
    *,
    opencode: str | Path | None = None,
    claude: str | Path | None = None,
    codex: str | Path | None = None,
    pi: str | Path | None = None,
    also: Sequence[TranscriptSource | Transcript] = (),
    eager: bool = True,
) -> PastSessions:
    """Return the past sessions of this user, with the index at `index`.

    Each host's transcripts are read where the host keeps them, or where they are named; `also` are further
    transcripts: our own log's, and those of our agent. `eager`: see `PastSessions`.
    """
    sources: tuple[TranscriptSource, ...] = (
        TranscriptSource("opencode", Path(opencode or _opencode_db()), OpenCodeTranscript.open),
        TranscriptSource("claude-code", Path(claude or claude_projects()), open_claude),
        TranscriptSource("codex", Path(codex or _codex_sessions()), open_codex),
        TranscriptSource("pi", Path(pi or _pi_sessions()), open_pi),
    )
    return PastSessions((*sources, *also), Path(index), Path(index).parent / "exports", eager=eager)
