"""A frame: one call's fitted document, its layers, and the renderer that writes and measures what goes into them."""

from __future__ import annotations

import msgspec

from hudkit.compose import Element, ElementCache, Node
from hudkit.compose.density import Band, Density
from hudkit.compose.fitting import Omission
from hudkit.compose.formats.markdown import render
from hudkit.log.payloads import FrameBase, FrameDelta, PrunedOutput
from hudkit.sections.state import HudState
from hudkit.tokens.counting import TokenCounter

MEMO_ENTRIES = 8192
"""Elements whose tokens are remembered; beyond, the memory starts anew."""

ORDERED_ITEM_TOKENS = 2
"""Tokens by which the number of an ordered item can cost more than a bullet."""


class Delta(msgspec.Struct, frozen=True):
    """A block of changes that stays where it was first sent: after the message with this anchor.

    `form` says how a host puts it there: `tool` (at the end of a tool's output) or `user` (a part of a message).
    """

    id: str
    anchor: str
    text: str
    form: str = "user"


class PrunedStub(msgspec.Struct, frozen=True):
    """The line that stands where the output of a call was pruned."""

    call: str
    text: str


class Frame(msgspec.Struct, frozen=True):
    """What one call carries.

    `base` goes into the system prompt, each of `deltas` to its anchor, `tail` behind the last message; `text` is
    all of it in order. `tokens` counts `text`. `notice` is filled where the frame could not be recorded. `mark` is
    opaque: a host that could not use a frame in time names the last one that it used by it. `pruned` are all outputs
    that the call carries as one line; they are no part of `text`.
    """

    text: str
    tokens: int
    base: str
    deltas: tuple[Delta, ...]
    tail: str
    omitted: tuple[Omission, ...]
    density: Density
    band: Band
    budget: int
    epoch: int
    tag: str
    notice: str = ""
    mark: str = ""
    pruned: tuple[PrunedStub, ...] = ()


def join_layers(*layers: str) -> str:
    """Join layers to one text and return it: each ends in a line break, with a blank line between."""
    return "\n".join([layer for layer in layers if layer])


class MeasuredRenderer:
    """Writes elements as markdown and measures them on the bytes that are written, memoised by content.

    `measure` gives the tokens of an element as it is written. `bound` is the sum of its lines, each measured once.

    **The bound.** A line has hardly ever more tokens among other lines than alone: tokens end where lines end, but
    for a few that take in the break. So the sum of the lines is at least the tokens of the whole (where it is not,
    the frame is measured once more as a whole before it goes out). Lines are counted once and remembered: a list of
    60 items of which one has changed is measured by counting that one. Example: a list whose two lines have 7 and 9
    tokens has a bound of 16, and 15 or 16 tokens as a whole.
    """

    def __init__(self, counter: TokenCounter) -> None:
        self.counter = counter
        self.render = render
        self.measure: ElementCache[int] = ElementCache(lambda element: counter.count(render(element)), MEMO_ENTRIES)
        self.bound: ElementCache[int] = ElementCache(self._sum_of_lines, MEMO_ENTRIES)

    def count(self, text: str) -> int:
        """Return the tokens of a text."""
        return self.counter.count(text) if text else 0

    def _sum_of_lines(self, element: Element) -> int:
        if element.tag != "section" or not any(map(_is_list, element.children)):
            return self.measure(element)
        without_lists = tuple([child for child in element.children if not _is_list(child)])
        total = self.measure(element.with_children(without_lists))
        for child in element.children:
            if isinstance(child, Element) and child.tag == "list":
                total += sum([self.measure(item) for item in child.children if isinstance(item, Element)])
                total += ORDERED_ITEM_TOKENS * len(child.children) if child.get("ordered") else 0
        return total


def _is_list(node: Node) -> bool:
    return not isinstance(node, str) and node.tag == "list"


# -- recorded layers to a frame, at the call and ever after ----------------------------------------------------


def assemble_frame(
    base: FrameBase,
    deltas: tuple[FrameDelta, ...],
    tail: str,
    renderer: MeasuredRenderer,
    budget: int,
    band: Band,
    mark: str,
    dropped: tuple[Omission, ...] = (),
    stubs: tuple[PrunedOutput, ...] = (),
) -> Frame:
    """Return the frame of recorded layers; its tokens are counted once on the whole."""
    text = join_layers(base.text, *[delta.text for delta in deltas], tail)
    omitted = tuple([Omission(left.path, left.text, left.tokens, left.reason) for left in base.omitted])
    return Frame(
        text=text,
        tokens=renderer.count(text),
        base=base.text,
        # A delta without a text only records up to where answers of tools have told everything.
        deltas=tuple([Delta(delta.id, delta.anchor, delta.text, delta.form) for delta in deltas if delta.text]),
        tail=tail,
        omitted=(*omitted, *dropped),
        density=Density(base.density),
        band=band,
        budget=budget,
        epoch=base.epoch,
        tag=base.tag,
        mark=mark,
        pruned=tuple([PrunedStub(stub.call, stub.text) for stub in stubs]),
    )


def frame_mark(base: FrameBase, deltas: int) -> str:
    """Return how far a frame brings its reader: what a host names it by (`FrameRequest.last_mark`)."""
    return f"{base.epoch}.{deltas}"


def rebuild_frame(state: HudState, renderer: MeasuredRenderer) -> Frame | None:
    """Return the frame of the call that the state ends with, from what was recorded.

    `None` where it ends with none, or where some of it was redacted.
    """
    call, base = state.window.call, state.epoch.base
    if call is None or base is None or state.window.call_seq != state.seq or base.epoch != call.epoch:
        return None
    deltas = tuple(delta for delta in state.epoch.deltas if delta.id in call.shown)
    if len(deltas) != len(call.shown):  # one was redacted
        return None
    mark = frame_mark(base, len(state.epoch.deltas))
    band, stubs = Band(call.band or "unknown"), state.pruned_outputs.stubs
    return assemble_frame(base, deltas, call.tail, renderer, call.budget, band, mark, stubs=stubs)
