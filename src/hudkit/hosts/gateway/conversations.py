"""Which conversation a call belongs to, by the messages that it begins with; and what is kept of each.

No client says it in a way that all do. But each call of a conversation begins with the call before it, so the keys of
its messages do: the conversation whose last keys are the longest beginning of a call's keys is its own, in whatever
process. Where a call shares only a part of a conversation's keys, it is a fork, or went back: another session, which
begins with what was there up to that place. A sub-agent begins with other words, and so has a session of its own.

After a compaction a call begins with a summary. Then the client's own id of the session tells, or calls of tools in
what was left word for word.

A small database beside the log has it, so that a conversation goes on in another process. It holds keys, times and
numbers; of what was said only what the model and the HUD's tools said to each other, which no client keeps.
"""

from __future__ import annotations

import logging
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from threading import RLock
from typing import NamedTuple
from uuid import uuid4

import msgspec

from hudkit.context.caching import ANTHROPIC, CachePolicy, CallCost
from hudkit.context.caching.policies import policy_for
from hudkit.log.redaction import SecretText, remove_from_json
from hudkit.log.stores.sqlite_files import into_wal, store_errors

_LOG = logging.getLogger("hudkit.hosts.gateway")

_SCHEMA = """
create table if not exists conversations(
    session text primary key, parent text not null, hint text not null, hud integer not null,
    updated integer not null,
    keys text not null, times text not null);
create table if not exists rounds(
    session text not null, behind text not null, place integer not null, items text not null,
    primary key(session, behind, place));
create table if not exists calls(
    id integer primary key, time integer not null, session text not null, model text not null, hud integer not null,
    rounds integer not null, known integer not null, cached integer not null, written integer not null,
    fresh integer not null, output integer not null, paid real not null, own real not null);
create table if not exists gateways(
    url text primary key, upstream text not null, process integer not null, hud integer not null);
"""

_HELD = 1_000
"""Conversations that are known again; an older one begins anew."""

_OPENING_SECONDS = 5.0

_BUSY_MS = 50

_CHECKPOINT_WRITES = 200

_FEW = 200
"""Conversations that a call is compared with, message by message, where it begins as none of them ended."""


class Conversation(msgspec.Struct):
    """A conversation of a client: its session, the keys of its last call's messages, and when each was first seen.

    `updated` orders conversations by their last calls: it is the time of that, or, where the clock went back, one
    more than that of the call before it. What a fork adds is dated behind `forked_at`, the last message of its
    source: else, where the clock went back, it would have the times of what it does not share.
    """

    session: str
    keys: list[str]
    times: list[int]
    parent: str = ""
    hint: str = ""
    hud: bool = True
    updated: int = 0
    forked_at: int = 0


class CallSigns(NamedTuple):
    """By what the conversation of a call is known."""

    keys: Sequence[str]
    """Those of its messages."""
    calls: Callable[[], Sequence[str]]
    """Gives those of them that have calls of tools with ids of their own."""
    prompts: int
    """Messages before the first answer."""
    hint: str = ""
    """A digest of the client's own id of the session."""
    prompt: str = ""
    """What the conversation begins with."""
    is_summary: bool = False
    """Whether that is a summary of what was before."""


class ReceiptRow(NamedTuple):
    """What the calls of some conversations cost, as the provider reports it."""

    session: str
    hud: bool
    calls: int
    reported: int
    """Calls whose cost was reported."""
    cost: CallCost
    paid: float
    """What the requests weigh, in tokens at the full input price."""
    own: float
    """What of it is the HUD's, as it is counted here."""

    @property
    def times(self) -> float | None:
        """Return cost with the HUD ÷ cost without it; `None` where nothing was reported."""
        return self.paid / (self.paid - self.own) if self.paid > self.own else None


class RunningGateway(NamedTuple):
    """A gateway that listens, or was killed as it did."""

    url: str
    upstream: str
    process: int
    hud: bool
    """Whether it was started with a HUD."""


class ConversationBook:
    """The conversations that went through gateways with one log. Safe for several threads and processes."""

    def __init__(self, path: Path | None, *, half: bool = False) -> None:
        """Open the database at `path` (`None`: in memory). With `half`, every second new conversation gets no HUD.
        Raises `sqlite3.Error`."""
        self._half = half
        self._path = path
        self._lock = RLock()
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.touch(0o600)
        self._db = sqlite3.connect(
            path or ":memory:", check_same_thread=False, timeout=_OPENING_SECONDS, isolation_level=None
        )
        if path is not None:
            into_wal(self._db, _OPENING_SECONDS)
        # Checkpoints wait for the disk: they are made where no call waits for them.
        self._db.executescript(f"pragma synchronous=normal; pragma wal_autocheckpoint=0; {_SCHEMA}")
        # From now on somebody waits: what another process is in the way of is written with what comes next.
        self._db.execute(f"pragma busy_timeout={_BUSY_MS}")
        self._unwritten: deque[tuple[str, Sequence[object]]] = deque(maxlen=_HELD)
        self._writes = 0  # since the last checkpoint
        self._version = -1
        self._latest = 0
        self._all: dict[str, Conversation] = {}
        self._by_last: dict[str, list[str]] = {}
        self._rounds: dict[str, dict[str, list[bytes]]] = {}
        self._asked: dict[str, str] = {}
        self._begun = 0

    def close(self) -> None:
        """Write what is left, and close the database."""
        with self._lock:
            self._db.execute("pragma busy_timeout=5000")
            self._flush()
            self._db.close()

    @property
    def is_checkpoint_due(self) -> bool:
        """Return whether so much was written that `checkpoint` should be called."""
        return self._writes >= _CHECKPOINT_WRITES

    def checkpoint(self) -> None:
        """Move what was written into the database itself; others read and write meanwhile. Never raises."""
        self._writes = 0
        if self._path is None:
            return
        try:
            with closing(sqlite3.connect(self._path, timeout=_OPENING_SECONDS)) as db:
                db.execute("pragma wal_checkpoint(passive)")
        except sqlite3.Error as error:
            _LOG.warning("%s grows: %s", self._path, error)

    def all(self) -> list[Conversation]:
        """Return the conversations that are known, the newest last."""
        with self._lock:
            self._refresh()
            return list(self._all.values())

    def find(self, signs: CallSigns) -> Conversation:
        """Return the conversation of a call; a new one where it is none that is known."""
        with self._lock:
            try:
                self._refresh()
            except sqlite3.Error as error:
                _LOG.warning("what other gateways know is not read: %s", error)
            keys = signs.keys
            own = self._with_end_in(keys) or self._gone_on(signs)
            if own is not None:
                return own
            source, shared = self._longest(keys)
            # A prompt alone is said in many conversations: only an answer makes two of them the same one.
            if source is not None and shared > signs.prompts:
                began = (list(keys[:shared]), source.times[:shared])
                latest = max(source.times)
                fork = Conversation(uuid4().hex, *began, "", signs.hint, source.hud, forked_at=latest)
                self._copy_rounds(source.session, fork.session)
                return fork
            parent = self._asked.get(signs.prompt, "")
            hud = self._all[parent].hud if parent in self._all else self._next_has_hud()
            return Conversation(uuid4().hex, [], [], parent, signs.hint, hud)

    def remember(self, conversation: Conversation, keys: Sequence[str], now: int, hint: str = "") -> list[int]:
        """Note the messages of a conversation's call before it goes out; return when each was first seen.

        What cannot be written is known to this process only.
        """
        with self._lock:
            seen_at = dict(zip(conversation.keys, conversation.times, strict=True))
            latest = max((conversation.forked_at, *seen_at.values()))
            times = []
            for key in keys:
                if key not in seen_at:
                    latest = max(latest + 1, now)
                    seen_at[key] = latest
                times.append(seen_at[key])
            self._latest = max(now, self._latest + 1)
            self._forget(conversation.session)
            conversation.keys, conversation.times, conversation.updated = list(keys), times, self._latest
            conversation.hint = hint or conversation.hint
            self._hold(conversation)
            self._write(
                "insert or replace into conversations values (?, ?, ?, ?, ?, ?, ?)",
                (
                    conversation.session, conversation.parent, conversation.hint, conversation.hud,
                    self._latest, " ".join(keys), " ".join(map(str, times)),
                ),
            )  # fmt: skip
            return times

    def asks(self, session: str, texts: Iterator[str]) -> None:
        """Note what a conversation asks its tools: one that begins with such words is its sub-agent."""
        with self._lock:
            for text in texts:
                self._asked[text.strip()] = session
            while len(self._asked) > _HELD:
                del self._asked[next(iter(self._asked))]

    # -- what the model and our tools said to each other -------------------------------------------------------

    def rounds(self, session: str) -> dict[str, list[bytes]]:
        """Return what was exchanged in a session, by the key of the message that it stands behind."""
        with self._lock:
            if session not in self._rounds:
                self._flush()
                rows = self._db.execute(
                    "select behind, items from rounds where session = ? order by behind, place", (session,)
                )
                exchanged: dict[str, list[bytes]] = {}
                for behind, items in rows:
                    exchanged.setdefault(behind, []).append(items.encode())
                self._rounds[session] = exchanged
            return self._rounds[session]

    def add_round(self, session: str, behind: str, items: Sequence[bytes]) -> None:
        """Keep what was exchanged behind a message."""
        with self._lock:
            exchanged = self.rounds(session).setdefault(behind, [])
            for item in items:
                values = (session, behind, len(exchanged), item.decode())
                self._write("insert or replace into rounds values (?, ?, ?, ?)", values)
                exchanged.append(item)

    # -- receipts ----------------------------------------------------------------------------------------------

    def add_call(
        self, session: str, model: str, now: int, costs: Sequence[CallCost], *, hud: bool, own: CallCost
    ) -> None:
        """Note what the rounds of a call cost, and of these requests what was the HUD's.

        A further round is the HUD's altogether: without it the model would not have been asked.
        """
        policy = policy_for(model)[0]
        policy = ANTHROPIC if any(cost.written for cost in costs) else policy
        spent = [sum(getattr(cost, name) for cost in costs) for name in ("read", "written", "fresh", "output")]
        paid = sum(_weight(cost, policy) for cost in costs)
        ours = (_weight(own, policy) if costs else 0.0) + sum(_weight(cost, policy) for cost in costs[1:])
        with self._lock:
            self._write(
                "insert into calls(time, session, model, hud, rounds, known, cached, written, fresh, output, paid,"
                " own) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (now, session, model, hud, len(costs), bool(costs), *spent, paid, min(ours, paid)),
            )  # fmt: skip

    def receipts(self) -> list[ReceiptRow]:
        """Return what each conversation cost, the newest last."""
        with self._lock:
            self._flush()
            rows = self._db.execute(
                "select session, max(hud), count(*), sum(known), sum(cached), sum(written), sum(fresh), sum(output),"
                " sum(paid), sum(own) from calls group by session order by max(id)"
            )
            return [
                ReceiptRow(session, bool(hud), calls, reported, CallCost(cached, written, fresh, output), paid, own)
                for session, hud, calls, reported, cached, written, fresh, output, paid, own in rows
            ]

    # -- who listens -------------------------------------------------------------------------------------------

    def note_listening(self, gateway: RunningGateway) -> None:
        """Note that a gateway listens, so that `hudkit doctor` can look at it."""
        with self._lock:
            self._write("insert or replace into gateways values (?, ?, ?, ?)", gateway)

    def note_stopped(self, gateway: RunningGateway) -> None:
        """Note that it does so no more."""
        with self._lock:
            self._write("delete from gateways where url = ? and process = ?", (gateway.url, gateway.process))

    def gateways(self) -> list[RunningGateway]:
        """Return the gateways that listen, and those that were killed."""
        with self._lock:
            self._flush()
            rows = self._db.execute("select url, upstream, process, hud from gateways order by url")
            return [RunningGateway(url, upstream, process, bool(hud)) for url, upstream, process, hud in rows]

    # -- inside ------------------------------------------------------------------------------------------------

    def _with_end_in(self, keys: Sequence[str]) -> Conversation | None:
        for place in range(len(keys) - 1, -1, -1):
            for session in reversed(self._by_last.get(keys[place], [])):
                conversation = self._all[session]
                if len(conversation.keys) == place + 1 and conversation.keys == list(keys[: place + 1]):
                    return conversation
        return None

    def _gone_on(self, signs: CallSigns) -> Conversation | None:
        """Return the conversation that its client goes on with after a compaction."""
        newest, keys = list(self._all.values())[::-1], signs.keys
        if signs.is_summary and signs.hint:
            same = next((each for each in newest if each.hint == signs.hint and not each.parent), None)
            if same is not None:
                return same
        own, present = set(signs.calls()), set(keys)
        for each in newest[:_FEW] if own else ():
            # Its beginning is another, but its end is there.
            ends = each.keys[-2:]
            if keys[0] not in each.keys[:1] and present.issuperset(ends) and own.intersection(ends):
                return each
        return None

    def _longest(self, keys: Sequence[str]) -> tuple[Conversation | None, int]:
        best, longest = None, 0
        for conversation in list(self._all.values())[: -_FEW - 1 : -1]:
            shared = 0
            for own, other in zip(keys, conversation.keys, strict=False):
                if own != other:
                    break
                shared += 1
            if shared > longest:
                best, longest = conversation, shared
        return best, longest

    def _copy_rounds(self, source: str, session: str) -> None:
        """Give a fork what was exchanged in its source: of it, what stands behind messages that it has is sent."""
        self._write(
            "insert or ignore into rounds select ?, behind, place, items from rounds where session = ?",
            (session, source),
        )

    def _next_has_hud(self) -> bool:
        self._begun += 1
        return not self._half or self._begun % 2 == 1

    def _refresh(self) -> None:
        """Take up what other processes wrote."""
        (version,) = self._db.execute("pragma data_version").fetchone()
        if version == self._version:
            return
        rows = self._db.execute(
            "select session, parent, hint, hud, updated, keys, times from"
            " (select * from conversations where updated >= ? order by updated desc limit ?) order by updated",
            (self._latest, _HELD),
        )
        for session, parent, hint, hud, updated, keys, times in rows:
            self._forget(session)
            self._rounds.pop(session, None)
            own = Conversation(session, keys.split(), list(map(int, times.split())), parent, hint, bool(hud), updated)
            self._hold(own)
            self._latest = updated
        self._version = version

    def _write(self, statement: str, values: Sequence[object]) -> None:
        self._unwritten.append((statement, values))
        self._flush()

    def _flush(self) -> None:
        try:
            while self._unwritten:
                self._db.execute(*self._unwritten[0])
                self._writes += 1
                self._unwritten.popleft()
        except sqlite3.Error as error:
            _LOG.warning("what is known of a conversation is not kept yet: %s", error)

    def _hold(self, conversation: Conversation) -> None:
        self._all[conversation.session] = conversation
        if conversation.keys:
            self._by_last.setdefault(conversation.keys[-1], []).append(conversation.session)
        while len(self._all) > _HELD:
            self._forget(next(iter(self._all)))

    def _forget(self, session: str) -> None:
        conversation = self._all.pop(session, None)
        if conversation is not None and conversation.keys:
            sessions = self._by_last.get(conversation.keys[-1], [])
            if session in sessions:
                sessions.remove(session)
            if not sessions:
                self._by_last.pop(conversation.keys[-1], None)


def _weight(cost: CallCost, policy: CachePolicy) -> float:
    return cost.fresh + cost.read * policy.read_factor + cost.written * policy.write_factor


def redact_rounds(path: Path, wanted: Sequence[SecretText]) -> int:
    """Take texts out of what the model and the HUD's tools said to each other, physically; return how many pieces
    held one.

    A gateway that runs sends what it has in memory until it ends. Raises a `StoreError`, and nothing is changed then.
    """
    count = 0
    with store_errors(path):
        db = sqlite3.connect(path, timeout=5.0, isolation_level=None)
        try:
            db.execute("begin immediate")
            for row, items in db.execute("select rowid, items from rounds").fetchall():
                clean = remove_from_json(items.encode(), wanted)
                if clean.decode() != items:
                    db.execute("update rounds set items = ? where rowid = ?", (clean.decode(), row))
                    count += 1
            db.execute("commit")
            db.execute("vacuum")
            db.execute("pragma wal_checkpoint(truncate)")
        finally:
            db.close()
    return count
