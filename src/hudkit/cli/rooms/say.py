"""`hudkit rooms say`: a person's word in a room, also while another process plays the world."""

from __future__ import annotations

import argparse

from hudkit.cli import CliCommand
from hudkit.cli.common import SCHEMA, as_json
from hudkit.cli.rooms import world_argument
from hudkit.cli.rooms.worlds import agent_of, picked, time_of, whole_number, with_patience
from hudkit.compose import visible
from hudkit.rooms.architect import Architect
from hudkit.rooms.world_log import WorldLog


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("room", metavar="ROOM", help="whose room: the agent's number or name")
    parser.add_argument("text", metavar="TEXT", help="what to say")
    parser.add_argument(
        "--reply-to", type=whole_number, metavar="ID", help="the number of the message that this answers"
    )
    world_argument(parser)


def _run(args: argparse.Namespace) -> int:
    with WorldLog.open(picked(args.world)) as world_log:
        room = agent_of(world_log.world, args.room)
        architect = Architect(world_log, lambda: time_of(world_log.world))
        number = with_patience(lambda: architect.say(room.id, args.text, args.reply_to))
        facts = {"message": number, "room": room.id, "seq": world_log.world.seq}
    if args.json:
        print(as_json({"schema": SCHEMA, **facts}))
    else:
        print(visible(f"#{number} in the room of {room.name} ({room.id})"))
    return 0


COMMAND = CliCommand("hudkit rooms say Maren 'Who remembers the old harbour?'", _arguments, _run)
