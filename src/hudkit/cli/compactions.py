"""`hudkit compactions`: what each compaction of a session dropped and kept, and how to take one back."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from hudkit.cli import complain
from hudkit.cli.place import SCHEMA, as_json, log_arguments, open_read_only, pick, there
from hudkit.context.compaction.receipts import CoveredRange, Receipt, covered_range, read_receipts
from hudkit.errors import ConfigError, HostError, HudkitError
from hudkit.hosts.opencode.revert_client import DEFAULT_SERVER
from hudkit.paths import index_path
from hudkit.tools.transcript_text import host_session_id

if TYPE_CHECKING:
    from hudkit.api import HudSession
    from hudkit.transcripts import Message

EXAMPLE = "hudkit compactions show 2 --session ses_1"

MORE = """\
Without words: a list. `show N` tells all of one, its summary included; `diff N` what the model had before and has
after, a line a message; `undo N` what taking it back would do, and with `--yes` asks a running OpenCode to do it
(`opencode serve` in the project; its address is `--server`, its password `OPENCODE_SERVER_PASSWORD`). With `--turn`
the turn that filled the window is taken back too: else OpenCode compacts again at once where it did so alone. With
`--fork` a copy of the session goes on from before the compaction, and the session itself stays as it is.
OpenCode's database is never written. Tokens by part are estimates; what the host reported is said so."""

ACTIONS = ("list", "show", "diff", "undo")


def arguments(one: argparse.ArgumentParser) -> None:
    one.add_argument("action", nargs="?", choices=ACTIONS, default="list", metavar="ACTION", help=", ".join(ACTIONS))
    one.add_argument("number", nargs="?", type=int, metavar="N", help="which one, counted from 1 (default: the last)")
    one.add_argument("--session", metavar="ID", help="a session's id, or a part of it (default: the newest)")
    one.add_argument("--opencode", type=Path, metavar="FILE", help="OpenCode's database, where it is elsewhere")
    one.add_argument(
        "--server", metavar="URL", default=DEFAULT_SERVER, help=f"undo: OpenCode's (default: {DEFAULT_SERVER})"
    )
    one.add_argument("--turn", action="store_true", help="undo: the turn that filled the window, too")
    one.add_argument("--fork", action="store_true", help="undo: in a copy of the session")
    one.add_argument("--yes", action="store_true", help="undo: do it")
    log_arguments(one)


def run(given: argparse.Namespace) -> int:
    from hudkit.cli import receipts as written

    with open_read_only(given.db, "compactions") as hud:
        session = hud.session(pick(hud.log, given.session))
        found = read_receipts(session.events(), session.state_at)
        frees = hud.settings.compaction.min_freed_percent
        if given.action == "list":
            facts = {"session": session.id, "compactions": [written.facts(one, None, frees) for one in found]}
            print(as_json({"schema": SCHEMA, **facts}) if given.json else written.listing(session.id, found, frees))
            return 0
        receipt = _chosen(found, given.number)
        messages = _messages(session, given)
        seen = covered_range(receipt, messages)
        if given.action == "undo":
            return _undo(session, receipt, seen, messages, given)
        if given.json:
            told = written.facts(receipt, seen, frees) | {"session": session.id, "summary": receipt.summary}
            print(as_json({"schema": SCHEMA, **told}))
        elif given.action == "diff":
            print(written.diff(receipt, seen))
        else:
            print(written.whole(host_session_id(session), receipt, seen, frees))
        return 0


def _chosen(found: tuple[Receipt, ...], number: int | None) -> Receipt:
    """The one that is meant; the last, where none is named. Raises `ConfigError`."""
    if not found:
        raise ConfigError("this session was not compacted", hint="Name another with --session")
    if number is not None and not 1 <= number <= len(found):
        raise ConfigError(f"there is no compaction {number}", hint=f"They are 1 to {len(found)}")
    return found[number - 1] if number is not None else found[-1]


def _messages(session: HudSession, given: argparse.Namespace) -> tuple[Message, ...]:
    """The host's messages of a session; none where they cannot be read, which is said."""
    from hudkit.transcripts.search import open_past_sessions

    if given.opencode is not None and not given.opencode.exists():
        raise ConfigError(f"there is nothing at {given.opencode}", hint="Name OpenCode's database, or leave it out")
    past = open_past_sessions(index_path(there(given.db)), opencode=given.opencode)
    try:
        return tuple(past.messages(host_session_id(session)))
    except HudkitError as error:
        complain("compactions", f"the messages cannot be told: {error}")
        return ()
    finally:
        past.close()


def _undo(
    session: HudSession,
    receipt: Receipt,
    seen: CoveredRange | None,
    messages: tuple[Message, ...],
    given: argparse.Namespace,
) -> int:
    from hudkit.cli import receipts as written
    from hudkit.hosts.opencode.revert_client import check_session as answers
    from hudkit.hosts.opencode.revert_client import fork_session, revert_session

    id = host_session_id(session)
    if session.state.session.host not in ("", "opencode"):
        raise ConfigError("only OpenCode can take a compaction back", hint="`memory messages` reads what it dropped")
    if receipt.undone or seen is None:
        why = "was taken back already" if receipt.undone else "is not in OpenCode's messages (any more)"
        raise ConfigError(f"compaction {receipt.number} {why}", hint="`hudkit compactions` lists them")
    at = _turn(receipt, messages) if given.turn else receipt.marker
    planned = written.plan(id, receipt, seen, at, turn=given.turn, fork=given.fork, server=given.server)
    if not given.yes:
        facts = {"session": id, "number": receipt.number, "message": at, "done": False}
        print(as_json({"schema": SCHEMA, **facts, "plan": planned}) if given.json else planned)
        return 0
    try:
        answers(given.server, id)
        other = fork_session(given.server, id, at) if given.fork else ""
        if not given.fork:
            revert_session(given.server, id, at)
    except HostError:
        if not given.json:
            print(written.by_hand(id, at, session.state.session.directory, fork=given.fork))
        raise
    done = {"session": other or id, "number": receipt.number, "message": at, "done": True}
    print(as_json({"schema": SCHEMA, **done}) if given.json else written.undone(id, other, receipt, given.server))
    return 0


def _turn(receipt: Receipt, messages: tuple[Message, ...]) -> str:
    """The user's message that began the turn in which the compaction came. Raises `ConfigError`."""
    from hudkit.transcripts import TextPart

    place = next((n for n, one in enumerate(messages) if one.id == receipt.marker), 0)
    for one in reversed(messages[:place]):
        if one.role == "user" and any(isinstance(part, TextPart) and not part.synthetic for part in one.parts):
            return one.id
    raise ConfigError("there is no message of the user before this compaction", hint="Leave out --turn")
