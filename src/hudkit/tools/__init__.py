"""The tools of the agent: operations behind the routers `hud` and `memory`, one definition per operation."""

from hudkit.tools.operation import ALIASES, OPERATIONS, Alias, Answer, Operation
from hudkit.tools.routers import DEFINITIONS, Reply, call, reply, route
from hudkit.tools.schema import schema

__all__ = [
    "ALIASES",
    "DEFINITIONS",
    "OPERATIONS",
    "Alias",
    "Answer",
    "Operation",
    "Reply",
    "call",
    "reply",
    "route",
    "schema",
]
