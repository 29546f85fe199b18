"""What agents can do: every action, judged from the identity of who acts, never from what it says of itself."""

from hudkit.rooms.actions import agent_actions, room_actions  # importing them fills ACTIONS
from hudkit.rooms.actions.action import ACTIONS, Action, ActionContext
from hudkit.rooms.actions.execute import evaluate_action, execute_reply
from hudkit.rooms.actions.room_actions import mentioned_agents

__all__ = [
    "ACTIONS",
    "Action",
    "ActionContext",
    "agent_actions",
    "evaluate_action",
    "execute_reply",
    "mentioned_agents",
    "room_actions",
]
