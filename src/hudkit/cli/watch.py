"""Carries out `hudkit watch`: the HUD of a session as it changes, in a terminal beside the agent.

It only reads. It looks at the log's files four times a second, and at the log itself when one of them has changed.
"""

from __future__ import annotations

import argparse
import os
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from hudkit.agent.terminal.markdown import markdown_lines
from hudkit.agent.terminal.screen import clip, is_terminal, one_line
from hudkit.agent.terminal.window_bar import forecast_text, window_figures, window_text
from hudkit.api import Hud, HudSession
from hudkit.cli.common import SCHEMA, as_json, existing_log, open_read_only, pick, user_settings
from hudkit.compose import visible
from hudkit.config import Settings
from hudkit.errors import HudkitError
from hudkit.hud.session_keys import PROJECT_LOG, host_id_of_key
from hudkit.hud.window_usage import WindowUsage, window_facts, window_usage
from hudkit.log.event_log import EventLog
from hudkit.log.stores import open_log
from hudkit.paths import log_path

_LOOK_SECONDS = 0.25
"""Between two looks at the log's files."""

_HIGHLIGHT_SECONDS = 4.0
"""How long a line that has changed is marked."""

_COMPANIONS = ("", "-wal", ".mark")
"""What is behind the log's name in the files that change with an event."""

_BAR_CELLS = 16
_GUTTER = 2
"""Cells in front of each line, for the mark of a change."""

_PARENT = "parent"
"""How a sub-agent's session is linked to the one that it works for."""


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    live = is_terminal(sys.stdin) and is_terminal(sys.stdout) and os.environ.get("TERM") not in ("dumb", "")
    if live and not args.once and not args.json:
        _Watch(args.db or log_path(), args.session, user_settings("watch")).run()
        return 0
    with open_read_only(args.db, "watch") as hud:
        session = hud.session(_newest(hud.log, args.session))
        if args.json:
            _print_json(session)
        else:
            _print_once(session)
    return 0


def _newest(log: EventLog, asked: str | None) -> str:
    """The session that is asked for, or the one that the last event is of. Raises `ConfigError`."""
    if asked is None:
        for head in reversed(log.heads()):
            if not head.session_id.startswith(f"{PROJECT_LOG}@"):
                return head.session_id
    return pick(log, asked)


# -- once, as text ---------------------------------------------------------------------------------------------


def _print_json(session: HudSession) -> None:
    state = session.state
    facts = {
        "schema": SCHEMA,
        "session": session.id,
        "seq": state.seq,
        "title": _title(session),
        "window": window_facts(session.id, window_usage(state, session.settings)),
        "compactions": state.compacted.count,
        "last_compaction": state.compacted.mark.time or None,
        "text": session.whole_frame(state.seq).text,
    }
    print(as_json(msgspec.to_builtins(facts)))


def _print_once(session: HudSession) -> None:
    """Print what the pane shows; markdown as it is where the output is no terminal."""
    if is_terminal(sys.stdout):
        console = Console(highlight=False, soft_wrap=True)
        for line in (*_head(session, console.width), Text(), *_hud_lines(session, console.width)):
            console.print(line)
        return
    usage = window_usage(session.state, session.settings)
    figures = usage.usage
    window = window_figures(figures.used_tokens, figures.limit_tokens, figures.source)
    parts = (
        f"window {window}, {figures.band.value}",
        forecast_text(usage, figures.used_tokens),
        _compactions(session),
    )
    print(visible(_title(session)))
    print(visible(_about(session)))
    print("; ".join(filter(None, parts)))
    print()
    print(visible(session.whole_frame(session.state.seq).text, breaks=True).rstrip("\n"))


# -- what is shown of a session --------------------------------------------------------------------------------


def _title(session: HudSession) -> str:
    facts = session.state.session
    return one_line(facts.title or facts.first_request or facts.request or session.id)


def _about(session: HudSession) -> str:
    facts = session.state.session
    parts = (facts.host, session.state.model, facts.directory, host_id_of_key(session.id))
    return " · ".join(filter(None, parts))


def _compactions(session: HudSession) -> str:
    """When the last compaction was, and how many there were."""
    compacted = session.state.compacted
    if not compacted.count:
        return "no compaction yet"
    try:
        last = datetime.fromtimestamp(compacted.mark.time / 1000, UTC).astimezone().strftime("%H:%M")
    except (ValueError, OverflowError, OSError):
        last = "?"
    return f"last compaction {last}, {compacted.count} in all"


def _head(session: HudSession, columns: int) -> Iterator[Text]:
    """The lines above the HUD: which session, its window, when there will be no room, the last compaction."""
    usage: WindowUsage = window_usage(session.state, session.settings)
    yield Text(clip(_title(session), columns), "bold")
    yield Text(clip(_about(session), columns), "dim")
    yield window_text(usage.usage, cells=_BAR_CELLS)
    more = (forecast_text(usage, usage.usage.used_tokens), _compactions(session))
    yield Text(clip(" · ".join(filter(None, more)), columns))


def _hud_lines(session: HudSession, columns: int) -> list[Text]:
    """The HUD, rendered, without what it tells the agent about itself, and without the window, which stands above."""
    text = session.whole_frame(session.state.seq).text.rstrip("\n")
    introduction, heading, rest = text.partition("\n# ")
    if heading and not introduction.startswith("# "):
        text = f"# {rest}"
    body, _, usage = text.rpartition("\n\n")
    return markdown_lines(body if body and usage.startswith("Context: ") else text, columns)


# -- as it changes ---------------------------------------------------------------------------------------------


class _Watch:
    """The pane: it follows the session that is asked for, else the newest one, and each that begins after it."""

    def __init__(self, log: Path, asked: str | None, settings: Settings) -> None:
        self._path = log
        self._asked = asked
        self._settings = settings
        self._hud: Hud | None = None
        self._followed = ""
        self._known: set[str] = set()
        self._head: list[Text] = []
        self._lines: list[Text] = []
        self._changed: dict[str, float] = {}
        """Lines that are marked, with the time until which they are."""
        self._top = 0

    def run(self) -> None:
        """Show the HUD until the person leaves with `q` or Ctrl-C; return nothing."""
        if self._asked is not None:
            existing_log(self._path)  # a session that is named has to be there
        console = Console(highlight=False)
        stamp: object = None
        size = console.size
        with closing(self), _single_keys(), Live(console=console, screen=True, auto_refresh=False) as live:
            try:
                while True:
                    now, before = time.monotonic(), stamp
                    stamp = _stamp(self._path)
                    if stamp != before or console.size != size:
                        size = console.size
                        self._read(size.width - 1, first=before is None)
                    self._changed = {line: until for line, until in self._changed.items() if until > now}
                    live.update(self._pane(size.width - 1, size.height), refresh=True)
                    key = self._wait(stamp, bool(self._changed))
                    if key in ("q", "\x04"):
                        return
                    self._scroll(key, size.height)
            except KeyboardInterrupt:
                return

    def close(self) -> None:
        """Close the log; return nothing."""
        if self._hud is not None:
            self._hud.close()
            self._hud = None

    def _wait(self, stamp: object, marked: bool) -> str:
        """Wait for a key, a change of the log, or a mark that has to go; return the key, or an empty text."""
        until = time.monotonic() + (_HIGHLIGHT_SECONDS / 4 if marked else 3600)
        size = os.get_terminal_size(sys.stdout.fileno())
        while time.monotonic() < until and _stamp(self._path) == stamp:
            if select.select([sys.stdin], [], [], _LOOK_SECONDS)[0]:
                return os.read(sys.stdin.fileno(), 16).decode("latin-1")
            if os.get_terminal_size(sys.stdout.fileno()) != size:
                break
        return ""

    def _scroll(self, key: str, height: int) -> None:
        step = {"j": 1, "\x1b[B": 1, "k": -1, "\x1b[A": -1, " ": height // 2, "\x1b[6~": height // 2}.get(key, 0)
        step = -(height // 2) if key in ("b", "\x1b[5~") else step
        room = height - len(self._head) - 2
        self._top = max(0, min(self._top + step, len(self._lines) - room))

    def _read(self, columns: int, *, first: bool) -> None:
        """Read what the log says now; what went wrong stands in the place of the HUD until the log changes."""
        try:
            session = self._session()
            if session is None:
                self._head = [Text(f"There is no session yet in {clip(str(self._path), columns - 30)}", "dim")]
                self._lines = []
                return
            switched, self._followed = session.id != self._followed, session.id
            head, lines = list(_head(session, columns)), _hud_lines(session, columns - _GUTTER)
        except HudkitError as error:
            self.close()  # the log may have been replaced: it is opened again with its next change
            self._head, self._lines = [Text(clip(str(error), columns), "yellow")], []
            return
        if switched:
            self._top, self._changed = 0, {}
        elif not first:
            before = {line.plain for line in self._lines}
            until = time.monotonic() + _HIGHLIGHT_SECONDS
            new = (line.plain for line in lines if line.plain.strip() and line.plain not in before)
            self._changed |= dict.fromkeys(new, until)
        self._head, self._lines = head, lines

    def _session(self) -> HudSession | None:
        if self._hud is None:
            if not self._path.exists():
                return None
            self._hud = Hud(open_log(self._path, read_only=True), settings=self._settings)
        log = self._hud.log
        names = [name for name in log.sessions() if not name.startswith(f"{PROJECT_LOG}@")]
        if not names:
            return None
        if not self._followed:
            self._known = set(names)
            return self._hud.session(_newest(log, self._asked))
        for name in reversed(names) if self._asked is None else ():
            if name in self._known:
                break
            session = self._hud.session(name)
            if not any(link.relation == _PARENT for link in session.state.session.links):
                self._known = set(names)
                return session
        self._known = set(names)
        return self._hud.session(self._followed)

    def _pane(self, columns: int, height: int) -> Group:
        rule = Text("─" * columns, "dim")
        room = max(1, height - len(self._head) - 2)
        shown = self._lines[self._top : self._top + room]
        below = len(self._lines) - self._top - len(shown)
        foot = f"{below} more lines: j, k · q leaves" if below or self._top else "q leaves"
        body = [self._marked(line) for line in shown]
        return Group(*_fitted([*self._head, rule, *body]), Text(clip(foot, columns), "dim"))

    def _marked(self, line: Text) -> Text:
        mark = ("▌ ", "bold yellow") if line.plain in self._changed else (" " * _GUTTER, "")
        return Text.assemble(mark, line)


def _fitted(lines: Sequence[Text]) -> Iterator[Text]:
    """Lines that are never broken: they were made as wide as the pane."""
    for line in lines:
        line = line.copy()
        line.no_wrap, line.overflow = True, "crop"
        yield line


def _stamp(log: Path) -> tuple[object, ...]:
    """What changes with every event: inode, size and time of the log's files; `None` for one that is not there."""
    stamps: list[object] = []
    for suffix in _COMPANIONS:
        try:
            stat = os.stat(f"{log}{suffix}")  # noqa: PTH116 (four times a second)
            stamps.append((stat.st_ino, stat.st_size, stat.st_mtime_ns))
        except OSError:
            stamps.append(None)
    return tuple(stamps)


@contextmanager
def _single_keys() -> Iterator[None]:
    """Take keys one by one, without showing them, while the block runs."""
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    tty.setcbreak(fd)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
