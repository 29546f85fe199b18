"""What is true: one pure reducer per concern, folded into `HudState`."""

from hudkit.sections.state import SECTIONS, VERSION, HudState, apply, dump, fold, load

__all__ = ["SECTIONS", "VERSION", "HudState", "apply", "dump", "fold", "load"]
