"""A prompt as text: components by name, values by name, and what they need fetched before a pure render."""

import asyncio
from collections.abc import Mapping
from typing import Any

from hudkit.compose import ContextKey, Element, Node, RenderContext, component, h, prepare, read_jsx, render
from hudkit.compose.formats.markdown import render as markdown

DETAIL = ContextKey("Detail", "long")

PAGE = """
<document>
  <Section title="Task">
    <text>{task.summary}</text>
    {/* shown only while something is in the way */}
    <Show when={task.blocked}><text><strong>Blocked</strong> by {task.blocked}.</text></Show>
  </Section>
  <Detail value="short">
    <Builds of="main" />
    <Builds of="release" />
  </Detail>
</document>
"""


async def fetch_builds(props: Mapping[str, Any], context: RenderContext) -> list[str]:
    await asyncio.sleep(0)  # here one would ask a server
    runs = [f"{props['of']} #{n} passed" for n in (3, 2, 1)]
    return runs[:1] if context[DETAIL] == "short" else runs


@component
def Section(title: str, children: tuple[Node, ...]) -> Element:
    return h.section(title=title)[children]


@component(prepare=fetch_builds, timeout=2.0)
def Builds(of: str, prepared: list[str]) -> Element:
    return h.section(title=f"Builds of {of}")[h.list[(h.item[run] for run in prepared)]]


async def compose() -> str:
    task = {"summary": "Make the uploader retry", "blocked": "a missing <token>"}
    tree = read_jsx(PAGE, {"Section": Section, "Builds": Builds, "Detail": DETAIL}, {"task": task})
    return markdown(render(tree, prepared=await prepare(tree)))


print(asyncio.run(compose()))
