"""A prompt that fits its budget: what is in, what is not and why, and what would bring it back."""

from hudkit.compose import Element, h
from hudkit.compose.fitting import source_map, trace
from hudkit.compose.formats.markdown import render


def words(element: Element) -> int:
    return len(render(element).split())  # a tokenizer's count in earnest: hudkit.tokens.count_tokens(render(element))


FILES = ("up.py", "net.py", "cli.py", "web.py")
LOG = "upload 17 of part 4 failed with status 503 after 2 retries and 40 seconds"

PROMPT = h.document[
    h.section(title="Task")[h.text["Make the uploader retry"]],
    h.break_,  # what stands above stays, so that the cached prefix does
    h.section(title="Rules")[
        h.list[
            h.item(priority=90, key="id")["Never change the ", h.code["id"], " column"],
            h.item(priority=80, key="deps")["Ask before adding a dependency"],
        ]
    ],
    h.section(title="Files")[
        h.list[
            [h.item(priority=50 - 10 * n, key=name)[h.code[name]] for n, name in enumerate(FILES)],
            h.more(noun="files", see="hud files.list"),
        ]
    ],
    h.choice(priority=35, key="tests")[
        h.text(density="full")["Tests: 41 passed, 2 failed, both in test_retry"],
        h.text(density="compact")["Tests: 2 failed"],
    ],
    h.text(priority=10, truncate="end", key="log")[LOG],
]

BUDGET = 34
explained = trace(PROMPT, BUDGET, words)
print(render(explained.result.tree))
print(explained.text())

log = next(index for index, entry in enumerate(explained.entries) if entry.path.endswith("log"))
lacks = explained.tokens_lacking(log)
assert lacks is not None
print(f"The log is whole with {lacks} tokens more.")
assert explained.at(BUDGET + lacks).entries[log].present

where = source_map(explained.result.tree, render)
span = where.at(where.text.index("Tests:"))
assert span is not None
print(f"Node {span.path} is at {span.start} to {span.end}: {where.text[span.start : span.end]!r}")
