"""A clause read by its parts: subject, verb, object and condition, each by its class, weighed for how long it holds.

The tables of `imperatives` and `clauses` know forms. What none of them fits is read here word by word. An order is a
rule where more speaks for every time than for now: a case that can come again, all of a kind, "from now on", what it is
set against. A statement is one where it tells how all of a kind is done, in the present.

| clause | for every time | for now | sum |
|---|---|---|---|
| `fall back to the cache in case the API is down` | a case that can come again, 3 | | 3 |
| `number figures per chapter` | a bare plural, 1; no article, 1; "per", 2 | | 4 |
| `delete the three temp files` | | a verb of one go, -1; a counted object, -2 | -3 |
| `references follow APA 7` | all of a kind, 2; a thing of the work, 1 | | 3 |
| `users complain about the form` | all of a kind, 2 | people, -2; a complaint, -4 | -4 |

From `_ENOUGH` on, the clause holds for more than the moment.
"""

# ruff: noqa: E501 (lists of words)
from __future__ import annotations

import re

from hudkit.ingest.extraction.caseless import any_case
from hudkit.ingest.extraction.lexicon import VERBS

_ENOUGH = 3
_MAX_WORDS = 34
_WORD = re.compile(r"[\w'./`·@#%&+<>=*$€£-]+(?:,\d+)*|[,;:()]")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DETERMINERS = _words("the this that these those my your his her its their a an")
_POINTERS = _words("the this that these those my your his her")
_QUANTIFIERS = _words(
    "all every each any everything anything everywhere always never everyone everybody anyone nothing nobody whatever whichever both no"
)
_COPULAS = _words("is are be get gets stay stays remain remains")
_MODALS = _words("must should shall may can needs need has have ought")
_STATIVE = _words(
    "sit sits live lives belong belongs come comes go goes look looks lie lies stand stands talk talks speak speaks mean means count counts matter matters depend depends face faces own owns carry"
    " carries hold holds contain contains include includes start starts begin begins end ends use uses follow follows take takes have has cost costs last lasts run runs pass passes refer refers point points"
    " represent represents apply applies win wins lead leads handle handles cover covers own owns return returns say says read reads sound sounds"
)
_SINGULAR_VERBS = frozenset(
    form
    for verb in VERBS
    for form in (f"{verb}s", f"{verb}es", f"{verb[:-1]}ies" if verb.endswith("y") else f"{verb}s")
)
_PARTICIPLES = _words(
    "sent kept written built put set held done made left shown given read sold told paid run taken drawn split cut spelt begun hidden chosen spoken worn bought brought"
)
_NOT_FINITE_AFTER = _DETERMINERS | _words(
    "to of in on at for with by from as and or not no our every each any all per into"
)
_MASS = _words(
    "code data money sql css html documentation text content logic config configuration formatting indentation naming logging testing styling spelling software correspondence mail email access work travel scheduling"
    " pricing output input music paper feedback everything anything homework research"
)
_SETTLED_MASS = _words(
    "configuration config formatting indentation naming logging styling spelling documentation correspondence pricing scheduling css sql"
)
_PEOPLE = _words(
    "users customers people visitors clients students patients kids friends developers colleagues folks members employees guests readers players men women children they who others"
)
_ARTEFACTS = frozenset(
    singular
    for word in [
        "amount",
        "answer",
        "api",
        "appendix",
        "argument",
        "article",
        "asset",
        "attachment",
        "backup",
        "badge",
        "banner",
        "batch",
        "bill",
        "booking",
        "boolean",
        "branch",
        "bug",
        "build",
        "button",
        "caption",
        "chapter",
        "chart",
        "citation",
        "class",
        "column",
        "comment",
        "commit",
        "component",
        "config",
        "constant",
        "contract",
        "controller",
        "core",
        "credential",
        "currency",
        "dashboard",
        "date",
        "default",
        "dependency",
        "deployment",
        "diagram",
        "directory",
        "doc",
        "docstring",
        "document",
        "domain",
        "draft",
        "email",
        "endpoint",
        "entity",
        "entry",
        "enum",
        "error",
        "event",
        "exception",
        "export",
        "expense",
        "feature",
        "field",
        "figure",
        "file",
        "fixture",
        "flag",
        "folder",
        "footnote",
        "form",
        "format",
        "function",
        "graph",
        "handler",
        "header",
        "heading",
        "helper",
        "hook",
        "icon",
        "id",
        "identifier",
        "image",
        "import",
        "index",
        "ingredient",
        "input",
        "instruction",
        "interface",
        "invoice",
        "issue",
        "job",
        "journal",
        "key",
        "label",
        "layout",
        "lesson",
        "letter",
        "level",
        "library",
        "license",
        "limit",
        "line",
        "link",
        "list",
        "log",
        "logo",
        "mail",
        "measurement",
        "meeting",
        "message",
        "method",
        "metric",
        "migration",
        "minute",
        "mock",
        "model",
        "module",
        "name",
        "newsletter",
        "note",
        "notification",
        "number",
        "offer",
        "order",
        "output",
        "package",
        "page",
        "paper",
        "parameter",
        "password",
        "patch",
        "path",
        "payment",
        "percentage",
        "permission",
        "photo",
        "picture",
        "plot",
        "port",
        "position",
        "post",
        "prefix",
        "presentation",
        "price",
        "product",
        "program",
        "prompt",
        "property",
        "protocol",
        "query",
        "question",
        "quote",
        "rate",
        "receipt",
        "recipe",
        "record",
        "reference",
        "refund",
        "release",
        "reminder",
        "reply",
        "report",
        "repository",
        "request",
        "reservation",
        "resource",
        "response",
        "result",
        "retry",
        "return",
        "review",
        "role",
        "room",
        "route",
        "row",
        "rule",
        "salary",
        "sample",
        "schedule",
        "schema",
        "screen",
        "screenshot",
        "script",
        "secret",
        "section",
        "sentence",
        "service",
        "session",
        "setting",
        "shift",
        "sketch",
        "slide",
        "snapshot",
        "spec",
        "sprint",
        "step",
        "story",
        "string",
        "style",
        "subject",
        "suite",
        "summary",
        "table",
        "tag",
        "target",
        "task",
        "template",
        "term",
        "test",
        "text",
        "theme",
        "ticket",
        "time",
        "timestamp",
        "title",
        "token",
        "tool",
        "topic",
        "transaction",
        "translation",
        "type",
        "unit",
        "update",
        "upload",
        "url",
        "variable",
        "version",
        "view",
        "volume",
        "weight",
        "widget",
        "worker",
        "workflow",
        "temperature",
        "distance",
        "length",
    ]
    for singular in (word,)
)
_MOMENT_VERBS = _words(
    "show give look check try tell explain summarise summarize sum draft translate open find run fix delete remove rename add create write make build implement design generate convert move change update replace"
    " continue go let wait stop think read list print compare search schedule plan suggest insert start begin finish undo analyse analyze describe extend set take put do get help ask see talk copy paste download install"
    " calculate compute prepare outline rewrite refactor edit adjust improve turn bring have review provide recommend count point pick split delete debug profile speed"
)
_PRESERVES = _words(
    "keep leave preserve retain respect treat avoid prefer restrict limit reserve reuse mirror honour honor"
)
_HABITS = _words(
    "write number name call use leave keep store deploy spell version tag test log format measure count round prefer publish merge squash review document avoid date sign archive translate address greet quote"
    " treat label sort group capitalise capitalize abbreviate cite indent escape validate encrypt hash mock wrap pin branch put price"
)
_AGAIN = re.compile(
    r"\b(?:whenever|every time|each time|any time|as soon as|in case|as long as|only when|only if|only once|unless|if ever|with every|with each|after every|after each|before every|before each|per)\b"
    r"|\b(?:if|when|once|before|after|until|should)\b (?:you|we|i|one|somebody|someone|something|anyone|anybody|anything|nobody|nothing|a|an|any|no|two|more than|there is|there are|there's|it's (?!ready|done|over|finished|clear)|both|the \w+ (?:is|are|gets?|goes?|has|have|fails?|takes?|does|says?|changes?)\b|\w+ing\b|in doubt|(?!the\b|this\b|that\b|it\b|now\b|all this\b)\w+s (?:are|have|get|fail|differ|change|contradict)\b)"
)
"""A case that can come again."""
_ONCE = re.compile(
    r"\b(?:know|check|see|tell me|ask|verify|show|wonder\w*|find out|figure out|look|confirm|sure|understand|explain|test|decide|how|what) (?:me )?(?:if|when|whether)\b|\bif (?:i'm|i am|i've|i have|there are any|we had|i missed)\b|"
    r"\b(?:if|when|once|after|before|until|as soon as) (?:you|we|i)(?:'re| are|'ve| have|'d|'ll)? (?:are |have )?(?:done|ready|finished|through|can|could|want|like|would|think|start|continue|begin|get (?:a|the) chance|had|were|did|was|went|fixed|wrote|saw|ran|tried|made|\w+ed)\b"
    r"|\b(?:if possible|if needed|if necessary|after that|before that|when (?:i|we|it|he|she|they) \w+ed|(?:if|when|once|after|before|until) (?:it|this|that|these|the (?:tests?|build|deploy|page|bug))\b|(?:if|when) you (?:have to|must|need to|like|can)$)"
)
"""A case that is there once: "when you are done", "after that"."""
_LASTING = re.compile(
    r"\b(?:from (?:now|here|today|this point)(?: on(?:wards?)?| out| forward)?\b|in (?:the )?future\b|going forward|henceforth|at all times|by default|as a rule|in general|every time|each time|whatever happens|no matter what|at all costs|without exception|no exceptions|throughout|across the board|everywhere|for good|under any circumstances|as always|as usual|until further notice)"
)
_LEADING_CONDITION = re.compile(
    r"^(?:if|when(?:ever)?|before|after|unless|once|in case|as soon as|every time|each time|any time|with (?:every|each|any)|should|where(?:ver)?|until|as long as|for|on|in) [^,;:]{3,90}?(?:, (?:then )?| (?=(?:please|always|rely|use|just|keep|ask|tell|stick|prefer|take|make|do)\b))"
)
_KIND_BEFORE = re.compile(
    r"^(?:for|on|in) (?:(?:all|any|every|each|new|our) )?(?:[\w-]+ )?[\w-]+s,? (?:rely|use|always|please|just|stick|prefer|keep|take|do)\b"
)
_ORDER_LEAD = re.compile(
    r"^(?:(?:please|just|then|always|simply|also|kindly|first|do|you (?:should|must|have to|need to|may|can)|i want you to|i'd like you to) )+"
)
_WHOLE: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (form, re.compile(pattern))
    for form, pattern in (
        (
            "delegation",
            r"^[\w' -]{3,40} (?:is|are) (?:the )?[\w.+-]+(?:'s|s') (?:job|business|responsibility|task|domain|call|matter|turf)\b",
        ),
        (
            "delegation",
            r"^(?:please |just )?have (?:the )?[\w./+-]+ (?P<verb>[a-z]+) (?:the |our |all |any |your )?[\w-]+",
        ),
        (
            "delegation",
            r"^(?:the |our )?(?:\w+ ?){1,2} (?:goes|go|is handled|are handled|is done|are done|runs) (?:only )?(?:through|via|by) [\w.-]+(?: .*)?$",
        ),
        (
            "delegation",
            r"^(?:the |our )?[\w.-]+ (?:does|handles|takes care of|owns|manages|decides|generates|sets) (?:the |our |all )?[\w -]{3,40}(?:, | so )(?:so )?(?:please )?(?:don't|do not|never|no need|you don't|leave|keep)\b",
        ),
        ("delegation", r"^(?:we|i) (?:leave|entrust|delegate|outsource) [\w -]{3,40} to \S+"),
        (
            "delegation",
            r"^(?:please )?(?:rely on|defer to|trust|go through|ask|consult) [\w./ -]{2,40}? (?:for|on|about|rather than|instead of|when|whenever|before|if) \S",
        ),
        (
            "limit",
            r"^(?:(?:at most|max\.?|up to|only|no more than|exactly) )?(?:\d+|two|three|four|five|six|ten) [\w-]+s?(?: [\w-]+s)?, (?:then|and then|after that|not more|no more|that's it|never more)\b",
        ),
        ("limit", r"^(?:max|maximum|min|minimum|at most|at least)\b\.? ?(?:\d+|two|three|four|five|six|ten) \w+"),
        (
            "limit",
            r"^(?!(?:i|we|it|he|she|they|that|this|there)\b)[^,;]{3,50}? (?:at the (?:most|least|latest|earliest)|tops|or less|or fewer|or more|and not a \w+ more|and no more|maximum|max)\b.*\d|^(?!(?:i|we|it|he|she|they|that|this|there)\b)(?=[^,;]*\d)[^,;]{3,60} (?:at the (?:most|least|latest|earliest)|tops|or less|or fewer|or more|and not a \w+ more|and no more|maximum|max)\b",
        ),
        ("limit", r"^(?:\w+ )?(?:[\w-]+ )?[\w-]+s (?:have|has) (?:room|space) for \d"),
        (
            "limit",
            r"^(?:an?|every|each|any|no) [\w-]+(?: [\w-]+)? (?:should|must|may|can|can't|cannot|shouldn't|mustn't|has|is allowed)\b[^,;]*\d",
        ),
        (
            "condition",
            r"^(?:if there(?:'s| is| are)|unless|without) [^,;]{3,70}, (?:it|that|they|this|we) (?:doesn't|don't|won't|isn't|aren't|does not|do not)\b.{3,}",
        ),
        (
            "requirement",
            r"^(?:our|the) (?:\w+ )?\w+ (?:wants?|requires?|insists?|expects?|demands?|needs?)(?: that| on)? (?:every|all|each|any|no|only|us to|everything)\b.{3,}",
        ),
        ("custom", r"^(?:the way|how) we (?:do|work|handle|run|write|build|ship|name)\b.{0,40}? is \S"),
        (
            "delegation",
            r"^(?:any|every)thing (?:\w+ing|with|for|to do with|related to|on|about|in|under|from) [^,;]{2,50}, (?:please )?(?:ask|tell|go|talk|see|check|write|leave|pass|send|call)\b",
        ),
        (
            "limit",
            r"^(?:we|i)(?:'ve| have)?(?: got| can)?(?: only)? (?=.*(?:\d|\b(?:one|two|three|four|five|ten)\b)).{3,70} (?:at (?:the )?most|max|maximum|tops|and not a \w+ more|and no more|and that's it)$",
        ),
        (
            "universal",
            r"^(?:any|every)(?:thing|one|body) (?:\w+ing|with|for|to do with|related to|on|about|in|under|from) .{2,50}? (?:needs?|must|goes|gets|has to|requires?|is|stays?|belongs?|comes?) \S",
        ),
        (
            "universal",
            r"^(?:with|to|on|in) (?:every|each|any) .{3,40} (?:comes?|goes|belongs?|must|needs?|has to) \S",
        ),
        (
            "permission",
            r"^(?:you|we) (?:may|can) (?:only )?[^,;]{3,80} (?:as long as|provided(?: that)?|only if|only when|once|unless|if and only if|only after) \S",
        ),
        ("permission", r"^only (?:when|if|after|once) [^,;]{3,90},? (?:may|can|should|must) \S"),
        (
            "order",
            r"^(?!(?:i|we|it|he|she|they|that|this|there|you|what|my|his|her|their)\b)\S.{3,120}?,? (?:every (?:single )?time|each time|at all times|no matter what|whatever happens|at all costs|without exceptions?|from (?:now|here) on(?: out)?|going forward|in (?:the )?future|until further notice)$",
        ),
    )
)
"""Forms that are read as a whole."""
_AMONG_US = re.compile(
    r"\b(?:with us|around here|(?:over|in|round) here|in this (?:house|company|repo|repository|project|team|codebase|system|office|app|shop|book|paper|document)|in our \w+|in all our \w+|in all of our \w+|by convention|our (?:convention|custom|rule|policy|standard|habit)|company policy|house style|company-wide|the way we \w+|how we \w+)\b"
)
_PERMITS = re.compile(r"\b(?:allowed|permitted|fine|ok|okay|welcome|possible|free to|there)\b")
_CONTRASTED = re.compile(
    r"\b(?:rather than|instead of|nothing else|nowhere else|by hand|yourself|and nobody else|no one else)\b|, (?:not|never|no|nor)\b|\bnot (?:in|by|with|on|to|from|as)\b|\bonly\b|\bnever\b"
)
_MOMENT = any_case(
    r"\b(?:yesterday|today|tomorrow|tonight|right now|at the moment|currently|just now|this (?:morning|time|bug|page|line|afternoon|evening)|so far|yet|last (?:week|time|night|year|month)|first\b(?! letter| line| name| person|$)|next(?! to\b)|quickly|for now|i (?:think|guess|believe)|maybe|perhaps|probably|apparently|seems?|looks like|for some reason|somehow|strange|weird|dumb|stupid|already|now|anyway|sometimes|often|usually|mostly|these days|again|too|also|still|any ?more|later|soon|exactly|right)\b"
)
_COMPLAINS = any_case(
    r"\b(?:would|could|might|appreciate\w*|help\w*|crash\w*|broken|breaks?|fail\w*|wrong\w*|lost|loses?|stuck|hangs?|timeouts?|timed out|empty|duplicat\w+|corrupt\w*|missing|complain\w*|errors? (?:out|appear)|slow\w*|bug|bugs|annoying|terrible|awful|horrible|too (?:many|much|long|big)|confus\w+|problem|issue with|doesn't|don't work|red|flaky|ugly|hard to|difficult|expensive|great|nice|cool|awesome|fun|beautiful|amazing|important|interesting|useful|helpful|popular|common|good|bad|better|best|worse|worst|easy|easier|hard|harder|simple|complex|complicated|powerful|essential|crucial|key|different|similar|able|likely|unique|known|called|based|involved|related|defined|considered|made up|composed|divided|given by|equal|linear|positive|negative|infinite|random)\b"
)
"""Words of a complaint, of praise, and of general knowledge."""


_MAX_CHARS = 400
"""Characters of the longest clause that is read by its parts: its patterns look through it several times."""

_AS_EVER = re.compile(r",? \b(?:as|like) (?:always|usual|ever|before)\b")
"""How something goes on: the "always" in it asks for nothing."""


def holds_beyond_now(clause: str) -> str:
    """Return the form of a clause that by the weight of its parts holds for more than the moment; empty where not."""
    text = _AS_EVER.sub("", clause.casefold().replace("’", "'")).strip(" .!")
    words = _WORD.findall(text)
    if not 3 <= len(words) <= _MAX_WORDS or len(text) > _MAX_CHARS:
        return ""
    for form, pattern in _WHOLE:
        match = pattern.match(text)
        if match is None or _COMPLAINS.search(text):
            continue
        if "verb" not in match.groupdict() or match["verb"] in VERBS:
            return form
    condition = _LEADING_CONDITION.match(text)
    if condition is not None and (words[0] not in ("for", "on", "in") or _KIND_BEFORE.match(text)):
        order = _WORD.findall(_ORDER_LEAD.sub("", text[condition.end() :]))
        begins = len(order) > 1 and (order[0] in VERBS or order[0] == "don't")
        if (
            begins
            and not _ONCE.search(text)
            and (_AGAIN.search(text) or words[0] in ("for", "on", "in", "should", "with"))
        ):
            return "condition"
    if words[0] in VERBS and not _is_noun_first(words):
        return "order" if ":" not in words and _weigh_order(text, words) >= _ENOUGH else ""
    return _statement(text, words)


def _is_noun_first(words: list[str]) -> bool:
    """Whether a word that could be a verb begins a subject: "test files sit next to the code"."""
    if words[1] in _COPULAS or words[1] in _MODALS:
        return True
    return _is_plural(words[1]) and len(words) > 2 and (words[2] in _STATIVE or words[2] in _COPULAS)


def _is_plural(word: str) -> bool:
    return len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) and "'" not in word


def _weigh_order(text: str, words: list[str]) -> int:
    verb, behind = words[0], words[1]
    weight = 0
    if behind in (
        "it",
        "this",
        "that",
        "me",
        "them",
        "these",
        "those",
        "us",
        "him",
        "her",
        "on",
        "ahead",
        "up",
        "going",
    ):
        weight -= 1
    again = _AGAIN.search(text)
    weight += 3 if again and not _ONCE.search(text) else 0
    weight += 3 if _LASTING.search(text) else 0
    weight += 2 if _CONTRASTED.search(text) else 0
    weight += 2 if _AMONG_US.search(text) else 0
    if _QUANTIFIERS & set(words[1:]):
        weight += 1 if verb in _MOMENT_VERBS else 2
    if _is_plural(behind) or behind in _MASS:
        weight += 1
    if not _DETERMINERS & set(words):
        weight += 1
    if verb in _PRESERVES and len(words) > 3:
        weight += (
            3 if any(map(_is_plural, words[1:])) or behind in ("our", "the", "your", "existing", "everything") else 2
        )
    if verb in _MOMENT_VERBS:
        weight -= 1
        weight -= 2 if behind in ("a", "an", "some", "another") and not again else 0
    if _MOMENT.search(text) and not again:
        weight -= 3
    if re.search(r"\b(?:the|these|those|first|last|next|top) (?:\d+|two|three|four|five|first|last|next)\b", text):
        weight -= 2
    return weight


def _statement(text: str, words: list[str]) -> str:
    """The form of a statement in the present that tells how all of a kind is done."""
    place = next((index for index in range(1, min(len(words), 9)) if _is_finite(words, index)), 0)
    if (
        not place
        or words[0].partition("'")[0] in _PRONOUNS
        or words[0]
        in (
            "i",
            "you",
            "it",
            "he",
            "she",
            "they",
            "this",
            "that",
            "there",
            "these",
            "those",
            "which",
            "what",
            "who",
            "if",
            "when",
            "because",
            "but",
            "as",
            "since",
            "while",
            "my",
            "his",
            "her",
            "so",
            "and",
            "or",
            "here's",
            "some",
            "many",
            "most",
            "one",
        )
    ):
        return ""
    subject, verb, rest = words[:place], words[place], words[place + 1 :]
    rest = rest[: rest.index(",")] if "," in rest else rest
    if verb in ("get", "gets", "have", "has") and (
        rest[:1] == ["been"] or rest[:1] == ["got"] or any(word[:1].isdigit() for word in rest)
    ):
        return ""
    if not rest or "," in subject or verb in ("may", "can") or _PERMITS.search(text) or _COMPLAINS.search(text):
        return ""
    if subject[-1] == "we":
        is_own = len(subject) == 1 or subject[0] in ("all", "every", "each")
        return "habit" if is_own and _is_habit(text, verb, rest) else ""
    weight = _weigh_subject(subject)
    if not weight:
        return ""
    adverbs = ("always", "never", "only", "strictly", "all", "both", "not")
    content = [word for word in rest if word not in adverbs]
    if verb in ("must", "shall", "should", "ought"):
        weight += 2
    elif verb in _COPULAS and content and _is_participle(content[0]):
        # What somebody does to it is told; how it is done is a custom.
        described = content[1:2] == ["by"] or (verb in ("get", "gets") and len(content) == 1)
        weight += 1 if len(content) > 1 and not described else -1
    elif (verb in ("has", "have") and rest[0] in ("a", "an", "two", "three")) or (
        subject[0] in ("every", "each", "any", "all") and verb not in _STATIVE | _COPULAS | _MODALS
    ):
        weight -= 1
    elif verb in _COPULAS:
        weight += (
            1
            if content
            and content[0]
            in ("in", "on", "at", "under", "with", "for", "by", "from", "lower", "upper", "gross", "net")
            else 0
        )
    weight += 1 if any(word in adverbs for word in rest) else 0
    weight += 1 if _CONTRASTED.search(text) else 0
    weight += 2 if _AMONG_US.search(text) or _LASTING.search(text) else 0
    weight -= 3 if _MOMENT.search(text) else 0
    weight -= 2 if _PEOPLE & set(subject[:2]) else 0
    weight -= 1 if _ONCE.search(text) else 0
    return "custom" if weight >= _ENOUGH else ""


_PRONOUNS = _words(
    "i you it he she they that there this these those what who here let two three four five six some many most few several"
)


def _is_finite(words: list[str], index: int) -> bool:
    word, before = words[index], words[index - 1]
    if before in _NOT_FINITE_AFTER and before not in ("all", "everything", "each"):
        return False
    if word in _COPULAS or word in _MODALS:
        return True
    if before == "we":
        return word in _HABITS
    plural_subject = _is_plural(before) or before in ("all", "we")
    if word in _STATIVE:
        return plural_subject != word.endswith("s") or word in ("has", "have")
    return not plural_subject and word in _SINGULAR_VERBS and index > 0 and not _is_plural_noun(words, index)


def _is_plural_noun(words: list[str], index: int) -> bool:
    """Whether what could be a verb is the noun of the subject: "commit messages are …"."""
    return index + 1 < len(words) and (
        words[index + 1] in _COPULAS or words[index + 1] in _MODALS or words[index + 1] in _STATIVE
    )


def _weigh_subject(subject: list[str]) -> int:
    first, last = subject[0], subject[-1]
    if first in ("all", "every", "each", "any", "everything", "anything", "new"):
        # "All the texts we write in …": of all of a kind.
        return 3 if first in ("everything", "anything") or len(subject) > 1 else 0
    of_work = last in _SETTLED_MASS or any(
        (word[:-1] if _is_plural(word) else word) in _ARTEFACTS
        or (word.endswith("ies") and f"{word[:-3]}y" in _ARTEFACTS)
        for word in subject
    )
    if first == "our":
        return 3 if of_work and _is_plural(last) else 2 if of_work or _is_plural(last) else 1
    if first in _DETERMINERS:
        return 1 if of_work and first == "the" and "of" in subject else 0
    if _is_plural(last) or last in _MASS or any(_is_plural(word) for word in subject[:2]):
        return 2 + (1 if of_work else 0) - (1 if len(subject) > 5 else 0)
    return 0


def _is_participle(word: str) -> bool:
    return word in _PARTICIPLES or (len(word) > 4 and word.endswith(("ed", "en")))


_HABIT_PLACES = _words("in with as to on by from for before after per at through via under without into like")


def _is_habit(text: str, verb: str, rest: list[str]) -> bool:
    if verb not in _HABITS or _MOMENT.search(text) or len(rest) < 3:
        return False
    if rest[0] in ("it", "this", "that", "them", "a", "an", "our") and not _AMONG_US.search(text):
        return False
    return bool(_HABIT_PLACES & set(rest)) or bool(_CONTRASTED.search(text))
