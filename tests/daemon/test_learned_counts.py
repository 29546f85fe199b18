"""A new session begins with what the daemon's log knows of its model; the log tells it, so that a replay knows it."""

from __future__ import annotations

from in_process import frame, post

from hudkit.api import Hud
from hudkit.daemon.handlers import RequestHandlers
from hudkit.log import Origin
from hudkit.log.payloads import ContextSnapshot, ResponseTokens

MODEL = {"id": "m", "limit": 200_000, "output": 8_000}
FIXED = {"system": 8_000, "tools": 20_000}


def lived(answering: RequestHandlers, hud: Hud, session: str, calls: int) -> None:
    transcript = []
    for n in range(calls):
        transcript.append({"anchor": f"user:{n}:", "role": "user", "size": 2_000 * (n + 1)})
        frame(answering, *transcript, session=session, model=MODEL, fixed=FIXED)
        (name,) = [one for one in hud.sessions() if f"/{session}@" in one]
        here = hud.session(name)
        request = (28_000 + sum(each["size"] for each in transcript)) // 4
        report = ContextSnapshot(request, 200_000, model="m", source="reported", spent=ResponseTokens(fresh=request))
        here.append(report, origin=Origin.HOST)


def test_the_second_session_estimates_its_first_call(hud: Hud) -> None:
    answering = RequestHandlers(hud)
    lived(answering, hud, "ses_1", 6)
    lived(answering, hud, "ses_2", 1)
    first, second = (hud.session(one).state.model_calibration.of("m") for one in hud.sessions() if "/ses_" in one)
    assert first.errors[0] > 0.1 > second.errors[0]
    assert second.reports == first.reports + 1


def test_another_model_begins_anew_and_it_is_told_once(hud: Hud) -> None:
    answering = RequestHandlers(hud)
    lived(answering, hud, "ses_1", 3)
    user = {"anchor": "user:9:", "role": "user", "size": 10}
    for model in ("m", "other", "m"):
        frame(answering, user, session="ses_2", model={**MODEL, "id": model}, fixed=FIXED)
    (name,) = [one for one in hud.sessions() if "/ses_2@" in one]
    told = [one.payload.learned for one in hud.session(name).events() if isinstance(one.payload, ContextSnapshot)]
    assert [one.model for one in told if one is not None] == ["m"]
    assert hud.session(name).state.model_calibration.of("other").reports == 0


def test_memory_context_over_the_wire_tells_the_parts(hud: Hud) -> None:
    answering = RequestHandlers(hud)
    lived(answering, hud, "ses_1", 4)
    said = post(answering, "/v1/tool", session="ses_1", router="memory", arguments={"tool": "context", "args": {}})
    assert said["ok"] and "| tool definitions ~ |" in said["text"] and "| HUD |" in said["text"]
