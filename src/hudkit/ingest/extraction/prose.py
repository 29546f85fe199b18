"""A message as sentences of its author's own, and the words of a text that carry its subject.

Rules and decisions are looked for in what a person says, not in what a person shows. So code, logs, diffs, quotations
and pasted output are left out first: by fences and tags, then line by line. What is left is joined to paragraphs and
bullets, and cut at the ends of sentences. What is in quotes stays in `text`, but is blanked in `bare`, where patterns
look. Both have the same length, so that a place in the one is a place in the other.

For example, the message

    Two rules:
    - call it "never again"
    2026-03-02T09:14:07Z ERROR must not be empty

has the sentences `Two rules:` and, as a bullet whose `lead` is `Two rules:`, `call it "never again"` with the text
`call it "····· ·····"` as `bare`. The line of the log is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import msgspec

from hudkit.ingest.extraction.caseless import any_case

_MAX_MESSAGE = 12_000
"""Characters of a message that are read, half from its beginning and half from its end: people ask before and after
what they paste."""

_MAX_SENTENCE = 600
"""A longer run of characters without an end is a paste, not a sentence."""

_HARD_WRAP = 55
"""From this length on, a line that ends inside a sentence was wrapped by an editor, and the next one goes on."""

_CACHED_TEXTS = 4_096  # the rules and decisions that stand are compared with every message

_BLANK = "·"
"""Stands for each character in quotes or code. Patterns name it where something in quotes may stand."""

_PASTED: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern)
    for pattern in (
        r"^\s*\[?\d{4}[-/]\d\d[-/]\d\d[T ,]\s?\d\d:\d\d",  # times
        r"^\s*\[?\d\d:\d\d:\d\d",
        r"^\s*\[\s*\d+\.\d+\]",
        r"^\w{3} +\d+ \d\d:\d\d:\d\d ",
        r"^\s*\[?(?:ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL|CRITICAL|NOTICE)\b",
        r"^\s*(?:Traceback|Caused by|goroutine \d|thread '|panic:|fatal:|error(?:\[\w+\])?:|warning:)",
        r"^\s*[VDIWEF]\s?[(/]\s*[\w.-]+\s*\)?",
        r"^\s*File \"",
        r"^\s+at \S+",
        r"^[\w.]*(?:Error|Exception|Warning)\b:",
        r"^\s*(?:[$#%>]|>>>|PS [^>]*>) ?\S*(?:/|\w+ )",  # prompts, quotes, comments
        r"^\s*>",
        r"^(?:\+\+\+|---|@@|diff --git|index [0-9a-f]{7})",
        r"^[+-](?![ \d])\S",
        r"^\s*(?://|/\*|\*/|--\s|;;|<!--|#)",
        r"^\s*[\w.\-]+\s*=\s*\S",
        r"^\s*\[\w[\w.\-]*\]\s*$",
        r"^\s*[\[{}\]]",
        r"^\s*\"[\w.\-]+\"\s*:",
        r"^\s*</?\w+[^>]*>",
        r"^\s*(?:FAIL|PASS|FAILED|PASSED)\s|^(?:not )?ok\s+(?:\d|\S+\s+[\d(.])",
        r"^\s*\w+\.\w+\(\) .*",
        r"\S {3,}\S.*\S {2,}\S",  # columns
        r"^\s*exit status \d|^\s*make(?:\[\d+\])?: ",
        r"[;{]\s*$",
    )
)
"""Lines of logs, traces, shells, diffs, code and settings: somebody else's words."""

_BEGINS_OUTPUT = re.compile(
    r"^\s*(?:(?:[$#%]|>>>|PS [^>]*>) ?[\w./~-]|Traceback|Caused by|panic:|fatal:"
    r"|(?:[\w.]*(?:Error|Exception)|error(?:\[\w+\])?|warning):"
    r"|\[?(?:ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL|CRITICAL)\b|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d"
    r"|SELECT\b|INSERT INTO\b|UPDATE \w+ SET\b|DELETE FROM\b|WITH \w+ AS\b|CREATE (?:TABLE|VIEW)\b|ALTER TABLE\b)"
)
"""A line with which something pasted begins that runs over several lines: of a shell, a trace, a log, a query."""

_IS_SAID = re.compile(
    r"^[a-z][a-z',-]*[.!]?(?: [a-z][a-z',-]*[.!]?)*[^\w:]*$|\?[\s)!]*$"
    r"|^(?![A-Z]{2})(?i:please|pls|plz|can|could|would|will|how|why|what|which|where|who|so|now|then|i|i'm|i've|we|and|but|ok|okay|also|any|help|this|that|it|is|are|do|does"
    r"|did|never|don't|always|thanks|sorry|ugh|hm+|from|for|let's|note|remember)\b(?!:)"
)
"""A line behind pasted ones that somebody says himself."""

_FENCE = re.compile(r"^\s*(```|~~~)")
_TAG_OPEN = re.compile(r"^\s*<([A-Za-z][\w-]*)(?:\s[^>]*)?>\s*$")
_BULLET = re.compile(r"^\s*(?:[-*•+]|\(?\d{1,2}[.)])\s+(?:\[[ xX]\]\s+)?")
_QUOTED = re.compile(
    r"\"[^\"]{0,1500}\"|“[^”]{0,1500}”|«[^»]{0,1500}»|`[^`]{0,200}`|(?<!\w)'(?:[^'\n]|(?<=\w)'(?=\w)){1,300}'(?!\w)",
    re.S,
)
_END = re.compile(r"(?:(?:[.!?]+|…|;)[\"')\]]*|(?<=\s)[:;]-?[)DP(]+)(?:\s+|$)")
_ABBREVIATED = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|incl|resp|Dr|Mr|Ms|Mrs|St|No|z\.B|bzw|usw|ca)|\b[A-Z])\.$"
)
_HEADING = any_case(
    r"^#{1,6}\s+(?:\w+\s+){0,3}(?:rules|constraints|requirements|guidelines|conventions|principles|restrictions)\s*:?\s*$"
)
"""A heading of a person's own, where others are comments."""

_WORD = re.compile(r"[\w][\w./=()+#'-]*[\w)/]|\w")

_EMPTY_WORDS: frozenset[str] = frozenset(
    """
    a about above after again ago all alone also although altogether always am an and any anymore anything anyway are
    as ask at be because been before but by can could did do does don't dont done down each either else even ever
    every everything exactly far few fine first for from get go going good had has have he her here him his how i i'd
    i'll i'm i've if in instead into is isn't it it's its just keep kept leave let let's like long longer make makes
    many may maybe me might mind more most much must my need needn't never new no not nothing now of off oh ok okay on
    once one only or other our out over own part place please put quite rather really right said same say says see
    shall she should so some something still stop such sure take than that that's the their them then there these they
    thing this those though to too two under until up us use used using very want was way we we'll we're well were
    what when where which while who why will with within without would yes yet you you'd you'll you're you've your
    rule rules constraint restriction requirement decision decided decide longer
    """.split()  # noqa: SIM905
)
"""Words that say nothing of a subject."""

_NUMBERS = frozenset({"two", "one"})  # "two spaces" and "one space" are different rules


class Sentence(msgspec.Struct, frozen=True):
    """One sentence of a message."""

    text: str
    bare: str
    """The text with what is in quotes or code blanked; as long as `text`."""
    asks: bool = False
    """It ends with a question mark."""
    bullet: bool = False
    lead: str = ""
    """For a bullet, the line that led to its list; empty where none did."""
    block: int = 0
    """The number of the line or bullet that it is in, hard-wrapped lines as one."""
    paragraph: int = 0
    """The number of the paragraph that it is in: of the lines between two empty ones."""


LABEL = re.compile(r"^[A-Z][A-Z]+(?:[ _-][A-Z]+){0,3}: (?=\S)")
"""Words in capitals before a sentence: a label, which says nothing of it."""


def line_of(sentence: Sentence) -> str:
    """Return a sentence in one line, as it is stored with what was read in it."""
    return _in_one_line(sentence.text)


@lru_cache(maxsize=256)  # each step of a message asks for it
def _in_one_line(text: str) -> str:
    return " ".join(text.split())


def split_sentences(message: str) -> tuple[Sentence, ...]:
    """Return the sentences of a message in order; those of a bullet have the line above their list as `lead`."""
    return tuple(_sentences(message))


@lru_cache(maxsize=_CACHED_TEXTS)
def subject_stems(text: str) -> frozenset[str]:
    """Return the stems of the words of a text that carry its subject; where none does, of all its words."""
    words = [word.casefold().strip("'") for word in _WORD.findall(text)]
    stems = frozenset(_stem(word) for word in words if word not in _EMPTY_WORDS or word in _NUMBERS)
    return stems or frozenset(_stem(word) for word in words)


@lru_cache(maxsize=_CACHED_TEXTS)
def word_stems(text: str) -> frozenset[str]:
    """Return the stems of the words that carry a text's subject, compound words in parts; empty where none does."""
    words = re.findall(r"[^\W_]+(?:'[a-z]+)?", text.casefold())
    return frozenset(_stem(word) for word in words if word not in _EMPTY_WORDS and len(word) > 1)


def overlap(first: frozenset[str], second: frozenset[str]) -> float:
    """Return how much of the smaller set is in the other: 0 to 1."""
    return len(first & second) / min(len(first), len(second)) if first and second else 0.0


@lru_cache(maxsize=_CACHED_TEXTS)
def normalized_text(text: str) -> str:
    """Return a text as it is compared: letters and digits in lower case, single spaces."""
    return " ".join(re.findall(r"[\w./()=+#-]*\w[)]*", text.casefold()))


def _stem(word: str) -> str:
    """A word without its commonest endings; names (with dots, slashes, digits) stay as they are."""
    if not word.isalpha() or len(word) < 5:
        return word[:-1] if word.isalpha() and len(word) == 4 and word.endswith("s") else word
    for ending, instead in (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""), ("e", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)] + instead
    return word


# -- sentences -------------------------------------------------------------------------------------------------


def _sentences(message: str) -> Iterator[Sentence]:
    if len(message) > _MAX_MESSAGE:
        message = f"{message[: _MAX_MESSAGE // 2]}\n\n{message[-_MAX_MESSAGE // 2 :]}"
    lead = ""
    for block, (text, bullet, paragraph) in enumerate(_blocks(message)):
        bare = _QUOTED.sub(_blanked, text)
        pieces = _split(text, bare, bullet, lead if bullet else "")
        sentences = [Sentence(*piece, block, paragraph) for piece in pieces]
        if not bullet:
            lead = _lead_of(text, sentences)
        yield from sentences


def _lead_of(text: str, sentences: list[Sentence]) -> str:
    """The line that leads to a list behind this paragraph: its last sentence, where that reads like a heading."""
    if not sentences:
        return ""
    last = sentences[-1].text
    # An end that was cut off with the sentence still shows in the paragraph.
    return last.strip("*_# ") if _leads(text if text.rstrip().endswith(":") else last) else ""


def _leads(text: str) -> bool:
    """Whether a line is a heading for the list behind it."""
    text = text.strip("*_ ")
    return text.endswith(":") or (len(text.split()) <= 5 and text[-1:] not in ".!?…)")


def _blanked(match: re.Match[str]) -> str:
    quoted = match.group()
    if "\n" not in quoted and quoted[0] in "`'" and len(quoted) < 3:
        return quoted
    blanks = "".join(" " if character.isspace() else _BLANK for character in quoted[1:-1])
    return quoted[0] + blanks + quoted[-1]


def _split(text: str, bare: str, bullet: bool, lead: str) -> Iterator[tuple[str, str, bool, bool, str]]:
    start = 0
    ends = (match.end() for match in _END.finditer(bare) if not _is_abbreviation(bare, match))
    for end in (*ends, len(bare)):
        piece, cover = text[start:end].strip(), bare[start:end].strip()
        start = end
        if piece and len(piece) <= _MAX_SENTENCE and not _is_word_list(cover):
            asks = cover.rstrip("\"')] ").endswith("?")
            yield piece.rstrip("; "), cover.rstrip("; "), asks, bullet, lead


_SMALL_WORD = any_case(
    r"\b(?:the|an?|to|of|and|or|but|is|are|was|were|be|been|has|have|had|do|does|did|will|would|can|could|may|might|must|should|not|no|never|always|only|i|you|we|he|she|it|they|me|us|him|them|my|your|our|his|its|their|this|that|these|those|in|on|for|with|by|from|at|as|so|if|when|than|because|let|please|der|die|das|den|und|nicht|keine?n?|bitte|ist|sind|mit|immer|nie)\b|[^\w\s.!?]|[^\x00-\x7f]"
)
"""A word or a mark that holds a sentence together."""

_MIN_HELD = 10
"""Words from which on a sentence of English has one of those."""


def _is_word_list(text: str) -> bool:
    """Whether words only stand in a row, as in a list of keywords, a header of columns, or what a program prints."""
    return _SMALL_WORD.search(text) is None and len(text.split()) >= _MIN_HELD


def _is_abbreviation(bare: str, match: re.Match[str]) -> bool:
    before, behind = bare[: match.start() + 1][-8:], bare[match.end() : match.end() + 1]
    # "Max. 3" goes on, "10 a day max. Then …" does not.
    if behind.isdigit() and before.casefold().endswith(("max.", "min.")):
        return True
    return bool(_ABBREVIATED.search(before)) and match.end() < len(bare)


# -- paragraphs, and lines that are the author's own -----------------------------------------------------------


def _blocks(message: str) -> Iterator[tuple[str, bool, int]]:
    """Lines and bullets, hard-wrapped lines joined, in which no line is a paste; whether each is a bullet, and the
    number of its paragraph."""
    block, bullet, paragraph = "", False, 0
    for line in (*_own_lines(_unquoted(message)), ""):
        begins = bool(_BULLET.match(line))
        goes_on = bool(block and line) and not begins
        if goes_on and ((bullet and line[0].isspace()) or _wrapped(block, line)):
            block = f"{block} {line.strip()}"
            continue
        if block:
            yield block, bullet, paragraph
        paragraph += not line
        block, bullet = (_BULLET.sub("", line).strip() if begins else line.strip()), begins


def _wrapped(block: str, line: str) -> bool:
    return len(block) >= _HARD_WRAP and block[-1] not in ".!?:;" and line.lstrip()[:1].islower()


def _unquoted(message: str) -> str:
    """The message without quotations that stand for themselves: from a line that begins with a quotation mark to one
    that ends with it."""
    return re.sub(r"(?m)^[ \t]*[\"“][^\"“”]{20,}[\"”][ \t]*$", "", message)


def _own_lines(message: str) -> Iterator[str]:
    """The lines of a message, those that its author did not write as empty lines: they still end a paragraph."""
    fence, tag, pasted, in_output = "", "", False, False
    for line in message.splitlines():
        mark = _FENCE.match(line)
        if fence or tag:
            if fence and mark and line.strip().startswith(fence):
                fence = ""
            elif tag and line.strip().startswith(f"</{tag}"):
                tag = ""
            continue
        opening = _TAG_OPEN.match(line)
        if mark:
            fence = mark.group(1)
        elif opening and f"</{opening.group(1)}" in message:
            tag = opening.group(1)
        elif not line.strip():
            pasted = in_output = False
            yield ""
        elif _is_paste(line) or (pasted and line[0].isspace()) or (in_output and not _is_said(line)):
            in_output = in_output or _BEGINS_OUTPUT.match(line) is not None
            pasted = True
            yield ""
        elif line.startswith(("    ", "\t")) and not _BULLET.match(line):
            yield ""
        else:
            yield line


def _is_said(line: str) -> bool:
    """Whether a line behind printed ones is the author's own."""
    return _BULLET.match(line) is not None or _IS_SAID.search(line[:400]) is not None


def _is_paste(line: str) -> bool:
    if _HEADING.match(line):
        return False
    return any(pattern.search(line[:400]) for pattern in (_BEGINS_OUTPUT, *_PASTED))
