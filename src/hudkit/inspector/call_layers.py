"""What a request was made of, in tokens, call by call: for the plots and bars of several pages."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hudkit.context.caching import CacheAccount, CallHits
from hudkit.inspector.session_record import RecordedCall


class RequestLayers(msgspec.Struct, frozen=True):
    """A request by layer, in tokens. The HUD's are counted; the others are estimated from their characters.

    `host` is the host's own prompt and the definitions of its tools; it is 0 where no usage was reported.
    """

    host: int
    hud: int
    messages: int
    outputs: int
    reported: bool

    @property
    def total(self) -> int:
        """Return the tokens of the whole request."""
        return self.host + self.hud + self.messages + self.outputs


LAYER_NAMES = {
    "host": "host's prompt and tools",
    "hud": "HUD",
    "messages": "messages and calls",
    "outputs": "tool outputs",
}
"""The layers from the front of a request to its end, in words."""


def request_layers(call: RecordedCall, hits: CallHits | None, account: CacheAccount) -> RequestLayers:
    """Return the layers of a call's request; those that are estimated are scaled to what was reported."""
    parts, arguments = call.snapshot.parts, call.snapshot.call
    hud = arguments.tokens if arguments is not None else 0
    messages = round(account.per_character * parts.words) if parts is not None else 0
    outputs = sum(round(account.per_character * output.size) for output in parts.outputs) if parts is not None else 0
    reported = hits.request if hits is not None else None
    if reported is None:
        return RequestLayers(0, hud, messages, outputs, False)
    room = max(0, reported - hud)
    if messages + outputs > room:
        scale = room / (messages + outputs)
        messages, outputs = round(messages * scale), round(outputs * scale)
    return RequestLayers(max(0, room - messages - outputs), hud, messages, outputs, True)


def layers_of_calls(calls: Sequence[RecordedCall], account: CacheAccount) -> list[RequestLayers]:
    """Return the layers of several calls, in order. The host's own is taken from the call before where a call was not
    reported yet: it hardly changes."""
    hits = {each.seq: each for each in account.calls}
    layers: list[RequestLayers] = []
    for call in calls:
        now = request_layers(call, hits.get(call.seq), account)
        if not now.reported and layers:
            now = msgspec.structs.replace(now, host=layers[-1].host)
        layers.append(now)
    return layers


def output_tokens_by_tool(calls: Sequence[RecordedCall], account: CacheAccount) -> list[tuple[str, int]]:
    """Return the tokens that each tool brought over these calls, most first: estimated from its characters.

    What a compaction or a pruning took away has been brought all the same, so only growth counts.
    """
    brought: dict[str, int] = {}
    before: dict[str, int] = {}
    for call in calls:
        if call.snapshot.parts is None:
            continue
        now = {output.tool: output.size for output in call.snapshot.parts.outputs}
        for tool, size in now.items():
            brought[tool] = brought.get(tool, 0) + max(0, size - before.get(tool, 0))
        before = now
    tokens = [(tool, round(account.per_character * size)) for tool, size in brought.items()]
    return sorted(tokens, key=lambda pair: -pair[1])
