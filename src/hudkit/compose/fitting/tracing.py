"""Explain a fit: what was kept, at which density, what was left out and why, and what would bring it back.

The idea: nobody can say from one fit how many tokens more bring a node back, because more room may first let in
something else that takes it again. So the tree is fitted at every budget at which anything changes. Each fit notes
its shortfall, the least number of tokens more at which one of its decisions would be another one; that is the next
budget to look at, and the walk ends when nothing is short. Costs are remembered, so most of these fits measure one
tree.

An example, one token a word: "retry uploads" is required, n1 (priority 5) and n2 (priority 4) have four words each.
At a budget of 2 the shortfall is 4, at 6 it is 4 again, at 10 it is 0. The states are 2, 6 and 10, and at a budget of
7 the trace says of n2 that it is in with 3 tokens more.

`trace_page` shows a trace as one HTML page: a slider over the budgets, what is in and what is not, and the text as it
would be sent. The page holds every fit that differs as data, and loads nothing; what a tree says is set as text,
never as markup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from hudkit.compose.fitting.atomic import path_name
from hudkit.compose.fitting.candidates import (
    AlternativeGroup,
    Container,
    FitCandidate,
    FlexibleCandidate,
    GrowingElement,
    alternative_name,
)
from hudkit.compose.fitting.fitter import Fitter
from hudkit.compose.fitting.plan import FitPlan
from hudkit.compose.fitting.result import FitResult, Grow, Measure
from hudkit.compose.nodes import Element, text_of
from hudkit.errors import BudgetError

_MAX_STATES = 400
"""Budgets that are looked at one by one; of more, so many at equal distances. A page with more would be too large."""

_MAX_LEAST_BUDGETS = 64
"""How often a budget is raised to what its error says is needed. Each round settles one limit further in."""

_MAX_DOUBLINGS = 40
"""Doublings of a step in the search for a budget that is enough: 2**40 tokens are more than any tree has."""

_SUMMARY_CHARS = 58
"""Characters of a node's text in a line for people."""


class TraceEntry(msgspec.Struct, frozen=True):
    """One node of a trace, in document order; `depth` counts the containers that it is in.

    `kind` is `box` (a container), `always` (no priority), `node`, `choice`, `flexible` or `grow`. `present` says
    whether it is in, `density` which alternative was taken, `tokens` what it costs by itself, `text` what it says, as
    it is in where it is, and `reason` why it is not in, or not as it is meant.
    """

    path: str
    depth: int
    kind: str
    present: bool
    tokens: int
    text: str
    priority: float | None = None
    density: str = ""
    reason: str = ""


class Trace:
    """A fit with its reasons: `result` is the fit, `entries` its nodes."""

    def __init__(self, tree: Element, budget: int, fitter: Fitter) -> None:
        self.tree = tree
        self.budget = budget
        self._fitter = fitter
        self.result: FitResult
        self.result, plan = fitter.fit_with_plan(tree, budget)
        self.entries: tuple[TraceEntry, ...] = tuple(_container_entries(plan.root, plan, budget, 0))
        self._states: tuple[Trace, ...] | None = None

    def at(self, budget: int) -> Trace:
        """Return the trace of the same tree at another budget; cheap. Raises `BudgetError` where nothing fits."""
        return Trace(self.tree, budget, self._fitter)

    def tokens_lacking(self, index: int) -> int | None:
        """Return the tokens that the budget lacks for `entries[index]` to be in as it is meant.

        As it is meant: of alternatives the first, of a long text the whole. 0 where it is, `None` where it never is.
        True of every tree; the least such number where at most 400 budgets matter.
        """
        # This state first: beyond 400 budgets the states are samples, and may pass over the present budget.
        for state in (self, *self.states()):
            entry = state.entries[index]
            if state.budget >= self.budget and entry.present and not entry.reason:
                return state.budget - self.budget
        return None

    def states(self) -> tuple[Trace, ...]:
        """Return the fits at the budgets where something changes, from the least budget at which there is one."""
        if self._states is None:
            self._states = tuple(_find_states(self))
        return self._states

    def text(self) -> str:
        """Return the trace for people: a line for each node; `+` in, `-` left out, `~` in part."""
        head = f"{self.result.tokens} of {self.budget} tokens"
        if self.result.reserved:
            head += f", {self.result.reserved} reserved"
        lines = [_entry_line(index, entry, self) for index, entry in enumerate(self.entries)]
        return "\n".join((head, *lines)) + "\n"


def trace(
    tree: Element,
    budget: int,
    measure: Measure,
    *,
    backfill: bool = True,
    grow: Mapping[str, Grow] | None = None,
) -> Trace:
    """Fit a tree, as `fit` does, and return the fit with its reasons. Raises `BudgetError` where nothing fits."""
    return Trace(tree, budget, Fitter(measure, backfill=backfill, grow=grow, one_by_one=True))


def _container_entries(container: Container, plan: FitPlan, budget: int, depth: int) -> Iterator[TraceEntry]:
    fallback = container.fallback
    present = container.present or (fallback is not None and fallback.present)
    reason = "" if present else container.exclusion
    title = str(container.element.get("title", ""))
    priority = container.element.get("priority")
    yield TraceEntry(container.path or "/", depth, "box", present, container.cost, title, priority, reason=reason)
    for part in container.parts:
        if isinstance(part, Container):
            yield from _container_entries(part, plan, budget, depth + 1)
        elif isinstance(part, Element):
            if part.tag not in ("break", "more"):
                path = f"{container.path}/{path_name(part)}"
                cost = plan.measures.measure(part)
                yield TraceEntry(path, depth + 1, "always", container.present, cost, _lines_of(part))
        elif not isinstance(part, str):
            yield _decision_entry(part, budget, depth + 1)
    if fallback is not None:
        shown = fallback.selected and not container.selected_parts
        text = _lines_of(fallback.element)
        yield TraceEntry(fallback.label, depth + 1, "node", shown, fallback.cost, text, density="fallback")


def _decision_entry(part: FitCandidate | AlternativeGroup | GrowingElement, budget: int, depth: int) -> TraceEntry:
    omissions = part.omissions(budget)
    reason = omissions[0].reason if omissions else ""
    if isinstance(part, AlternativeGroup):
        return _group_entry(part, reason, depth)
    if isinstance(part, GrowingElement):
        text = _lines_of(part.current) if part.current is not None else ""
        return TraceEntry(part.label, depth, "grow", part.present, part.offer, text, reason=reason)
    kind, element = "node", part.element
    if isinstance(part, FlexibleCandidate):
        kind, element = "flexible", part.current or part.element
    text, priority = _lines_of(element), _priority(part)
    return TraceEntry(part.label, depth, kind, part.present, part.cost, text, priority, "", reason)


def _group_entry(group: AlternativeGroup, reason: str, depth: int) -> TraceEntry:
    if not group.alternatives:  # each of them breaks a limit of its own
        return TraceEntry(group.label, depth, "choice", False, 0, "", None, "", reason)
    preferred = group.alternatives[0]
    shown = group.current or preferred
    density = alternative_name(group.current) if group.current else ""
    text, priority = _lines_of(shown.element), _priority(preferred)
    return TraceEntry(group.label, depth, "choice", group.present, shown.cost, text, priority, density, reason)


def _lines_of(element: Element) -> str:
    """Return what an element says, a line for each element that holds text."""
    if any(isinstance(child, str) for child in element.children):
        return text_of(element)
    lines = [str(element.get("title", ""))]
    lines += [_lines_of(child) for child in element.children if isinstance(child, Element)]
    return "\n".join(filter(None, lines))


def _priority(candidate: FitCandidate) -> float | None:
    priority = -candidate.rank[-2]  # behind it is only the running number
    return None if priority == float("inf") else priority


def _find_states(start: Trace) -> Iterator[Trace]:
    """Yield the fits that differ, from the least budget to the one at which everything is in."""
    least = _at_least_budget(start)
    if least is None:
        return
    states = [least]
    current = least
    # Beyond a limit of the whole tree no budget changes anything, however short it is.
    limit = start.tree.get("limit", float("inf"))
    while current.result.shortfall and current.budget < limit and len(states) < _MAX_STATES:
        current = current.at(current.budget + current.result.shortfall)
        last = states[-1].result
        if current.result.tree != last.tree or current.result.omitted != last.omitted:
            states.append(current)
    if current.result.shortfall and current.budget < limit:
        # There are more than can be shown: the whole range in equal steps instead of its beginning alone.
        width = _at_enough(current).budget - least.budget
        budgets = [least.budget + width * n // (_MAX_STATES - 1) for n in range(_MAX_STATES)]
        states = [least.at(budget) for budget in budgets]
    yield from states


def _at_least_budget(start: Trace) -> Trace | None:
    """Return the trace at the least budget at which there is one, `None` where a limit in the tree is too small."""
    budget = 0
    for _ in range(_MAX_LEAST_BUDGETS):
        try:
            return start.at(budget)
        except BudgetError as error:
            need = error.details.get("need")
            limit = error.details.get("limit")
            if not isinstance(need, int) or limit != budget or need <= budget:
                return None
            budget = need
    return None


def _at_enough(start: Trace) -> Trace:
    """Return the trace at a budget at which nothing is short."""
    state, step = start, max(1, start.budget)
    for _ in range(_MAX_DOUBLINGS):
        state = start.at(start.budget + step)
        if not state.result.shortfall:
            break
        step *= 2
    return state


def _entry_line(index: int, entry: TraceEntry, whole: Trace) -> str:
    mark = "-"
    if entry.present:
        mark = "~" if entry.reason else "+"
    priority = "" if entry.priority is None else f" @{entry.priority:g}"
    density = f" [{entry.density}]" if entry.density else ""
    text = " ".join(entry.text.split())
    if len(text) > _SUMMARY_CHARS:
        text = f"{text[: _SUMMARY_CHARS - 1]}…"
    indent = "  " * entry.depth
    line = f"{mark} {indent}{entry.path}{priority}{density} ({entry.tokens}) {text}".rstrip(" ")
    if not entry.reason:
        return line
    lacking = whole.tokens_lacking(index)
    outlook = "; never at any budget" if lacking is None else f"; in with {lacking} more"
    return f"{line}\n  {indent}  {entry.reason}{outlook}"


# In one file and without anything to load: a page is sent by mail or kept as an artifact of a build.
_STYLE = """
:root{color-scheme:light dark;--ink:#1c2024;--soft:#60646c;--line:#d9d9e0;--paper:#fff;--wash:#f6f7f9;--in:#2b7a4b;
--part:#a15c00;--out:#9a9ea6;--accent:#3355cc}
@media(prefers-color-scheme:dark){:root{--ink:#edeef0;--soft:#a5abb5;--line:#363a3f;--paper:#18191b;--wash:#202225;
--in:#5bc98a;--part:#f0a94a;--out:#6b7078;--accent:#8aa4ff}}
*{box-sizing:border-box}
body{margin:0;font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
header{position:sticky;top:0;z-index:1;
padding:14px 24px 12px;background:var(--wash);border-bottom:1px solid var(--line)}
h1{margin:0 0 8px;font-size:17px;font-weight:650}
.row{display:flex;gap:16px;align-items:center;flex-wrap:wrap}
input[type=range]{flex:1;min-width:220px;accent-color:var(--accent)}
.num{font-variant-numeric:tabular-nums;white-space:nowrap}
.num b{font-size:19px}
.soft{color:var(--soft)}
button{font:inherit;padding:3px 10px;border:1px solid var(--line);border-radius:6px;
background:var(--paper);color:inherit;cursor:pointer}
button:hover{border-color:var(--accent)}
.gauge{height:6px;border-radius:3px;background:var(--line);overflow:hidden;margin-top:10px;display:flex}
.gauge i{display:block;background:var(--in)}
.gauge u{display:block;background:var(--part)}
main{display:grid;grid-template-columns:minmax(0,3fr) minmax(0,2fr);gap:24px;padding:18px 24px 60px}
main.one{grid-template-columns:minmax(0,1fr)}
h2{margin:0 0 8px;font-size:13px;letter-spacing:.04em;text-transform:uppercase;color:var(--soft);font-weight:600}
ol{list-style:none;margin:0;padding:0}
li{padding:4px 10px 4px 12px;margin:2px 0;border-left:3px solid var(--in);border-radius:2px;background:var(--wash)}
li.part{border-color:var(--part)}
li.out{border-color:var(--line);background:none;color:var(--out)}
li.out .text{text-decoration:line-through;text-decoration-color:var(--line)}
li.box{background:none}
li.now{outline:1px solid var(--accent)}
.head{display:flex;gap:10px;align-items:baseline}
.head code{font-size:12.5px;overflow-wrap:anywhere}
.head .num{margin-left:auto;font-size:12.5px}
.tag{font-size:11.5px;padding:0 6px;border:1px solid var(--line);border-radius:9px;color:var(--soft);
white-space:nowrap}
.text{font-size:13.5px;display:-webkit-box;-webkit-line-clamp:2;-webkit-box-orient:vertical;overflow:hidden;
overflow-wrap:anywhere;white-space:pre-wrap}
li.wide .text{-webkit-line-clamp:none}
.why{font-size:12.5px;color:var(--part)}
pre{margin:0;padding:14px;background:var(--wash);border:1px solid var(--line);border-radius:8px;
font-size:13px;line-height:1.45;
white-space:pre-wrap;overflow-wrap:anywhere;position:sticky;top:128px;max-height:calc(100vh - 150px);overflow:auto}
@media(max-width:800px){main{grid-template-columns:minmax(0,1fr)}pre{position:static;max-height:none}}
"""

_SCRIPT = """
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const byId = id => document.getElementById(id);
const states = data.states, nodes = data.nodes, slider = byId('slider');
const make = (tag, name, text) => {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text !== undefined) element.textContent = text;
  return element;
};
const rows = nodes.map((node, n) => {
  const row = make('li'), head = make('div', 'head'), tag = make('span', 'tag'), cost = make('span', 'num soft');
  row.style.marginLeft = node.d * 18 + 'px';
  head.append(make('code', '', node.l));
  if (node.p !== null) head.append(make('span', 'tag', 'priority ' + +node.p.toFixed(2)));
  head.append(tag, cost);
  const text = make('div', 'text'), why = make('div', 'why');
  row.append(head, text, why);
  row.onclick = () => row.classList.toggle('wide');
  byId('nodes').append(row);
  return {row, tag, cost, text, why};
});
const plural = (n, word) => n + ' ' + word + (n === 1 ? '' : 's');
function whole(n, from) {
  for (let k = from; k < states.length; k++) if (states[k].s[n] === '1') return states[k].b - states[from].b;
  return null;
}
let shown = -1;
function show(place) {
  const state = states[place], before = shown < 0 ? null : states[shown].s;
  shown = place;
  slider.value = place;
  slider.setAttribute('aria-valuetext', state.b + ' tokens');
  byId('budget').textContent = state.b.toLocaleString('en');
  byId('used').textContent = state.n.toLocaleString('en') + ' used' + (state.r ? ', ' + state.r + ' reserved' : '');
  byId('bar').style.width = (state.b ? 100 * state.n / state.b : 0) + '%';
  byId('held').style.width = (state.b ? 100 * state.r / state.b : 0) + '%';
  let kept = 0, part = 0, out = 0;
  nodes.forEach((node, n) => {
    const mark = state.s[n], view = rows[n], other = state.v[n];
    if (node.k !== 'box') { if (mark === '0') out++; else if (mark === '2') part++; else kept++; }
    view.row.className = (mark === '0' ? 'out' : mark === '2' ? 'part' : 'in') + (node.k === 'box' ? ' box' : '')
      + (before && before[n] !== mark ? ' now' : '') + (view.row.classList.contains('wide') ? ' wide' : '');
    const name = other && other[0] ? other[0] : node.k === 'always' ? 'always' : '';
    view.tag.textContent = name;
    view.tag.hidden = !name;
    view.cost.textContent = plural(node.c, 'token');
    view.text.textContent = other ? other[1] : node.t;
    view.text.hidden = !view.text.textContent;
    let why = '';
    if (mark !== '1' && node.k !== 'box') {
      const more = whole(n, place);
      why = (state.w[n] ? state.w[n] + '; ' : '')
        + (more === null ? 'whole at none of these budgets' : 'whole with ' + plural(more, 'token') + ' more');
    }
    view.why.textContent = why;
    view.why.hidden = !why;
  });
  byId('counts').textContent = kept + ' kept' + (part ? ', ' + part + ' in part' : '') + ', ' + out + ' left out';
  if (state.t !== undefined) byId('text').textContent = state.t;
}
slider.max = states.length - 1;
slider.oninput = () => show(+slider.value);
byId('less').onclick = () => show(Math.max(0, shown - 1));
byId('more').onclick = () => show(Math.min(states.length - 1, shown + 1));
if (states[0].t === undefined) { byId('written').hidden = true; document.querySelector('main').className = 'one'; }
let first = 0;
states.forEach((state, n) => { if (state.b <= data.budget) first = n; });
show(first);
shown = first;
"""

_PAGE = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{{{{title}}}}</title>
<style>{_STYLE}</style>
</head>
<body>
<header>
<h1>{{{{title}}}}</h1>
<div class="row">
<button id="less" type="button" aria-label="Less">−</button>
<input id="slider" type="range" min="0" step="1" aria-label="Budget in tokens">
<button id="more" type="button" aria-label="More">+</button>
<span class="num"><b id="budget"></b> tokens <span class="soft" id="used"></span></span>
<span class="soft" id="counts"></span>
</div>
<div class="gauge"><i id="bar"></i><u id="held"></u></div>
</header>
<main>
<section><h2>Nodes</h2><ol id="nodes"></ol></section>
<section id="written"><h2>Text</h2><pre id="text"></pre></section>
</main>
<script id="data" type="application/json">{{{{data}}}}</script>
<script>{_SCRIPT}</script>
</body>
</html>
"""


_MAX_NODE_CHARS = 2000
"""Characters of one node that are shown."""

_MAX_TEXT_CHARS = 4_000_000
"""Characters of written texts that a page may hold; beyond, it shows the nodes alone."""


def trace_page(trace: Trace, write: Callable[[Element], str] | None = None, *, title: str = "Prompt fit") -> str:
    """Return the HTML page of a trace; with `write`, the text of each fit is on it too."""
    states = trace.states() or (trace,)
    # The last state has every node as it is meant; the others say how they differ from it.
    nodes = [_node_data(entry) for entry in states[-1].entries]
    state_data: list[dict[str, Any]] = []
    room = _MAX_TEXT_CHARS
    for state in states:
        data = _state_data(state)
        if write is not None and room > 0:
            data["t"] = write(state.result.tree)
            room -= len(data["t"])
        state_data.append(data)
    page = {"title": title, "budget": trace.budget, "nodes": nodes, "states": state_data}
    return _PAGE.replace("{{title}}", _escape(title)).replace("{{data}}", _script_json(page))


# Keys are one letter: a page has up to 400 states of thousands of nodes.


def _node_data(entry: TraceEntry) -> dict[str, Any]:
    return {
        "l": entry.path,
        "d": entry.depth,
        "k": entry.kind,
        "c": entry.tokens,
        "p": entry.priority,
        "t": entry.text[:_MAX_NODE_CHARS],
    }


def _state_data(state: Trace) -> dict[str, Any]:
    variants: dict[str, list[str]] = {}
    reasons: dict[str, str] = {}
    for index, entry in enumerate(state.entries):
        if entry.present and entry.kind in ("choice", "flexible", "grow"):
            variants[str(index)] = [entry.density, entry.text[:_MAX_NODE_CHARS]]
        # The usual reason, that there was no room, is said by the page itself.
        if entry.reason and "more important nodes left less" not in entry.reason:
            reasons[str(index)] = entry.reason
    return {
        "b": state.budget,
        "n": state.result.tokens,
        "r": state.result.reserved,
        "s": "".join(_mark(entry) for entry in state.entries),
        "v": variants,
        "w": reasons,
    }


def _mark(entry: TraceEntry) -> str:
    """Return `1` for a node that is in, `2` in part, `0` left out."""
    if not entry.present:
        return "0"
    return "2" if entry.reason else "1"


def _script_json(data: object) -> str:
    """Return JSON that cannot end its script element, whatever is in it."""
    # `</script>` and `<!--` act within a script whatever the JSON says; U+2028 ends a line of JavaScript.
    text = msgspec.json.encode(data).decode()
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e").replace("\u2028", "\\u2028")


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
