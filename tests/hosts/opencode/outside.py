"""What comes from outside of the agent: facts that a test itself appends to the log, as another program would."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hudkit.api import Hud
from hudkit.log import Origin, Payload
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import Answer


def tell(db: Path, session: str, *payloads: Payload) -> None:
    """Append to the log of a session that the daemon has; `session` is OpenCode's id."""
    with Hud.open(db) as hud:
        (name,) = [one for one in hud.sessions() if f"/{session}@" in one]
        hud.session(name).append(*payloads, origin=Origin.USER)


def meanwhile(happens: Callable[[], None], answer: Answer) -> Callable[[CapturedRequest], Answer]:
    """A line of a script before which something happens: after the frame of this call, before that of the next."""

    def say(_: CapturedRequest) -> Answer:
        happens()
        return answer

    return say
