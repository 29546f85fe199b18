"""Show a trace as one HTML page: a slider over the budgets, what is in and what is not, and the text as it would be
sent.

The page holds every fit that differs as data, and loads nothing. What a tree says is set as text, never as markup.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from hudkit.compose.fitting.tracing import Trace, TraceEntry
from hudkit.compose.nodes import Element

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
