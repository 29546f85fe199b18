"""Any text gives a tree or a `TreeError`, in steps that grow no faster than the text."""

from __future__ import annotations

from contextlib import suppress

import pytest
from element_strategies import any_text, elements
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hudkit.compose import Element, TreeLimits, component, h, read_json, read_jsx, validate, write_json, write_jsx
from hudkit.compose.jsx.reader import parse
from hudkit.compose.jsx.scanner import Scanner
from hudkit.errors import TreeError

calm = settings(deadline=None, max_examples=300, suppress_health_check=list(HealthCheck))
TOKENS = (
    "<", ">", "/", "</", "/>", "<>", "</>", "<text>", "</text>", "<list ordered>", "</list>", "<item>", "</item>",
    "<rule/>", "<A", "<A/>", "<Show when={a}>", "</Show>", "{", "}", "{a}", "{a.b}", "{...a}", "{1}", "{-1e5}",
    '{"', "'}", "{'x'}", "=", "key=", '"', "'", "&", "&amp;", "&#", "&#xD800;", ";", "{/*", "*/}", "\\", "\\u{",
    "\\ud83d", "\n", " ", "\t", "\r", "a", "1",
    ".", "...", "-", "é", "\x00", "\ud800", "true", "null", "<!--", "<?", "𝒶", "٣", "²",
)  # fmt: skip
jumble = st.lists(st.sampled_from(TOKENS), max_size=25).map("".join)


@component
def A(**props: object) -> Element:
    return h.text[str(len(props))]


def read(text: str) -> Element | None:
    try:
        return read_jsx(text, {"A": A}, {"a": {"b": [1, "x"]}})
    except TreeError as error:
        assert error.details.get("line") and error.hint
        str(error).encode()
        return None


@pytest.mark.slow
@calm
@given(st.one_of(jumble, jumble.map(lambda text: f"<text>{text}</text>"), any_text))
def test_any_text_is_a_tree_or_a_tree_error(text: str) -> None:
    read(text)


@pytest.mark.slow
@calm
@given(elements(), st.data())
def test_a_damaged_text_is_a_tree_or_a_tree_error(tree: Element, data: st.DataObject) -> None:
    text = write_jsx(tree)
    at = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 6))
    made = read(text[:at] + data.draw(jumble) + text[at + length :])
    if made is not None and not any(isinstance(n, Element) and n.tag[0].isupper() for _, n in made.walk()):
        validate(made)


@pytest.mark.slow
@calm
@given(elements(depth=2), st.data())
def test_damaged_json_is_a_tree_or_a_tree_error(tree: Element, data: st.DataObject) -> None:
    try:
        json = write_json(tree)
    except TreeError:
        return
    at = data.draw(st.integers(0, len(json)))
    damaged = json[:at] + data.draw(st.binary(max_size=4)) + json[at + data.draw(st.integers(0, 4)) :]
    for one in (damaged, damaged.decode("utf-8", "surrogateescape")):
        try:
            validate(read_json(one))
        except TreeError as error:
            str(error).encode()


@pytest.mark.parametrize(
    "data",
    [b"[" * 100_000, b'{"tag":"quote","children":[' * 5000, b'{"tag":"' + b"a" * 5000 + b'"}', b'"x"', b"null", b"",
     b"\xff", "\ud800", '{"tag":"\\ud800"}', '{"tag":"text","props":{"limit":1e400}}',
     f'{{"tag":"rule","props":{{"limit":{10**400}}}}}',
     b'{"tag":"rule","props":{"a\\u202e\\n":1}}', b'{"tag":"x\\u202e"}', b'{"tag":"rule"}{"tag":"rule"}'],
    ids=range(14),
)  # fmt: skip
def test_hostile_json(data: bytes | str) -> None:
    with pytest.raises(TreeError) as raised:
        read_json(data)
    assert len(str(raised.value)) < 1500 and str(raised.value).isprintable()


GROWING = {
    "tags never closed": lambda n: "<a " * n,
    "fragments": lambda n: "<>" * n,
    "nested": lambda n: "<quote>" * 60 + "<rule/>" * n,
    "comments": lambda n: "<text>" + "{/* */}" * n,
    "comments never closed": lambda n: "<text>" + "{/* " * n,
    "ampersands": lambda n: "<text>" + "&" * n + "</text>",
    "broken references": lambda n: "<text>" + "&#1" * n + "</text>",
    "references": lambda n: "<text>" + "&amp;" * n + "</text>",
    "blank lines": lambda n: "<text>" + " \n" * n + "</text>",
    "long blanks": lambda n: "<text>" + " " * n + "\n" + " " * n + "</text>",
    "braces": lambda n: "<text>" + "{1}" * n + "</text>",
    "spreads": lambda n: "<text " + "{...a}" * n + ">",
    "props": lambda n: "<A " + "".join(f"a{k}='' " for k in range(n)) + "/>",
    "quotes": lambda n: "<text key='" + '"' * n + "'/>",
    "escapes": lambda n: '<text>{"' + "\\ud83d" * n + '"}</text>',
    "dots": lambda n: "<text>{a" + ".b" * n + "}</text>",
    "a name": lambda n: "<" + "a" * n + "/>",
    "digits": lambda n: "<text>{" + "1" * n + "}</text>",
    "items": lambda n: "<list>" + "<item>x y</item>\n" * n + "</list>",
}


@pytest.mark.slow
@pytest.mark.parametrize("make", GROWING.values(), ids=GROWING.keys())
def test_steps_are_linear(make: object) -> None:
    counts = []
    for n in (500, 2000):
        text = make(n)  # type: ignore[operator]
        scanner = Scanner(text)
        with suppress(TreeError):
            parse(scanner, TreeLimits(nodes=10**6))
        counts.append(scanner.steps)
        assert scanner.steps <= 8 * len(text) + 100
    assert counts[1] <= 4.5 * counts[0] + 100
