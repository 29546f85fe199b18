"""The tools of the agent: operations behind the routers `hud` and `memory`, one definition per operation.

Importing a module of operations enters them into the tables of `operation.py`; the order below is the order in which
help and the reference list them. A new module is one more line here.
"""

# isort: off
from hudkit.tools import task as task
from hudkit.tools import constraints as constraints
from hudkit.tools import blockers as blockers
from hudkit.tools import steps as steps
from hudkit.tools import todos as todos
from hudkit.tools import decisions as decisions
from hudkit.tools import shared as shared
from hudkit.tools import errors as errors
from hudkit.tools import notes as notes
from hudkit.tools import files as files
from hudkit.tools import progress as progress
from hudkit.tools import compacted as compacted
from hudkit.tools import project as project
from hudkit.tools import custom as custom
from hudkit.tools import window as window
from hudkit.tools import pruned as pruned
from hudkit.tools import whole as whole
from hudkit.tools import past as past
from hudkit.tools import undo as undo
from hudkit.tools import sessions as sessions
from hudkit.tools import transcripts as transcripts
from hudkit.tools import portable as portable
from hudkit.tools import resume as resume
from hudkit.tools import help as help

# isort: on
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
