"""Generate the reference of elements and components.

Run `python -m hudkit.compose.component_reference > docs/components.md`; a test keeps the page current.
"""

from __future__ import annotations

from hudkit.compose.jsx.scanner import MAX_NUMBER_CHARS
from hudkit.compose.validation import DEFAULT_LIMITS, MAX_DEPTH
from hudkit.compose.vocabulary import COMMON_PROPS, CONTENT_WORDS, MAX_PROP_CHARS, TAGS, prop_rule

_HEAD = """\
# Elements and components

This page is generated from the tables in `src/hudkit/compose/vocabulary.py`. A test keeps it current and runs its
code.

Everything that a model sees is a tree of elements. A tree is made in Python with `h`, in JSX text, or in JSON. In
Python the type checker looks at props; trees from outside are checked against the tables below, and refused with a
`TreeError` that says what is wrong, where, and what would be right.

```python
from hudkit.compose import h, read_json, read_jsx, write_json, write_jsx

tree = h.section(title="Rules")[h.list[h.item["Never change the ", h.code["id"], " column."]]]
text = write_jsx(tree)
assert read_jsx(text) == tree and read_json(write_json(tree)) == tree
```"""

_COMPONENTS = """\
## Components

A component is a function from props to a tree. Called, it renders at once; `use` puts it into a tree to be rendered
by `render`. A parameter named `children`, `context` or `prepared` is supplied by `render` and is no prop. `None`,
`True` and `False` among children are left out, so a condition is `cond and h.item[...]`; `Show` is the same in text.

```python
from hudkit.compose import ContextKey, component, render

TONE = ContextKey("Tone", "plain")


@component
def Notice(title, children, context):
    mark = "! " if context[TONE] == "loud" else ""
    return h.section(title=mark + title)[children]


page = h.document[TONE.give("loud", Notice.use(h.text["Tests fail."], title="Build")), Notice.use(title="Later")]
assert [section.get("title") for section in render(page).children] == ["! Build", "Later"]
```

- **Context values** belong to a subtree: `KEY.give(value, *children)`, read as `context[KEY]`. The nearest one above
  counts. They travel as an argument; nothing is global, so renders at the same time do not see each other's.
- **Keys** name a component among its siblings, in errors and in what was prepared. Two siblings with one key are
  refused: among all elements of a tree from outside, among components in `render`.
- **Errors** of a component are `TreeError` and name the way to it: `document[0] > Notice[1]`.

### Prepare

A component that has to fetch something says so with `prepare`, an async function from (props, context). What it
returns is the parameter `prepared` of the render, which stays pure and never awaits.

```python
import asyncio

from hudkit.compose import prepare


async def fetch(props, context):
    return [f"{props['source']}: all is well"]


@component(prepare=fetch, timeout=2.0)
def Feed(source, prepared):
    return h.list[(h.item[line] for line in prepared)]


async def compose():
    page = h.document[Feed.use(source="mail"), Feed.use(source="builds")]
    return render(page, prepared=await prepare(page))


assert len(asyncio.run(compose()).children) == 2
```

All prepares of a tree run at once, on anyio (the tests run it under asyncio); those that only appear in what another
one renders start when that one is there. Each has its time limit (5 s where none is given). All are let to their
end; then the first failure in document order is raised as `PrepareError`, with the error of the component as its
cause. What was prepared is a value: with it the tree renders again, any number of times, to the same tree. A tree
without prepares needs no event loop."""

_JSX = """\
## JSX text

```python
from hudkit.compose import jsx

tree = jsx(
    \"\"\"
    <Notice title="Open steps">
      <Show when={steps}>
        <list ordered>{steps}</list>
      </Show>
      {/* nothing is executed: a name in braces is looked up */}
      <text key='who'>Asked by {user.name} &amp; co.</text>
    </Notice>
    \"\"\",
    {"Notice": Notice},
    steps=[h.item["Write the test"], h.item["Make it pass"]],
    user={"name": "Ada"},
)
assert tree.get("title") == "Open steps"
```

| written | is |
|---|---|
| `<text>…</text>`, `<rule />`, `<>…</>` | an element, one without children, a fragment |
| `<Name …>` | a component, from the mapping that is given; a context key there gives its `value` to what is below |
| `name="…"`, `name='…'` | text; may have line breaks and references; a backslash is a backslash |
| `name` | true |
| `{true}` `{false}` `{null}` `{3}` `{-1.5e3}` | values, numbers as in JSON |
| `{"…"}` `{'…'}` | text with the escapes of JSON, and `\\u{1F600}`, `\\'`, `\\v`, `\\0` |
| `{name}` `{task.summary}` | a value that is given: keys of mappings, fields of Structs, dataclasses, named tuples |
| `{a && <text>…</text>}` `{!a && b}` | the second, where the first is true; as in Python, an empty list is not |
| `{a ? b : c}` | one of the two; a branch is an element, a value, or either of these in parentheses |
| `{list.map(item => <item>{item.name}</item>)}` | an element for each; `(item, index) =>` gives its place, too |
| `{...name}` | the props of a mapping; what is written later counts |
| `{/* … */}` | a comment, among children |
| `&amp;` `&#38;` `&#x26;` | references: the names of HTML 4, `&apos;`, and codes; any other `&` is itself |

Nothing else is evaluated: no calls, no other operators, no private or computed attributes.
`<Show when={…} unless={…}>` is there without being given. Literals are checked against the annotation of the
component's parameter, and text becomes a member of an enumeration.

White space, as in JSX:

1. Text is taken in lines. Blanks and tabs are trimmed where a line meets another: at its start unless it is the
   first, at its end unless it is the last. Lines that are then empty go. The others are joined with one blank.
2. So blanks within a line stay, also next to a tag; a break between tags is nothing.
3. Between elements that hold no text, text of blanks alone is nothing.
4. References and `{" "}` are never trimmed. Texts are never joined: `a{"b"}` are two children.
5. A `<` or a `}` that is text is written `&lt;` and `&#125;` or in quotes in braces.

`write_jsx` writes text that reads back as an equal tree, whatever the text holds. Characters that do not print are
written as escapes; so are lone surrogates, so that what is written can be encoded. JSON has no agreed form for lone
surrogates: `write_json` refuses them, `read_json` too.

Errors are `TreeError` with `line`, `column` (from 1, in code points) and `excerpt` in `details`:

```text
line 3, column 1: </list> does not close <item>. <item> was opened at line 2, column 3; close it with </item>
  </list>
  ^
```

Template strings (Python 3.14) are not supported yet: there is no entry for them that could be tested on the Python
versions that hudkit supports."""

_JSON = """\
## JSON

A node is text, or `{"tag": "text", "props": {"key": "a"}, "children": ["…"]}`; props and children may be absent.
`hudkit.compose.tree_schema()` is the JSON Schema (2020-12)."""


def components_page() -> str:
    """Return the whole page as Markdown."""
    parts = [_HEAD, _COMPONENTS, _JSX, _JSON, _limits(), "## Elements", _elements()]
    parts += ["## Props of every element", _props("", tuple(COMMON_PROPS))]
    for tag, spec in TAGS.items():
        # Most tags have none of their own: a table for each would hide the few that do.
        if spec.props:
            parts += [f"## Props of `{tag}`", _props(tag, tuple(spec.props))]
    return "\n\n".join(parts) + "\n"


def _limits() -> str:
    limits = DEFAULT_LIMITS
    return (
        f"## Limits\n\n"
        f"A tree from outside has at most {limits.depth} levels below its root, {limits.nodes:,} nodes and\n"
        f"{limits.chars:,} characters, its props of text at most {MAX_PROP_CHARS:,}; a number in JSX text has\n"
        f"at most {MAX_NUMBER_CHARS} characters. The readers and writers take other `TreeLimits`,\n"
        f"with at most {MAX_DEPTH} levels."
    )


def _elements() -> str:
    rows = [f"| `{tag}` | {spec.doc} | {_escaped(CONTENT_WORDS[spec.holds])} |" for tag, spec in TAGS.items()]
    return "\n".join(("| element | is | holds |", "|---|---|---|", *rows))


def _props(tag: str, names: tuple[str, ...]) -> str:
    rules = [(name, prop_rule(tag, name)) for name in names]
    rows = [f"| `{name}` | {rule.words} | {rule.doc} |" for name, rule in rules]
    return "\n".join(("| prop | value | meaning |", "|---|---|---|", *rows))


def _escaped(words: str) -> str:
    # Within a table of Markdown `<list>` would be HTML; as code it is shown.
    return words.replace("<", "`").replace(">", "`")


if __name__ == "__main__":
    print(components_page(), end="")
