"""What of a growing transcript is in the model's window at its end."""

from __future__ import annotations

import msgspec

from hudkit.transcripts.transcript import ReportedUsage


class WindowContents(msgspec.Struct, frozen=True, kw_only=True):
    """The window as a transcript's records tell it; see `FollowedTranscript` for the fields."""

    blocks: tuple[str, ...] = ()
    anchors: tuple[str, ...] = ()
    all_anchors: tuple[str, ...] = ()
    usage: ReportedUsage | None = None
    window: int | None = None
    model: str = ""
    responses: int = 0
    compactions: int = 0
    title: str = ""
    tells_remaining: bool = False
    prompt_blocks: tuple[str, ...] | None = None
