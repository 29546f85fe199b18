"""Where the HUD goes in a request of the Agents SDK: behind instructions, messages and results. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hudkit.hosts.host_session import Injection
from hudkit.hosts.openai_agents.items import Item, Span, answers, speaks

_WITH_TEXT = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")
"""Results whose output is a text, or parts with texts among them."""


def instructed(instructions: str | None, base: str) -> str | None:
    """The system prompt with the base behind it."""
    return f"{instructions}\n\n{base}" if instructions and base else base or instructions


def placed(items: Sequence[Item], found: Sequence[Span], placing: Injection) -> list[Item]:
    """The items of a request with what the HUD puts among them; what was given stays as it is."""
    out = [_stub(item, placing.stubs) for item in items]
    after: dict[int, list[Item]] = {}
    for at, blocks in placing.behind.items():
        _behind(out, found[at], blocks, after)
    if placing.tail and found:
        _behind(out, found[-1], (placing.tail,), after)
    return [one for at, item in enumerate(out) for one in (item, *after.get(at, ()))]


def beside(fresh: Sequence[Item], first: int, found: Sequence[Span], placing: Injection) -> list[Item]:
    """The same where the provider keeps the conversation, and only what is new is sent: the items from `first` on of
    the transcript. None of them may change there, so blocks are messages of their own. No tail: it would stay."""
    out: list[Item] = []
    at = first
    for n, span in enumerate(found):
        if span.end <= first:
            continue
        out += fresh[at - first : span.end - first]
        at = span.end
        out += [{"role": "user", "content": block} for block in placing.behind.get(n, ())]
    return out


def _behind(out: list[Item], span: Span, blocks: Sequence[str], after: dict[int, list[Item]]) -> None:
    if speaks(out[span.start]):
        content = out[span.start].get("content")
        given = content if isinstance(content, list) else [_part(str(content))]
        out[span.start] = {**out[span.start], "content": [*given, *map(_part, blocks)]}
        return
    for at in reversed(range(span.start, span.end)):
        if answers(out[at]) and out[at].get("type") in _WITH_TEXT:
            output = out[at].get("output")
            text = "\n" + "\n".join(blocks)
            whole = [*output, _part(text)] if isinstance(output, list) else f"{output}{text}"
            out[at] = {**out[at], "output": whole}
            return
    after.setdefault(span.end - 1, []).extend({"role": "user", "content": block} for block in blocks)


def _stub(item: Item, stubs: Mapping[str, str]) -> Item:
    text = stubs.get(str(item.get("call_id"))) if answers(item) else None
    return item if text is None else {**item, "output": text}


def _part(text: str) -> Item:
    return {"type": "input_text", "text": text}
