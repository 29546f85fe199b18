"""Pairs of messages that settle something: the agent's question and its answer, a proposal and the agreement to it.

The last sentences of the agent's message are read for an offer (`find_offer`): a thing that it may do ("Shall I …?", "I
suggest …"), names of which one is to be chosen ("… pytest or unittest?"), options with letters, or an open question.
The user's next message is read for an answer (`find_answer`): yes, no, one of the names, or a few words.

For example, "Should I write the tests with pytest or unittest?" and "pytest" are the decision `write the tests with pytest`;
"I'd propose a timeout of 30 seconds." and "make it 10" are `a timeout of 10 seconds`.
"""

# ruff: noqa: E501 (a table of patterns is read by its rows)
from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from hudkit.ingest.extraction.caseless import any_case
from hudkit.ingest.extraction.prose import Sentence, word_stems
from hudkit.ingest.extraction.values import find_values, with_value

_MAX_OFFER = 160
_MAX_ANSWER_WORDS = 8
"""Words of an answer that names what is chosen: a longer one says something of its own."""

_LAST_SENTENCES = 3
"""Sentences at the end of an agent's message in which an offer may stand; one before them is over."""


class Offer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an agent's message leaves to the user.

    `text` is what is done where he agrees, or the question; `options` are the names to choose from, each with what it
    stands for.
    """

    text: str = ""
    options: tuple[tuple[str, str], ...] = ()
    is_open: bool = False
    """It is a question that any words may answer."""
    yes_no: bool = False

    def __bool__(self) -> bool:
        return bool(self.text or self.options)


class Answer(msgspec.Struct, frozen=True):
    """A decision that an answer makes, and how it was made: `answer` or `agreement`; empty where it refuses."""

    summary: str = ""
    form: str = ""
    used: int = 0
    """Sentences at the beginning of the message that are the answer."""


_ASKS_LEAVE = any_case(
    r"^(?:(?:so|ok(?:ay)?|and|also|or|then|alternatively)[,:]? )?(?:(?:shall|should|may|can|could|might) (?:i|we) (?:also |now |just |then )?|(?:do|would) you (?:want|like|prefer) (?:me|us) to (?:also |now |just |then )?|want me to |(?:is it|would it be) (?:ok(?:ay)?|fine|all right) (?:for you )?(?:if (?:i|we)|to) |ok(?:ay)? (?:if i|to) )(?P<what>.+?)\?*$"
)
_ASKS_WHETHER = any_case(
    r"^(?:and |so |then )?should (?P<what>(?:the|our|all|every|each|new|old|users?|it)\b[\w' -]*?) (?P<verb>be|have|get|show|use|return|accept|go|stay|contain|include|support|keep|run|start|end|send|open|appear|work)\b(?P<rest>[^?]*)\?$"
)
_PROPOSES = any_case(
    r"^(?:(?:so|ok(?:ay)?|or|and|also|then|here|instead|alternatively|in that case|personally)[,:]? )?(?:(?:i|we)(?:'d| would|'ll)? (?:suggest|propose|recommend|advise)(?: that)?(?: (?:we|you|i|to))?|my (?:suggestion|proposal|recommendation) (?:is|would be)(?: that we| to)?:?|(?:how|what) about|(?:i|we) (?:could|can|might|would)|let's say|(?:i think |i believe |imo,? |in my view,? |personally,? )?(?:i'd|i would) (?:go with|use|choose|take|opt for|pick|lean towards?|vote for|start with)|(?:i think|i believe|imo,?|in my view,?) (?:we|you|i) (?:should|could|ought to|can)|let me (?:propose|suggest)(?: the following)?:?|it(?:'d| would) (?:also )?be (?:a lot |much )?(?:cleaner|better|simpler|nicer|safer|easier|best|good|faster|worth \\w+ing|worthwhile) (?:to|if (?:we|i))) (?P<what>.+?)[.?!]*$"
)
_THEREFORE = any_case(
    r"^[^,;]{3,80}[,;] (?:so|then|therefore) (?P<proposal>(?:i'd|i would|i|we'd|we could|how about|let's)\b .+)$"
)
"""A proposal with its reason before it."""

_ONE_NAME = any_case(
    r"\b(?:suggest|propose|recommend|advise|use|choose|take|pick|opt for|go with|vote for|start with) [\w+#.'/\"-]+[.!]*$"
)
"""A proposal of which the sentence alone says what it is of: its object is a name."""

_WOULD_DO = any_case(
    r"^(?:(?:for .{3,30} )?(?:i|we)(?:'d| would) (?P<what>(?!be\b|have\b|like\b|love\b|say\b|need\b|not\b|expect\b|guess\b|think\b|imagine\b|assume\b|see\b|know\b|want\b|first\b|now\b|next\b|then\b|also need\b)\w+ (?!.*\b(?:but|so)\b).+)|(?!(?:that|this|it|there|which|what|who|nothing)\b)[^,;]{3,60} would (?:fit|suit|do|be (?:free|enough|better|cheaper|nicer|simpler|cleaner|faster|the (?:best|natural|obvious|usual) \w+))\b.*)$"
)
"""What would be done, or would do, where nothing is asked."""

_WOULD_BE = any_case(
    r"^(?:(?:and|so|or),? )?would (?P<what>[^?]{2,60}?) (?:be|also be) (?P<how>acceptable|ok(?:ay)?|fine|all right|an option|good enough)(?: for you| with you| too| instead)?\?$"
)

_OPTIONS = any_case(r"\b(?:option |variant |plan )(?P<name>[a-d1-4])\b[:,)]? (?P<what>[^,;.]+)")
_LETTERED = any_case(r"^\(?(?P<name>[a-d1-4])[).:] (?P<what>.+)$")
_OR = any_case(r",? or (?:rather |maybe |just |with |in |to |as )?")
_NAME = any_case(r"(?:an? |the )?[\w.+/'-]+(?: [\w.+/'-]+){0,3}")
_MAX_NAME = 6
"""Words of the last of two names, at the end of a question."""

_RUN = re.compile(r"[\w.+/'-]*")
_EITHER_OR = any_case(
    r"^either (?:we |i )?(?P<lead>(?:\w+ ){0,3}?)(?P<first>(?:(?:on|in|with|by|as|at|to) )?(?:the |an? )?[\w.+-]+) or (?P<second>(?:(?:on|in|with|by|as|at|to) )?(?:the |an? )?[\w.+-]+)[.?!]*$"
)
_TWO = any_case(
    r"^(?:.{0,40}\b)?(?:two|three|several|some|possible|the) (?:options|ways|choices|possibilities|alternatives|approaches)\b(?: for (?P<subject>[^:,.]{1,30})|[^:,.]{0,40}): (?P<list>.+?)\.?$"
)
_MOMENTARY = any_case(
    r"^(?:(?:now|then|also|first|next|just) )*(?:run|begin|look|check|show|continue|proceed|start|open|read|explain|try|commit|push|go (?:on|ahead)|help|take a|give|tell|see|have a|provide|elaborate|clarify|know|ask|assist|walk|dive|be of|know|summari[sz]e|list|expand|share|review|stop|wait)\b"
)
"""What is done at once and then over: that it was agreed to is no decision."""

_ASKS_CHOICE = any_case(
    r"^(?!.*\b(?:first|next|else|start with|begin with|help|mean|happen (?!to\b|with\b|when\b|if\b)|change)\b).*\b(?:should|shall|do you want|would you like|do you prefer|to use)\b"
)
"""A question of which the answer says how something is to be."""
_CHAT = any_case(
    r"\b(?:any|another|specific|further|more|questions?|explore|discuss|practice|proceed|continue|help|anything|something|details?|else|next|start with|conduct|examples?|dive|elaborate)\b"
)
"""Words of an offer to go on talking."""
_PRONOUN_END = any_case(
    r"\b(?:it|that|this|them|one|some|those|these|so)(?: (?:now|too|as well|for you|next|first))?$"
)

_YES = any_case(
    r"^(?:(?:oh|ah|well),? )?(?:(?:yes|yep|yeah|yup|ok(?:ay)?|sure|agreed|fine|great|perfect|good|right|exactly|deal|absolutely|definitely|certainly|of course|please|nice|cool|sounds (?:good|fine|great|right|reasonable|ok(?:ay)?|perfect)(?: to me)?|i like (?:it|that)|good idea|great idea|makes sense|go ahead|go for it|(?:yes,? )?(?:please )?do (?:that|it|so)|let's do (?:that|it|so)|please do|by all means|fine by me|works for me|i agree|\+1|lgtm|why not|ja|gerne|do that please|that works|approved|good call|good point|good thinking|ok(?:ay)? (?:for|by|with) me|fine with me|(?:then |ok(?:ay)?,? |so )*do (?:it|that)(?: that way| like that| so)?|then do (?:it|that)(?: that way)?|let's|sold|done|fair enough|sounds like a plan|no objections?|none,? (?:makes sense|from me|at all|here)|you(?:['’]ve)? convinced me|that['’]s (?:nicer|better|even better)|(?:great|good|fine|ok(?:ay)?),? that one|do it that way|sure thing|i'm in|convinced|wfm|love it|you're right|go)(?: please| then| thanks?| thank you)?[,.!]* ?)+(?:$|(?=(?:and|but only|with)\b))"
)
_YES_WITH_OTHER = any_case(
    r"^(?:yes|yeah|fine|ok(?:ay)?|sure|agreed|good|deal|great)[,.]? (?:but |with |only |just |make (?:it|that) |rather )+(?P<value>.{1,30})$"
)
_YES_BUT = any_case(
    r"^(?:yes|yep|yeah|sure|ok(?:ay)?|agreed|please do|go ahead)[,.:] (?P<how>(?!(?:i|we|you|it|that|this|what|how|why|can|could)\b)(?:\S+ ?){1,6})$"
)
_PRAISE = any_case(
    r"(?:(?:oh|ah),? )?(?:(?:great|good|nice|cool|perfect|right|fine|exactly|ok(?:ay)?|thanks?)(?: (?:point|call|thinking))?[,.! ]*)+"
)
_YES_AND = any_case(
    r"^(?:yes|yep|yeah|sure|ok(?:ay)?|agreed|good idea|please do|go ahead|do that)(?: please)?[,.!:]? (?!but\b|if\b|or\b|though\b)(?:and|please|with|also)\b"
)
_NO = any_case(
    r"^(?:no|nope|nah|not|rather not|better not|don't|do not|please don't|never|leave (?:it|that)|keep (?:it|that)|skip (?:it|that)|nein|lieber nicht)\b"
)
_NO_SUCH = any_case(
    r"^no (?!thanks?\b|please\b|need\b|not\b|way\b|problem\b|i\b|we\b|that\b|it\b|don['’]t\b)[\w-]+(?: [\w-]+){0,3}$"
)
"""A rule, not an answer: "no fallback"."""

_NO_BUT = any_case(
    r"^(?:no|nope|nah|rather not|better not)(?: thanks?| please)?[,.:;–-]+ (?:just |rather |please |but |better |instead )*(?P<rest>(?!(?:i|we|you|it|that|this|they|he|she|what|why|how|not|no|first|thanks?|let|wait|leave|keep it|never ?mind|the|a|just|only (?:the|a|if|when|this|that)|go|forget)\b)\S+(?: \S+){2,14})$"
)
"""What is to be done in the place of what was proposed."""

_ORDINALS = {"first": 0, "former": 0, "second": 1, "latter": 1, "other": 1, "third": 2, "last": -1}
_ORDINAL = any_case(
    r"^(?:(?:ok(?:ay)?|then|so|well|hm+|i['’]d take|take|let['’]s take|i prefer|please|rather)[,:]? )*(?:the )?(?P<place>first|second|third|former|latter|last|other)(?: (?:one|option|way|idea|variant))?(?:,? (?:please|then|it is|thanks?))*(?=$|[,;:–-])(?P<rest>.*)$"
)
_FILLS = any_case(r"(?:well|oh|ah|so|and|actually|honestly|look|listen|hey|right|now|in that case|to be honest)")
_SAYS_MORE = any_case(r"(?:but|only|with|and|except)\b")
_THE_ONE = any_case(r"\b(?:the|one|option|variant)\b")
_MAX_NAMED = 4
"""Words of a name that answers, with a reason behind a comma."""

_MAX_REST = 12
"""Words behind a choice that say more of it."""

_MAKE_IT = any_case(
    r"^(?:(?:yes|ok(?:ay)?|sure|fine|good|no|nah|but|rather|better)[,.]? )*(?:(?:make|let's make|use|take) (?:it|that)|rather|better|only|just)? ?(?P<value>[^,.;]{1,30}?)(?: (?:please|then|instead))?$"
)
_IS_ENOUGH = any_case(r"\b(?:is|are) (?:fine|enough|ok(?:ay)?|plenty|sufficient)$")
"""Said of what is there: nothing of the proposal is wanted."""
_PICK = any_case(
    r"^(?:(?:ok(?:ay)?|then|hm+|well|so|i'd say|i think|let's (?:go with|take|use|do)|go with|take|use|please|i(?:'d)? prefer|rather|definitely|the|option|variant|plan)[,:]? )*(?P<pick>.+?)(?:,? (?:please|then|it is|instead|thanks?|i (?:think|guess)|for now))*$"
)
_NO_ANSWER = any_case(
    r"^(?:hm+|why|what|how|which|who|when|where|whatever|you (?:decide|choose|pick)|up to you|don't (?:know|care)|dunno|not sure|no idea|both|neither|none|either|maybe|later|let me|i(?:'ll| will| don't| need| have| am|'m)|wait|stop|thanks?|can you|could you|sorry|never ?mind|good question|it depends|depends)\b"
)


def find_offer(sentences: Sequence[Sentence]) -> Offer:
    """Return what the end of an agent's message leaves to the user; an empty offer where it leaves nothing."""
    last = sentences[-_LAST_SENTENCES:]
    options = _lettered_options(sentences)
    if options:
        return Offer(options=options)
    for place in range(len(last) - 1, -1, -1):
        sentence = last[place]
        offer = _offer_of(sentence)
        if offer and not offer.is_open:
            return _with_context(offer, "" if place == 0 or last[place - 1].asks else last[place - 1].text)
        if not offer and place and re.match(r"(?i)^which(?: one)?(?: do you .*)?\?$", sentence.text):
            before = _offer_of(last[place - 1])
            if before.options:
                return before
        if offer.is_open:
            # "Two options: a cron job or a queue worker. Which one do you want?"
            before = _offer_of(last[place - 1]) if place else Offer()
            return before if before.options else offer
    return Offer()


def _offer_of(sentence: Sentence) -> Offer:
    text = " ".join(sentence.text.replace("’", "'").split())
    if len(text) > 2 * _MAX_OFFER:
        return Offer()
    either_or = _EITHER_OR.match(text)
    if either_or:
        lead = either_or["lead"].strip()
        both = [_bare_name(either_or[group]) for group in ("first", "second")]
        return Offer(options=tuple((name, f"{lead} {name}".strip()) for name in both))
    listed = _TWO.match(text)
    if listed and " or " in listed["list"]:
        names = [name.strip() for name in re.split(r",? or |, ", listed["list"]) if name.strip()]
        subject = f" ({listed['subject'].strip()})" if listed["subject"] else ""
        return Offer(options=tuple((_bare_name(name), _bare_name(name) + subject) for name in names[:4]))
    asks = _ASKS_LEAVE.match(text)
    if sentence.asks:
        either = _two_names(text)
        if either and len(text) <= _MAX_OFFER and not _CHAT.search(text):
            return _either(*either, asks)
    if asks and sentence.asks:
        return _doable(asks["what"], yes_no=True)
    whether = _ASKS_WHETHER.match(text)
    if whether and sentence.asks and len(text) <= _MAX_OFFER:
        return _doable(f"{whether['what']} should {whether['verb']}{whether['rest']}", yes_no=True)
    would_be = _WOULD_BE.match(text)
    if would_be:
        return Offer(f"{would_be['what']} is {would_be['how']}", yes_no=True)
    therefore = _THEREFORE.match(text)
    if therefore and _PROPOSES.match(therefore["proposal"]):
        return _whole(text)
    proposes = _PROPOSES.match(text)
    if proposes and not sentence.asks and _ONE_NAME.search(text):
        return _whole(text)
    if proposes and not re.match(r"(?i)(?:see|imagine|understand|say|think|not\b)", proposes["what"]):
        return _doable(proposes["what"], yes_no=True)
    if sentence.asks and re.match(
        r"(?i)^(?:(?:and|so|but|also|then)[,:]? )?(?:which|what|how (?:many|long|often|much|should|do you want)|where|who)\b",
        text,
    ):
        if not _ASKS_CHOICE.search(text) or len(text) > _MAX_OFFER:
            return Offer()
        return Offer(text.rstrip("?"), is_open=True)
    would_do = _WOULD_DO.match(text)
    if would_do and not sentence.asks and not _MOMENTARY.match(would_do["what"] or ""):
        return _whole(text)
    return Offer()


def _whole(text: str) -> Offer:
    """A proposal that is the whole sentence."""
    return Offer(text.strip(" .!"), yes_no=True) if len(text) <= _MAX_OFFER and not _CHAT.search(text) else Offer()


def _two_names(text: str) -> tuple[str, str] | None:
    """Return what stands on both sides of the first "or" of a question that has words there, at most four on each."""
    if not text.endswith("?"):
        return None
    for between in _OR.finditer(text):
        after = text[between.end() : -1]
        second, first = _NAME.match(after), _last_words(text[: between.start()])
        if first and second and "?" not in after:
            whole = after if len(after.split()) <= _MAX_NAME and "," not in after else second[0]
            return first, whole
    return None


def _last_words(text: str) -> str:
    """Return the last four words of a text, or those of them behind a sign that no name has."""
    words: list[str] = []
    for word in reversed(text.split(" ")[-4:]):
        run = _RUN.match(word[::-1])
        if run is None or not run[0]:
            break
        words.append(run[0][::-1])
        if len(run[0]) < len(word):
            break
    return " ".join(reversed(words))


def _either(first: str, second: str, asks: re.Match[str] | None) -> Offer:
    """Two names, each with what is done where it is chosen: the question with the other one left out."""
    body = asks["what"].rstrip("?") if asks else ""
    options = []
    first, second = _bare_name(first), _bare_name(second)
    # The first name is what stands directly before "or": its last words, as many as the second one has.
    length = max(len(second.split()), 1)
    first = " ".join(first.split()[-length:]) if len(first.split()) > length else first
    for name, other in ((first, second), (second, first)):
        whole = re.sub(
            rf"(?i)\b{re.escape(first)}\b,? or (?:rather |maybe |just |with |in |to |as )?(?:an? |the )?{re.escape(second)}",
            lambda _, name=name: name,
            body,
        )
        options.append((name, whole if body and whole != body and other.casefold() not in whole.casefold() else name))
    return Offer(options=tuple(options))


def _doable(what: str, *, yes_no: bool) -> Offer:
    what = what.strip(" .?!")
    if (
        _MOMENTARY.match(what)
        or _CHAT.search(what)
        or _PRONOUN_END.search(what)
        or len(what) > _MAX_OFFER
        or len(what.split()) < 2
    ):
        return Offer()
    return Offer(what, yes_no=yes_no)


def _lettered_options(sentences: Sequence[Sentence]) -> tuple[tuple[str, str], ...]:
    options: dict[str, str] = {}
    for sentence in sentences:
        for match in _OPTIONS.finditer(sentence.text):
            options[match["name"].casefold()] = match["what"].strip()
        lettered = _LETTERED.match(sentence.text)
        if lettered:
            options[lettered["name"].casefold()] = lettered["what"].strip(" .")
    return (
        tuple(options.items())
        if len(options) > 1 and all(len(what) <= _MAX_OFFER for what in options.values())
        else ()
    )


def _bare_name(name: str) -> str:
    return re.sub(r"(?i)^(?:an? |the )", "", name.strip(" .,?"))


def find_answer(sentences: Sequence[Sentence], offer: Offer) -> Answer:
    """Return the decision that the beginning of a user's message makes of an offer; empty where it makes none."""
    if not sentences or not offer or sentences[0].asks:
        return Answer()
    text = " ".join(sentences[0].text.replace("’", "'").split()).rstrip(" .!")
    if offer.options:
        return _chosen(text, offer)
    if offer.yes_no:
        # "Great." may be about anything where more follows.
        weak = (len(sentences) > 1 or " would " in offer.text) and _PRAISE.fullmatch(text)
        with_other = _YES_WITH_OTHER.match(text)
        changed = with_value(offer.text, with_other["value"]) if with_other else ""
        if changed:
            return Answer(changed, "agreement", 1)
        if (_YES.match(text) and not weak) or _YES_AND.match(text):
            return Answer(offer.text, "agreement", 1)
        other = _NO_BUT.match(text)
        if other:
            return Answer(other["rest"], "answer", 1)
        if _NO.match(text):
            return Answer() if _NO_SUCH.match(text) else Answer(used=1)
        named = _named(text, offer)
        if named.summary:
            return named
        qualified = _YES_BUT.match(text)
        if qualified:
            return Answer(f"{offer.text} ({qualified['how'].strip()})", "agreement", 1)
        return _corrected(text, offer)
    name, comma, reason = text.partition(",")
    is_named = len(name.split()) <= _MAX_NAMED and len(reason.split()) <= _MAX_REST
    if (
        comma
        and is_named
        and not (_NO_ANSWER.match(text) or _FILLS.fullmatch(name) or _NO_ANSWER.match(reason.strip()))
    ):
        text = name  # why it is so stands behind it
    if (
        len(text.split()) <= _MAX_ANSWER_WORDS
        and not _NO_ANSWER.match(text)
        and not _YES.match(text)
        and not _NO.match(text)
    ):
        return Answer(f"{text} (asked: {offer.text}?)", "answer", 1)
    return Answer()


def _named(text: str, offer: Offer) -> Answer:
    """The agreement of somebody who says the name again that was proposed: "ok qualtrics", "Tally! yes"."""
    agrees = _YES_AND_NAME.match(text) or _NAME_AND_YES.match(text)
    if agrees is None:
        return Answer()
    stems = word_stems(agrees["name"])
    if not stems or find_values(text) or " but " in offer.text or not stems <= word_stems(offer.text):
        return Answer()
    rest = (agrees.groupdict().get("rest") or "").strip(" ,.")
    return Answer(f"{offer.text} ({rest})" if rest else offer.text, "agreement", 1)


_YES_AND_NAME = any_case(
    r"^(?:(?:yes|yeah|yep|ok(?:ay)?|fine|sure|good|great|deal|then)[,.!:]? )+(?P<name>[\w+#.'/\"-]+(?: [\w+#.'/\"-]+){0,3}?)(?: then| it is| please)?$"
)
_NAME_AND_YES = any_case(
    r"^(?P<name>[\w+#.'/\"-]+(?: [\w+#.'/\"-]+){0,3}?)(?:[!,.] (?:yes|ok(?:ay)?|fine|great|love it|good|perfect)\b.{0,20}|,? (?:then|it is)| (?:is|sounds|looks) (?:ok(?:ay)?|fine|good|great|perfect|all right)(?P<rest>,? (?:but|as long as|if) .{2,60})?)$"
)


def _chosen(text: str, offer: Offer) -> Answer:
    words = text.split()
    ordinal = _ORDINAL.match(text)
    if ordinal:
        place, rest = _ORDINALS[ordinal["place"].casefold()], ordinal["rest"].strip(" ,;:–-")
        says_more = _SAYS_MORE.match(rest) is not None
        # "First, run the tests" is an order.
        is_choice = not rest or says_more or _THE_ONE.search(text[: ordinal.start("rest")]) is not None
        if is_choice and place < len(offer.options) and len(rest.split()) <= _MAX_REST:
            return Answer(offer.options[place][1] + (f" ({rest})" if says_more else ""), "answer", 1)
    if len(words) > _MAX_ANSWER_WORDS or _NO_ANSWER.match(text):
        return Answer()
    pick = _PICK.match(text)
    name = (pick["pick"] if pick else text).strip(" .,!").casefold()
    exact = [what for option, what in offer.options if option.casefold() == name]
    if exact:
        return Answer(exact[0] if len(name) > 1 else f"option {name.upper()}: {exact[0]}", "answer", 1)
    stems = word_stems(name) or frozenset(name.split())
    close = [what for option, what in offer.options if _is_meant(stems, option)]
    if len(close) == 1 and not _NO.match(text):
        return Answer(close[0], "answer", 1)
    return Answer()


def _is_meant(stems: frozenset[str], option: str) -> bool:
    """Whether half of what an answer names is in an option."""
    return 2 * len(stems & (word_stems(option) or frozenset(option.casefold().split()))) >= max(len(stems), 1)


def _corrected(text: str, offer: Offer) -> Answer:
    """The proposal with another value: of "a timeout of 30 seconds" and "make it 10"."""
    match = _MAKE_IT.match(text)
    if match is None or len(text.split()) > _MAX_ANSWER_WORDS or _IS_ENOUGH.search(text):
        return Answer()
    changed = with_value(offer.text, match["value"])
    return Answer(changed, "agreement", 1) if changed else Answer()


def _with_context(offer: Offer, before: str) -> Offer:
    """An offer that points back, with the sentence at which it points behind it."""
    before = before.strip(" .!")
    if not (offer.yes_no and _POINTS_BACK.search(offer.text)) or not before or len(before) > _MAX_CONTEXT:
        return offer
    return msgspec.structs.replace(offer, text=f"{offer.text} ({before})")


_POINTS_BACK = any_case(r"\b(?:it|that|this|them|those|these|one|the same|both)\b")
_MAX_CONTEXT = 100
"""Characters of a sentence at which an offer points back."""
