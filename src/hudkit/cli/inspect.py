"""`hudkit inspect`: pages on coding sessions, on a port of this machine, opened by a link that works once."""

from __future__ import annotations

import argparse
import asyncio
import signal
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from hudkit.agent.session_transcript import session_sources
from hudkit.api import Hud
from hudkit.cli.common import (
    existing_log,
    log_to_stderr,
    open_read_only,
    progress_bar,
    user_settings,
)
from hudkit.cli.demo import ORCHARD_WINDOW, unpack_orchard
from hudkit.cli.replays.known_histories import HistoryFolder, find_history
from hudkit.cli.replays.recorded_log import write_recorded_log
from hudkit.errors import ConfigError
from hudkit.inspector.inspected_log import InspectedLog
from hudkit.inspector.server import serve_inspector
from hudkit.log.stores import open_log
from hudkit.paths import index_path
from hudkit.transcripts import OpenCodeTranscript, OwnTranscript, Transcript
from hudkit.transcripts.jsonl_transcript import JsonlTranscript
from hudkit.transcripts.search import PastSessions, open_past_sessions
from hudkit.transcripts.transcript_follower import dialect_of
from hudkit.web.page_guard import loopback_address

_WORDS = """\
Open this link; it works once:

  {link}

The pages read the log, and change nothing. Ctrl-C ends them."""


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    loopback_address(args.host)
    if not 0 <= args.port <= 65535:
        raise ConfigError(f"--port {args.port} is not a port", hint="1 to 65535; 0 for one that is free")
    log_to_stderr()
    with _opened(args) as (hud, past, recording):

        def say(link: str) -> None:
            print(_WORDS.format(link=link), flush=True)
            if args.open:
                webbrowser.open(link)

        inspected = InspectedLog(hud, past, recording)
        try:
            asyncio.run(_serve_until_signal(inspected, args, say))
        finally:
            inspected.close()
    return 0


async def _serve_until_signal(inspected: InspectedLog, args: argparse.Namespace, say: Callable[[str], None]) -> None:
    """Serve until Ctrl-C or the end of the terminal; both end it orderly, and with them a recording's log."""
    end = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end.set)
    await serve_inspector(inspected, host=args.host, port=args.port, end=end.wait(), say=say)


@contextmanager
def _opened(args: argparse.Namespace) -> Iterator[tuple[Hud, PastSessions, str]]:
    """The log that is inspected, the transcripts beside it, and the recording of which it is a replay, or nothing."""
    if args.demo or args.replay is not None:
        with _recording(args) as opened:
            yield opened
        return
    with open_read_only(args.db, "inspect") as hud:
        log = existing_log(args.db)
        # Nothing is written by looking: `hudkit memory index` brings the index up to date.
        past = open_past_sessions(index_path(log), also=(*session_sources(log), OwnTranscript(hud.log)), eager=False)
        try:
            yield hud, past, ""
        finally:
            past.close()


def _transcript_of(file: Path, history: HistoryFolder | None) -> AbstractContextManager[Transcript]:
    """The transcript of OpenCode's database, or of the sessions of another host."""
    if history is None:
        return OpenCodeTranscript.open(file)
    return closing(JsonlTranscript.open(history.root, dialect_of(history.host)[0]))


@contextmanager
def _recording(args: argparse.Namespace) -> Iterator[tuple[Hud, PastSessions, str]]:
    """A recorded history as a log of its own, which is gone when the pages are closed."""
    with TemporaryDirectory(prefix="hudkit-") as name:
        folder = Path(name)
        file = unpack_orchard(folder) if args.demo else args.replay
        path, window = folder / "hudkit.db", args.window or (ORCHARD_WINDOW if args.demo else None)
        history = None if args.demo else find_history(file)
        host = "opencode" if history is None else history.host
        with _transcript_of(file, history) as transcript, progress_bar() as progress:
            write_recorded_log(transcript, path, window=window, progress=progress)
        # This recording alone, and nothing else of the user's.
        opencode, claude, codex, pi = (
            file if host == name else folder / "nowhere" for name in ("opencode", "claude-code", "codex", "pi")
        )
        past = open_past_sessions(index_path(path), opencode=opencode, claude=claude, codex=codex, pi=pi, eager=False)
        past.update()
        try:
            with Hud(open_log(path, read_only=True), settings=user_settings("inspect")) as hud:
                yield hud, past, str(file.absolute())
        finally:
            past.close()
