"""The root of every event's payload."""

from __future__ import annotations

from typing import ClassVar

import msgspec


class Payload(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=True, gc=False):
    """Root of the union. `V` is the version of a type's payload; see `upcasts`."""

    V: ClassVar[int] = 1
