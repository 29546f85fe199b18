"""The notations by name: the values of an agent's `input_format`."""

from __future__ import annotations

from collections.abc import Mapping

from hudkit.rooms.hud.compact import Compact
from hudkit.rooms.hud.indented import Indented
from hudkit.rooms.hud.notation import Notation
from hudkit.rooms.hud.tabular import Tabular

NOTATIONS: Mapping[str, Notation] = {one.name: one for one in (Indented(), Compact(), Tabular())}
