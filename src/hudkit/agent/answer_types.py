"""What the last answer of a turn has to be, where the program wants a value and not words.

The model is told the JSON Schema with the prompt, and answers in text: tools and system prompt stay as they are, so
that the provider's cache keeps working. An answer that does not fit is sent back with what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from hudkit.compose import shorten, visible
from hudkit.errors import ConfigError, HudkitError
from hudkit.installation import install_hint

_FENCED = re.compile(r"```[\w-]*\n(.*?)```", re.DOTALL)

_MAX_FAULTS = 5
"""What is wrong with an answer is told up to so many places."""

_MAX_FAULT = 300


class WrongAnswer(HudkitError):
    """An answer is not of the type that was asked for; the message says where it differs."""

    code = "answer"


class AnswerType:
    """The type of an answer: a dataclass, `TypedDict`, msgspec `Struct`, pydantic model, or a JSON Schema.

    Whatever msgspec can decode will do: `list[int]`, `int | None`, `Literal["yes", "no"]`.
    """

    def __init__(self, kind: object) -> None:
        """Take a type, or the JSON Schema as a mapping. Raises `ConfigError` where no answer can be checked by it."""
        self._kind: Any = kind
        self._validator: Any = None
        if isinstance(kind, Mapping):
            self.schema: dict[str, Any] = dict(kind)
            self._validator = _schema_validator(self.schema)
        elif hasattr(self._kind, "model_json_schema"):
            self.schema = self._kind.model_json_schema()
        else:
            try:
                self.schema = msgspec.json.schema(kind)
            except (TypeError, NameError) as error:
                raise ConfigError(
                    f"an answer cannot be of the type {kind!r:.80}: {error}", hint="Use types that JSON has"
                ) from None

    @property
    def instructions(self) -> str:
        """Return what the model is told of its answer, beside the prompt."""
        schema = msgspec.json.encode(self.schema).decode()
        return (
            "When the work is done, answer with one JSON value alone, without words around it. It has to fit this "
            f"JSON Schema:\n{schema}"
        )

    def parse(self, text: str) -> Any:
        """Return the value of an answer; one in a block of code, or with words around it, is taken out.

        Raises `WrongAnswer`.
        """
        raw = _json_text(text)
        if self._validator is not None:
            value = msgspec.json.decode(raw)
            faults = sorted(self._validator.iter_errors(value), key=lambda fault: fault.json_path)
            if faults:
                raise WrongAnswer("; ".join(_described(each) for each in faults[:_MAX_FAULTS]))
            return value
        try:
            if hasattr(self._kind, "model_validate_json"):
                return self._kind.model_validate_json(raw)
            return msgspec.json.decode(raw, type=self._kind)
        except ValueError as error:  # those of msgspec and of pydantic, and of a dataclass's own checks
            raise WrongAnswer(shorten(visible(str(error)), _MAX_FAULT * _MAX_FAULTS)) from None


def wrong_answer_text(fault: WrongAnswer, wanted: AnswerType, window: Iterable[str]) -> str:
    """Return what the model is told of an answer that does not fit.

    `window` are the texts that it still sees: what it is to answer is said again where it has left them.
    """
    again = "Answer once more, with the JSON value alone."
    if not any(wanted.instructions in text for text in window):
        again = wanted.instructions
    return f"The answer does not fit: {fault.message}\n{again}"


def _schema_validator(schema: dict[str, Any]) -> Any:
    try:
        from jsonschema import SchemaError
        from jsonschema.validators import validator_for
    except ImportError as error:
        raise ConfigError(
            f"a JSON Schema is checked by the package jsonschema ({error})", hint=install_hint("session")
        ) from None
    kind = validator_for(schema)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise ConfigError(
            f"the JSON Schema of the answer is wrong at {error.json_path}: {error.message:.200}",
            hint='Such as {"type": "object", "properties": {"title": {"type": "string"}}}',
        ) from None
    return kind(schema)


def _described(fault: Any) -> str:
    return shorten(visible(f"{fault.json_path}: {fault.message}"), _MAX_FAULT)


def _json_text(text: str) -> str:
    """Return the JSON of an answer. Raises `WrongAnswer` where there is none."""
    first: msgspec.DecodeError | None = None
    for candidate in _candidates(text):
        try:
            msgspec.json.decode(candidate)
        except msgspec.DecodeError as error:
            first = first or error
        else:
            return candidate
    raise WrongAnswer(f"it is no JSON: {first}")


def _candidates(text: str) -> Iterator[str]:
    """Yield what of an answer may be its JSON: all of it, its blocks of code, what stands in brackets."""
    yield text.strip()
    yield from reversed([block.strip() for block in _FENCED.findall(text)])
    for opening, closing in ("{}", "[]"):
        start, end = text.find(opening), text.rfind(closing)
        if 0 <= start < end:
            yield text[start : end + 1]
