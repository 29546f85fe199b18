"""What is true of a session, and how it is shown: one module a section, one table, one fold into `HudState`."""

from hudkit.sections.state import STATE_FIELDS, STATE_VERSION, HudState, apply, decode_state, encode_state, fold

__all__ = ["STATE_FIELDS", "STATE_VERSION", "HudState", "apply", "decode_state", "encode_state", "fold"]
