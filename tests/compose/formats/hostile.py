"""Text that looks like Markdown, at random, and every place of a document that text can stand in."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from hudkit.compose.formats.mdast import (
    Cell,
    CodeBlock,
    Delete,
    Emphasis,
    Flow,
    Heading,
    Image,
    InlineCode,
    Link,
    List,
    ListItem,
    Mdast,
    Paragraph,
    Quote,
    Root,
    Row,
    Strong,
    Table,
    Text,
)

PIECES = (
    *("*", "**", "_", "__", "~", "~~", "`", "``", "```", "~~~", "***", "___", "[", "]", "(", ")", "](", "[x](y)"),
    *("![", "!", "<", "<div>", "</a>", "<!--", "-->", "<?", "<!x>", "<a b='", "<http://a.b>", "<a@b.c>", "<script"),
    *(
        "&",
        "&amp;",
        "&#35;",
        "&#x41;",
        "\\",
        "\\\\",
        "#",
        "## ",
        "- ",
        "+ ",
        "* ",
        "1. ",
        "2) ",
        "> ",
        ">",
        "---",
        "=",
    ),
    *("===", "|", "| - |", "|-|-|", ":-", "-|-", "\n", "\n\n", "\n", "\r", "\t", " ", "  ", "a", "b1", "x", "foo"),
    *(
        "é",
        "€",
        "😀",
        "字",
        "\u00a0",
        "\u2028",
        "\u3000",
        "\u200b",
        "\ufeff",
        "\u202e",
        "\x00",
        "\x0b",
        "\x0c",
        "\x1c",
    ),
    *(
        "\x1b[31m",
        "\x85",
        "http://",
        "https://a.b",
        "www.",
        "www.x.y",
        "a@b.c",
        "ftp://q.r",
        "@",
        "::",
        "://",
        "mailto:",
    ),
    *("[ ] ", "[x] ", "[a]: /u", "[^1]", "[^1]: ", "[!NOTE]", "snake_case", "__init__", '"', "'", "{", "}", "-", "+"),
    *("0", "9.", "1)", "end.", ";", ": ", "a b", "`` ` ``", "\n- ", "\n# ", "\n> ", "\n```\n", "\n---", "\n    x"),
)


def hostile(seed: int, count: int) -> Iterator[str]:
    """Strings of one to nine pieces."""
    source = random.Random(seed)
    for _ in range(count):
        yield "".join(source.choice(PIECES) for _ in range(source.randint(1, 9)))


def trimmed(text: str) -> str:
    """What is left of a text that Markdown can carry: lines without white space at their ends."""
    lines = text.replace("\x00", "\ufffd").split("\n")
    return "\n".join(line.strip() for line in lines).strip()


def _line(*children: object) -> Root:
    return Root((Paragraph(children),))  # type: ignore[arg-type]


def _item(*children: Flow) -> Root:
    return Root((List((ListItem(children),)),))


def _cell(text: str) -> Root:
    return Root((Table((Row((Cell((Text("h"),)),)), Row((Cell((Text(text),)),)))),))


PLACES: dict[str, Callable[[str], Root]] = {
    "paragraph": lambda text: _line(Text(text)),
    "heading": lambda text: Root((Heading(2, (Text(text),)),)),
    "item": lambda text: _item(Paragraph((Text(text),))),
    "numbered item": lambda text: Root((List((ListItem((Paragraph((Text(text),)),)),), ordered=True, start=9),)),
    "nested item": lambda text: _item(Paragraph((Text("z"),)), List((ListItem((Paragraph((Text(text),)),)),))),
    "task": lambda text: Root((List((ListItem((Paragraph((Text(text),)),), checked=False),)),)),
    "quote": lambda text: Root((Quote((Paragraph((Text(text),)),)),)),
    "strong": lambda text: _line(Strong((Text(text),))),
    "emphasis": lambda text: _line(Emphasis((Text(text),))),
    "strike": lambda text: _line(Delete((Text(text),))),
    "link": lambda text: _line(Link("/u", (Text(text),))),
    "cell": _cell,
}
"""Places that text stands in as a `Text`; a task, a cell and a struck stretch are GFM's."""

GFM_ONLY = frozenset({"task", "strike", "cell"})

LITERALS: dict[str, Callable[[str], Root]] = {
    "code": lambda text: _line(InlineCode(text)),
    "fence": lambda text: Root((CodeBlock(text),)),
    "fence in an item": lambda text: _item(CodeBlock(text)),
    "fence in a quote": lambda text: Root((Quote((CodeBlock(text),)),)),
    "image": lambda text: _line(Image("/u", text)),
}
"""Places that text stands in as a value."""


def shape(node: Mdast) -> object:
    """The kinds of the nodes below, without their texts."""
    if isinstance(node, Text | InlineCode | CodeBlock | Image):
        return type(node).__name__
    return (type(node).__name__, *(shape(child) for child in getattr(node, "children", ())))


def texts(node: Mdast) -> list[str]:
    """The texts below, in order."""
    if isinstance(node, Text):
        return [node.value]
    return [text for child in getattr(node, "children", ()) for text in texts(child)]
