"""Places in a prompt, `{{name}}`, which a world's rules fill in: what agents are told holds in their world."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from hudkit.rooms.rules import Rules

PLACES: Mapping[str, Callable[[Rules], float]] = {
    "fastest": lambda rules: rules.tempo.least,
    "slowest": lambda rules: rules.tempo.most,
    "step": lambda rules: rules.tempo.step,
    "least_wpm": lambda rules: rules.words.least_wpm,
    "most_wpm": lambda rules: rules.words.most_wpm,
    "least_words": lambda rules: rules.words.least,
    "most_words": lambda rules: rules.words.most,
    "name": lambda rules: rules.caps.name,
    "message": lambda rules: rules.caps.message,
    "knowledge": lambda rules: rules.tokens.knowledge,
    "actions": lambda rules: rules.tokens.actions,
}
"""What may stand between the braces, and the number it becomes."""

_PLACE = re.compile(r"\{\{([^{}\n]*)\}\}")


def filled(text: str, rules: Rules) -> str:
    """The text with every known place filled in."""
    return _PLACE.sub(lambda found: f"{PLACES[found[1]](rules):g}" if found[1] in PLACES else found[0], text)


def unknown_places(text: str) -> Iterator[tuple[int, str]]:
    """Offset and name of each place that there is not."""
    for found in _PLACE.finditer(text):
        if found[1] not in PLACES:
            yield found.start(), found[1]
