"""A call as a block of markdown for an issue: figures and names of causes, nothing that anybody said or wrote."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterator

from hudkit import __version__
from hudkit.context.caching import CallHits
from hudkit.hud.frame import Frame
from hudkit.inspector.session_record import RecordedCall, SessionRecord
from hudkit.log.secret_patterns import without_secrets
from hudkit.sections.state import HudState


def issue_text(
    record: SessionRecord, state: HudState, frame: Frame, call: RecordedCall, hits: CallHits | None
) -> str:
    """Return the facts of a call as markdown. Texts, paths, titles and ids are left out: of what was left out, only
    the sections are named."""
    return without_secrets("\n".join(_lines(record, state, frame, call, hits)) + "\n")


def _lines(
    record: SessionRecord, state: HudState, frame: Frame, call: RecordedCall, hits: CallHits | None
) -> Iterator[str]:
    snapshot, arguments = call.snapshot, call.snapshot.call
    assert arguments is not None
    yield f"### hudkit {__version__}: call {call.number} of {len(record.calls)}"
    yield ""
    yield f"- host: {state.session.host or 'not told'}, model: {snapshot.model or state.model or 'not told'}"
    yield f"- Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    window, used_tokens = record.window_of(call), call.window.used_tokens
    used = "not reported" if used_tokens is None else f"{used_tokens:,}"
    limit = f"{window.limit_tokens:,} ({window.source})"
    band, compactions = arguments.band or "unknown", state.compacted.count
    yield f"- window: {used} of {limit} tokens, band {band}, compactions: {compactions}"
    asked = arguments.density or "by what fits"
    yield (
        f"- frame: {frame.tokens} of {frame.budget} tokens, density {frame.density.value} ({asked}), "
        f"placement {arguments.placement}, counter {arguments.counter}, renderer {arguments.renderer}"
    )
    base = state.epoch.base
    if base is not None:
        yield f"- epoch {base.epoch}, because: {base.reason or 'not told'}; deltas: {len(frame.deltas)}"
    if hits is not None:
        sent = hits.carried
        yield f"- layers in tokens: base {sent.base}, deltas {sent.deltas}, tail {sent.tail}, rest {sent.rest}"
        yield f"- cache: request {hits.request}, predicted {hits.predicted}, read {hits.read}, written {hits.written}"
    for prefix_break in record.breaks_of(call):
        reason = f" ({prefix_break.reason})" if prefix_break.reason else ""
        yield f"- prefix break: {prefix_break.what}{reason}, tokens again: {prefix_break.again}"
    omitted = Counter(each.path.strip("/").partition("/")[0] for each in frame.omitted)
    if omitted:
        yield f"- left out: {', '.join(f'{name} {count}' for name, count in sorted(omitted.items()))}"
    if frame.notice:
        yield f"- notice: {frame.notice}"
