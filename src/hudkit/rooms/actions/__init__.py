"""What agents can do: every action, judged from the identity of who acts, never from what it says of itself."""

from hudkit.rooms.actions import access, making, memory, messaging, own_room, personal
from hudkit.rooms.actions.action import ACTIONS, Action, Turn
from hudkit.rooms.actions.carrying import carry_out, judge
from hudkit.rooms.actions.mentions import mentioned

__all__ = [
    "ACTIONS",
    "Action",
    "Turn",
    "access",
    "carry_out",
    "judge",
    "making",
    "memory",
    "mentioned",
    "messaging",
    "own_room",
    "personal",
]
