"""What components prepare before a render: all at once, each in its time, and errors that name the way."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import pytest

from hudkit.compose import (
    ContextKey,
    Element,
    Node,
    PrepareError,
    RenderContext,
    component,
    h,
    jsx,
    prepare,
    read_jsx,
    render,
)
from hudkit.errors import TreeError

TONE = ContextKey("tone", "plain")


def run(act: Callable[[], Awaitable[Any]]) -> Any:
    return anyio.run(act)


async def fetch(props: Mapping[str, Any], context: RenderContext) -> str:
    return f"{props['source']} {context[TONE]}"


@component(prepare=fetch)
def Feed(source: str, prepared: str) -> Element:
    return h.text[prepared]


@component
def Group(children: tuple[Node, ...]) -> Element:
    return h.quote[children]


def test_what_is_prepared_goes_to_the_render() -> None:
    page = h.document[Feed.use(source="a"), TONE.give("loud", Group.use(Feed.use(source="b")))]
    prepared = run(lambda: prepare(page))
    want = h.document[h.text["a plain"], h.quote[h.text["b loud"]]]
    assert render(page, prepared=prepared) == want and render(page, prepared=prepared) == want
    assert sorted(prepared.results) == [
        ("document[0]", "Feed[0]"),
        ("document[0]", "Tone[1]", "Group[0]", "quote[0]", "Feed[0]"),
    ]


def test_text_with_components_that_prepare() -> None:
    tree = read_jsx("<document><Feed source={name} key='one' /></document>", {"Feed": Feed}, {"name": "x"})
    assert render(tree, prepared=run(lambda: prepare(tree))) == h.document[h.text["x plain"]]
    with pytest.raises(TreeError, match=r"component Feed has to prepare first, at document\[0\] > Feed#one. Await"):
        jsx("<document><Feed source='x' key='one' /></document>", {"Feed": Feed})


def test_without_prepares_nothing_is_awaited_and_no_loop_is_needed() -> None:
    waiting = prepare(h.document[Group.use(h.rule)])
    with pytest.raises(StopIteration) as done:
        waiting.send(None)
    assert done.value.value.results == {}
    assert render(h.document[Group.use(h.rule)]) == h.document[h.quote[h.rule]]


def test_all_run_at_once_and_nested_ones_start_when_they_appear() -> None:
    """`outer` waits until the nested one of its sibling has started: a barrier by levels would never end."""

    async def main() -> Element:
        nested, all_here = anyio.Event(), anyio.Event()
        started = 0

        async def outer(props: Mapping[str, Any], context: RenderContext) -> int:
            nonlocal started
            started += 1
            if started == 3:
                all_here.set()
            await all_here.wait()
            if props["n"] == 0:
                await nested.wait()
            return int(props["n"])

        async def inner(props: Mapping[str, Any], context: RenderContext) -> str:
            nested.set()
            return "inner"

        @component(prepare=inner)
        def Inner(prepared: str) -> Element:
            return h.text[prepared]

        @component(prepare=outer, timeout=30)
        def Outer(n: int, prepared: int) -> Element:
            return h.quote[Inner.use() if n == 1 else h.text[prepared]]

        page = h.document[(Outer.use(n=n) for n in range(3))]
        return render(page, prepared=await prepare(page))

    assert run(main) == h.document[h.quote[h.text["0"]], h.quote[h.text["inner"]], h.quote[h.text["2"]]]


def test_the_first_failure_in_document_order_is_raised_whichever_came_first() -> None:
    async def main() -> None:
        late = anyio.Event()

        async def fail(props: Mapping[str, Any], context: RenderContext) -> None:
            if props["n"] == 1:
                await late.wait()
            late.set()
            if props["n"] in (1, 2):
                raise ValueError(f"no {props['n']}")

        @component(prepare=fail)
        def Fails(n: int) -> Element:
            return h.text[n]

        await prepare(h.document[(Fails.use(n=n) for n in range(4))])

    with pytest.raises(PrepareError) as raised:
        run(main)
    assert str(raised.value) == (
        "the prepare of component Fails failed with ValueError: no 1, at document[0] > Fails[1]. "
        "Its cause has the details"
    )
    assert isinstance(raised.value.__cause__, ValueError) and raised.value.code == "prepare"
    assert raised.value.details["failed"] == (("document[0]", "Fails[1]"), ("document[0]", "Fails[2]"))


def test_each_has_its_time() -> None:
    async def forever(props: Mapping[str, Any], context: RenderContext) -> None:
        await anyio.sleep_forever()

    async def own(props: Mapping[str, Any], context: RenderContext) -> None:
        raise TimeoutError

    @component(prepare=forever, timeout=0.01)
    def Slow() -> Element:
        return h.rule.element()

    @component(prepare=forever)
    def Slower() -> Element:
        return h.rule.element()

    @component(prepare=own)
    def Own() -> Element:
        return h.rule.element()

    with pytest.raises(
        PrepareError, match=r"Slow took longer than 0.01 s, at quote\[0\] > Slow\[0\]\. Give it more time"
    ):
        run(lambda: prepare(h.quote[Slow.use(), Feed.use(source="a")]))
    with pytest.raises(PrepareError, match=r"Slower took longer than 0\.02 s"):
        run(lambda: prepare(Slower.use(), timeout=0.02))
    with pytest.raises(PrepareError, match=r"Own failed: TimeoutError, at Own\[0\]"):
        run(lambda: prepare(Own.use()))


def test_a_render_that_fails_after_its_prepare_names_the_way() -> None:
    @component(prepare=fetch)
    def Bad(source: str, prepared: str) -> Element:
        return h.section(level=prepared)  # type: ignore[arg-type]

    @component(prepare=lambda props, context: 3)  # type: ignore[arg-type, return-value]
    def Plain() -> Element:
        return h.rule.element()

    with pytest.raises(TreeError, match=r"prop 'level' of <section> is 'x plain', at quote\[0\] > Bad\[0\]"):
        run(lambda: prepare(h.quote[Bad.use(source="x")]))
    with pytest.raises(PrepareError, match="Plain failed with TypeError: prepare returned int, and not an awaitable"):
        run(lambda: prepare(Plain.use()))


def test_a_cancelled_prepare_ends() -> None:
    ended: list[str] = []

    async def main() -> None:
        async def wait(props: Mapping[str, Any], context: RenderContext) -> None:
            try:
                await anyio.sleep_forever()
            finally:
                ended.append("wait")

        @component(prepare=wait)
        def Waits() -> Element:
            return h.rule.element()

        with anyio.move_on_after(0.02):
            await prepare(Waits.use())
            ended.append("never")

    run(main)
    assert ended == ["wait"]


def test_props_cannot_be_changed_by_a_prepare() -> None:
    async def meddle(props: Any, context: RenderContext) -> None:
        props["source"] = "other"

    @component(prepare=meddle)
    def Meddles(source: str) -> Element:
        return h.text[source]

    with pytest.raises(PrepareError, match="TypeError"):
        run(lambda: prepare(Meddles.use(source="a")))


def test_an_event_loop_is_not_loaded_by_the_tree() -> None:
    import subprocess

    code = (
        "import sys; from hudkit.compose import component, h, render\n"
        "@component\ndef A():\n    return h.rule\n"
        "render(h.document[A.use()]); print(sorted({'anyio', 'asyncio'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
