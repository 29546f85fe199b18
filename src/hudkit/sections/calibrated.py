"""What the requests of a session measured: parts as the host told them, tokens as they were reported, and what that
says of how the models count."""

from __future__ import annotations

import msgspec

from hudkit.log.event import Event
from hudkit.log.payloads import CompactAfter, ContextSnapshot, Learned, Parts, Spent
from hudkit.sections.calibration import Calibration, Vector, inherited, learn, sound

MODELS_KEPT = 4
"""Models of a session of which it is remembered how they count, the one in use last."""


SYSTEM = 0.3
"""The share of a system prompt in what a host sends beside the messages, where only that is not told."""


class Asked(msgspec.Struct, frozen=True, omit_defaults=True):
    """A request of a model at a time (Unix ms): its parts, its number of messages, tokens of its frame by our
    counter, and what was reported of it (`None`: nothing yet)."""

    model: str
    at: int
    parts: Parts
    messages: int = 0
    hud: int = 0
    spent: Spent | None = None


class Calibrated(msgspec.Struct, frozen=True, omit_defaults=True):
    """`last` is the last request that told its parts, `reported` the last of which usage was reported; both `None`
    after a compaction until the next."""

    models: tuple[Calibration, ...] = ()
    last: Asked | None = None
    reported: Asked | None = None

    def of(self, model: str) -> Calibration:
        """What is known of a model."""
        return next((one for one in self.models if one.model == model), Calibration(model))


HANDLES = (ContextSnapshot, CompactAfter)


def amounts_of(asked: Asked) -> Vector:
    """The amounts of a request, as `hudkit.sections.calibration` takes them."""
    parts = asked.parts
    untold = 1.0 if parts.system is None and parts.tools is None else SYSTEM if parts.system is None else 0.0
    outputs = sum(one.size for one in parts.outputs)
    told = (parts.system or 0, parts.tools or 0, untold, parts.words, outputs, asked.messages, asked.hud)
    return tuple(float(max(0, each)) for each in told)


def reduce(known: Calibrated, event: Event) -> Calibrated:
    match event.payload:
        case ContextSnapshot() as taken:
            if taken.learned is not None:
                known = _taken_over(known, taken.learned)
            if taken.spent is not None:
                known = _reported(known, taken, event.timestamp)
            if taken.call is not None and taken.parts is not None:
                sent = taken.sent.messages if taken.sent else 0
                model = taken.model or (known.last.model if known.last else "")
                asked = Asked(model, event.timestamp, taken.parts, sent, taken.call.tokens)
                known = msgspec.structs.replace(known, last=asked)
            return known
        case CompactAfter():
            return msgspec.structs.replace(known, last=None, reported=None)
    return known


def _reported(known: Calibrated, taken: ContextSnapshot, at: int) -> Calibrated:
    """A report belongs to the last request, where that has none yet and was made before: reports of responses from
    before the HUD, of another model's, and of calls that were not told, belong to none."""
    asked, spent = known.last, taken.spent
    assert spent is not None
    if asked is None or asked.spent is not None or at < asked.at or (taken.model and taken.model != asked.model):
        return known
    asked = msgspec.structs.replace(asked, spent=spent)
    found = learn(known.of(asked.model), amounts_of(asked), spent.request)
    return Calibrated(_with(known.models, found), asked, asked)


def _taken_over(known: Calibrated, told: Learned) -> Calibrated:
    """What is learned here goes before what others learned, and vectors of another version are passed over."""
    if not sound(told.factors, told.doubts) or known.of(told.model).reports:
        return known
    begun = inherited(Calibration(told.model, told.factors, told.doubts, reports=told.reports))
    return msgspec.structs.replace(known, models=_with(known.models, begun))


def _with(models: tuple[Calibration, ...], one: Calibration) -> tuple[Calibration, ...]:
    return (*(each for each in models if each.model != one.model), one)[-MODELS_KEPT:]
