"""`hudkit rooms say`: a person's word in a room, also while another process plays the world."""

from __future__ import annotations

import argparse

from hudkit.cli.common import SCHEMA, as_json
from hudkit.cli.rooms.worlds import agent_of, picked, time_of, with_patience
from hudkit.compose import visible
from hudkit.rooms.architect import Architect
from hudkit.rooms.world_log import WorldLog


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
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
