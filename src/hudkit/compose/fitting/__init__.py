"""Fit a tree to a token budget: what is kept is never over it, what is left out is returned.

The objective is lexicographic: the node of the highest priority first, ties in document order; a node that does not
fit is passed over and what still fits behind it is taken (`backfill=False`: nothing behind it is).

How it is done: `plan` finds the candidates and their ranks, `selection` puts them in while they fit, `fitter`
measures the final bytes, mends what differs, and keeps costs and plans from one tree to the next. Each has its idea
and an example at its top. `tracing` explains a fit, also as a page, and `source_spans` finds nodes in the written
text.

Rules

Priority
- a node without `priority` stays as long as its parent does; with one it may be left out;
- a container that holds such nodes is there when one of them is, and costs what it costs without them;
- an `atomic` node, and one that holds no node with a priority, stays or goes whole;
- priorities compare across the whole tree. In `scope="local"` (for all below, until `scope="across"`) a container
  with a priority is compared by it, as one block, and what is in it among itself; one without is transparent;
- elements of one `keep` are in together or not at all: with any node of them, the most important one of each;
  one that is always there takes no part.

Limits
- `limit` is the most that a node may cost, on its final bytes; `isolate` fits it alone in its limit first, so that
  nothing outside has a say in its bytes;
- `<reserve tokens=N>` holds tokens back (`/4`: of the budget), with a priority only if it fits at its turn;
- `truncate` cuts the longest text of a node to its `limit`, and to the room at its turn, the marker included;
- `step` drops the oldest children of a node, what is over at its turn rounded up to whole steps;
- nothing before the last `<break>` is left out or cut to the room: first alternatives, whole nodes.

Alternatives
- `<first>` and `<choice>` keep one child, whole: at the turn of each child (its priority, or that of the tag)
  it replaces one further behind, if there is room. One that costs no less than one before it is never used. Where one
  has no priority and the parent stays, one of them is always in;
- `<default>` shows its last child while nothing of the others is in, or when they say nothing; that child should cost
  less than what it stands in for;
- what has a choice and no priority inherits that of the nearest container that has one, or comes first of all.

Growth
- an element with `grow` is made when all else is in: of an offer of what is left, shared by `basis` among those
  of the greatest `grow`, then the next; `reserve` holds tokens back for it. One without `grow` whose `key` is
  registered is made first, of its share of its container's budget; `expand` offers it what is left once more.

Numbers
- `more` says how many nodes are left out in its container that no `more` below speaks for (nothing while none is);
  its cost is held back until all of them are in;
- in an ordered list what is shown is one run, and its first number is the item's own;
- `measure` is asked for the final tree once more, and the least important node goes until it agrees. Where it says
  less than the sum of the parts, or more, every decision on up to `exact` nodes is made on the final bytes; of more,
  what the final bytes leave room for is filled in a few rounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudkit.lazy import lazy_names

if TYPE_CHECKING:
    from hudkit.compose.fitting.fitter import Fitter, fit
    from hudkit.compose.fitting.result import FitResult, Grow, Measure, Omission
    from hudkit.compose.fitting.source_spans import SourceMap, SourceSpan, source_map
    from hudkit.compose.fitting.tracing import Trace, TraceEntry, trace, trace_page

__all__ = [
    "FitResult",
    "Fitter",
    "Grow",
    "Measure",
    "Omission",
    "SourceMap",
    "SourceSpan",
    "Trace",
    "TraceEntry",
    "fit",
    "source_map",
    "trace",
    "trace_page",
]

# The frame of a session is fitted by its sections alone (`sections`): it needs no fit of any tree.
__getattr__ = lazy_names(
    __name__,
    {
        "fitter": ("Fitter", "fit"),
        "result": ("FitResult", "Grow", "Measure", "Omission"),
        "source_spans": ("SourceMap", "SourceSpan", "source_map"),
        "tracing": ("Trace", "TraceEntry", "trace", "trace_page"),
    },
)
