"""`hudkit compactions`: what each compaction of a session dropped and kept, and how to take one back."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from hudkit.cli import CliCommand, complain
from hudkit.cli.common import SCHEMA, as_json, log_arguments, open_read_only, pick, there
from hudkit.context.compaction.receipts import CoveredRange, Receipt, covered_range, read_receipts
from hudkit.errors import ConfigError, HostError, HudkitError
from hudkit.hosts.opencode.revert_client import DEFAULT_SERVER
from hudkit.paths import index_path
from hudkit.tools.transcript_text import host_session_id

if TYPE_CHECKING:
    from hudkit.api import HudSession
    from hudkit.transcripts import Message

_DETAILS = """\
Without an action: a list. `show N` shows one in full, with its summary; `diff N` compares what the model had before
and after, one line per message; `undo N` says what undoing it would do, and with `--yes` asks a running OpenCode to
do it (`opencode serve` in the project; `--server` is its address, `OPENCODE_SERVER_PASSWORD` its password). With
`--turn`, the turn that filled the window is undone too; otherwise OpenCode, if it compacted by itself, compacts again
at once. With `--fork`, a copy of the session continues from before the compaction, and the session itself stays as it
is. OpenCode's database is never written. Tokens by part are estimates; figures that the host reported are marked."""

ACTIONS = ("list", "show", "diff", "undo")


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", choices=ACTIONS, default="list", metavar="ACTION", help=", ".join(ACTIONS)
    )
    parser.add_argument(
        "number", nargs="?", type=int, metavar="N", help="which one, counted from 1 (default: the last)"
    )
    parser.add_argument("--session", metavar="ID", help="a session's id, or a part of it (default: the newest)")
    parser.add_argument(
        "--opencode", type=Path, metavar="FILE", help="OpenCode's database, if it is not in its usual place"
    )
    parser.add_argument(
        "--server",
        metavar="URL",
        default=DEFAULT_SERVER,
        help=f"undo: OpenCode's address (default: {DEFAULT_SERVER})",
    )
    parser.add_argument("--turn", action="store_true", help="undo: also the turn that filled the window")
    parser.add_argument("--fork", action="store_true", help="undo: in a copy of the session")
    parser.add_argument("--yes", action="store_true", help="undo: really do it")
    log_arguments(parser)


def _run(args: argparse.Namespace) -> int:
    from hudkit.cli import receipts as written

    with open_read_only(args.db, "compactions") as hud:
        session = hud.session(pick(hud.log, args.session))
        receipts = read_receipts(session.events(), session.state_at)
        frees = hud.settings.compaction.min_freed_percent
        if args.action == "list":
            facts = {
                "session": session.id,
                "compactions": [written.facts(receipt, None, frees) for receipt in receipts],
            }
            print(as_json({"schema": SCHEMA, **facts}) if args.json else written.listing(session.id, receipts, frees))
            return 0
        receipt = _chosen(receipts, args.number)
        messages = _messages(session, args)
        seen = covered_range(receipt, messages)
        if args.action == "undo":
            return _undo(session, receipt, seen, messages, args)
        if args.json:
            facts = written.facts(receipt, seen, frees) | {"session": session.id, "summary": receipt.summary}
            print(as_json({"schema": SCHEMA, **facts}))
        elif args.action == "diff":
            print(written.diff(receipt, seen))
        else:
            print(written.whole(host_session_id(session), receipt, seen, frees))
        return 0


COMMAND = CliCommand(
    example="hudkit compactions show 2 --session ses_1",
    details=_DETAILS,
    arguments=_arguments,
    run=_run,
)


def _chosen(receipts: tuple[Receipt, ...], number: int | None) -> Receipt:
    """The one that is meant; the last, where none is named. Raises `ConfigError`."""
    if not receipts:
        raise ConfigError("this session was not compacted", hint="Name another with --session")
    if number is not None and not 1 <= number <= len(receipts):
        raise ConfigError(f"there is no compaction {number}", hint=f"They are 1 to {len(receipts)}")
    return receipts[number - 1] if number is not None else receipts[-1]


def _messages(session: HudSession, args: argparse.Namespace) -> tuple[Message, ...]:
    """The host's messages of a session; none where they cannot be read, which is said."""
    from hudkit.transcripts.search import open_past_sessions

    if args.opencode is not None and not args.opencode.exists():
        raise ConfigError(f"there is nothing at {args.opencode}", hint="Name OpenCode's database, or leave it out")
    past = open_past_sessions(index_path(there(args.db)), opencode=args.opencode)
    try:
        return tuple(past.messages(host_session_id(session)))
    except HudkitError as error:
        complain("compactions", f"the messages cannot be read: {error}")
        return ()
    finally:
        past.close()


def _undo(
    session: HudSession,
    receipt: Receipt,
    seen: CoveredRange | None,
    messages: tuple[Message, ...],
    args: argparse.Namespace,
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
    message_id = _turn(receipt, messages) if args.turn else receipt.marker
    planned = written.plan(id, receipt, seen, message_id, turn=args.turn, fork=args.fork, server=args.server)
    if not args.yes:
        facts = {"session": id, "number": receipt.number, "message": message_id, "done": False}
        print(as_json({"schema": SCHEMA, **facts, "plan": planned}) if args.json else planned)
        return 0
    try:
        answers(args.server, id)
        other = fork_session(args.server, id, message_id) if args.fork else ""
        if not args.fork:
            revert_session(args.server, id, message_id)
    except HostError:
        if not args.json:
            print(written.by_hand(id, message_id, session.state.session.directory, fork=args.fork))
        raise
    done = {"session": other or id, "number": receipt.number, "message": message_id, "done": True}
    print(as_json({"schema": SCHEMA, **done}) if args.json else written.undone(id, other, receipt, args.server))
    return 0


def _turn(receipt: Receipt, messages: tuple[Message, ...]) -> str:
    """The user's message that began the turn in which the compaction came. Raises `ConfigError`."""
    from hudkit.transcripts import TextPart

    place = next((n for n, message in enumerate(messages) if message.id == receipt.marker), 0)
    for message in reversed(messages[:place]):
        if message.role == "user" and any(
            isinstance(part, TextPart) and not part.synthetic for part in message.parts
        ):
            return message.id
    raise ConfigError("there is no user message before this compaction", hint="Leave out --turn")
