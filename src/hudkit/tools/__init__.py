"""The tools of the agent: operations behind the routers `hud` and `memory`, one definition per operation.

Importing a module of operations enters them into the tables of `operation.py`; the order below is the order in which
help and the reference list them. A new module is one more line here.
"""

# isort: off
from hudkit.tools import task as task
from hudkit.tools import constraints as constraints
from hudkit.tools import preferences as preferences
from hudkit.tools import blockers as blockers
from hudkit.tools import steps as steps
from hudkit.tools import todos as todos
from hudkit.tools import recent as recent
from hudkit.tools import decisions as decisions
from hudkit.tools import subagents as subagents
from hudkit.tools import shared as shared
from hudkit.tools import errors as errors
from hudkit.tools import notes as notes
from hudkit.tools import files as files
from hudkit.tools import progress as progress
from hudkit.tools import compacted as compacted
from hudkit.tools import project as project
from hudkit.tools import custom as custom
from hudkit.tools import window_usage as window_usage
from hudkit.tools import pruned_output as pruned_output
from hudkit.tools import state_ops as state_ops
from hudkit.tools import history as history
from hudkit.tools import sessions as sessions
from hudkit.tools import transcripts as transcripts
from hudkit.tools import export_import as export_import
from hudkit.tools import resume_task as resume_task
from hudkit.tools import help as help

# isort: on
from hudkit.tools.arguments import operation_schema
from hudkit.tools.definitions import DEFINITIONS
from hudkit.tools.operation import ALIASES, OPERATIONS, Operation, OperationAlias, OperationResult
from hudkit.tools.routers import RouterReply, call, reply, route
from hudkit.tools.spellings import is_operation_name, resolve_operation

__all__ = [
    "ALIASES",
    "DEFINITIONS",
    "OPERATIONS",
    "Operation",
    "OperationAlias",
    "OperationResult",
    "RouterReply",
    "call",
    "is_operation_name",
    "operation_schema",
    "reply",
    "resolve_operation",
    "route",
]
