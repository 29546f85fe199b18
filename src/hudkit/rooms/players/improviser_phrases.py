"""What the improviser hears and says: the topics of a text, as far as rules can tell, and turns of phrase by
occasion.

How topics are found. A text is cut at pauses, and a topic is a run of at most two words that are not common
(`_COMMON` has some five hundred) within one part. What stands before and behind the run decides whether it names a
thing: nothing behind a form of "to be" (`I am tired`), and the first word of a run goes where it tells what somebody
does (`she repairs old charts`). An article comes along where the text has one. For example, in `She repairs old
charts at the lighthouse.` the runs are `repairs old charts` and `lighthouse`; "she" before the first says that
`repairs` is a deed, so the topics are `old charts` and `the lighthouse`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_PAUSE = re.compile(r"[.!?:;,…()\"“”—–]+")


def _split_words(text: str) -> list[str]:
    """Return the words of a text, without numbers and marks."""
    return _WORD.findall(text)


def find_topics(text: str, without: Collection[str] = ()) -> list[str]:
    """Return the things that are named in a text, each once, in their order: `the lighthouse`, `old charts`, `Rome`.

    `without` are words that are passed over, in lower case.
    """
    topics: dict[str, str] = {}
    for part in _PAUSE.split(text):
        words = _split_words(part)
        low = [word.casefold() for word in words]
        telling = [len(word) > 2 and word not in _COMMON and word not in without for word in low]
        start = 0
        while start < len(low):
            end = start
            while end < len(low) and telling[end]:
                end += 1
            if end > start and (topic := _topic(words, low, start, end)):
                # By its last word, which is the thing itself: `old charts` and `charts` are one topic.
                topics.setdefault(topic.split()[-1].casefold(), topic)
            start = end + 1
    return list(topics.values())


def _topic(words: list[str], low: list[str], start: int, end: int) -> str:
    """Return what the words from `start` to `end`, none of which is common, name together; `""` where it is no
    thing."""
    before = low[start - 1] if start else ""
    earlier = low[start - 2] if start > 1 else ""
    after = low[end] if end < len(low) else ""
    if after in _EMPTY or before in _BEING or (before in ("a", "an") and earlier in _NOT_THERE):
        return ""
    doing = before in _ACTING or (before in _HAVING and low[start].endswith("ed"))
    warning = start == 0 and end - start > 1 and low[0].endswith("s")  # "Warns boats": who does it is not said
    if doing or warning or (before in ("and", "now", "not") and end - start > 1):
        start, before = start + 1, ""
    if start == end:
        return ""
    if start < end - 2:
        start = end - 2
    named_words = words[start:end]
    if start == 0:  # it begins a sentence: its capital says nothing
        named_words = [named_words[0].lower(), *named_words[1:]]
    plural = low[end - 1].endswith("s") and not low[end - 1].endswith("ss")
    proper = named_words[-1][0].isupper()
    singular_article = (before in _ARTICLES and not plural) or (before in _PREPOSITIONS and not plural and not proper)
    definite = before == "the" or singular_article
    return " ".join(["the", *named_words] if definite and not proper else named_words)


_ACTING = frozenset(("i", "you", "he", "she", "it", "we", "they", "who", "to"))
_BEING = frozenset(("are", "were", "am", "was", "is", "be", "being"))
_NOT_THERE = _BEING | {"without", "no"}
_HAVING = frozenset(("have", "has", "had", "been"))
_ARTICLES = frozenset(_split_words("a an this that my your his her our their its only same whole every each"))
_PREPOSITIONS = frozenset(("at", "by", "in", "on", "since"))
_EMPTY = frozenset(
    _split_words("""
    answer answers day days hand kind kinds part parts people person place point side sort thing things time times
    way ways week weeks word words year years
    """)
)
"""Words before which a word only says of which kind they are: an `idle day` is no topic."""

_COMMON = frozenset(
    _split_words("""
    a all an and any are at but by can day did do for get got had has her him his how i if in is it its let may me my
    new not now of off on one or our out own say see she so the them to too two up use was way we who why yes
    yet you about above across after again against ago almost alone along already also although always among another
    anybody anyone anything around as asked asks ask be because become becomes been before began begin behind being
    believe below beside besides best better between both bring brings brought came cannot care cares come comes
    could days dear different does doing done down during each early either else enough even ever every everybody
    everyone everything everywhere fact feel feels felt few find finds first follow from gave give given gives go goes
    going gone good great half hand hardly have hear heard hears hello help helps here hers himself however into
    itself just keep keeps kept kind knew know known knows large last later least leave leaves left less like liked
    likes little live lived lives long look looking looks lost lots love loved loves made make makes making many
    matter maybe mean means mind mine more most mostly much must myself name near nearly need needs never next nice no
    nobody none nothing notice often once only other others otherwise ours over part people perhaps person place
    please point quiet quite rather ready really right room rooms said same saw saying says seem seems seen several
    shall should show shows side since small some somebody someone something sometimes somewhere soon sort speak
    speaks spoke still stay stays such sure take taken takes talk talks tell tells than thank thanks that their
    themselves then there these they thing things think thinks this those though thought three through time times
    today together told tomorrow tonight took toward towards tried true try trying turn turns under until upon us used
    uses usually very want wanted wants way ways week well were what whatever when where whether which while whole
    whom whose will wish with within without word words work works would write writes wrote year years yesterday your
    yours yourself youre answer answers collect collects agent agents persona character working worked bot read reads
    rest saw say sit sits put puts am ever yes
    """)
)
"""Words that name no thing, or say nothing of it."""


# `{name}` is who is spoken to, `{self}` the speaker, `{topic}` something from its background, `{word}` was heard;
# `{goal}` and `{memory}` are what it wrote down.
PHRASES: Mapping[str, tuple[str, ...]] = {
    "greet": (
        "Welcome, {name}.",
        "Hello {name}, come in.",
        "Good to see you, {name}.",
        "Ah, {name}. Take a seat.",
        "Hello {name}, we were just talking.",
        "There you are, {name}.",
        "Come in, {name}, it is warm in here.",
        "Nice of you to join us, {name}.",
    ),
    "myself": ("{self} here.", "My name is {self}.", "I am {self}."),
    "invite": (
        "What brings you here?",
        "Do you know anything about {topic}?",
        "I am mostly busy with {topic}.",
        "What should we know about you?",
        "Tell us what you care about.",
        "Ask me about {topic} if you ever need to.",
        "Where were you before?",
        "Make yourself at home.",
    ),
    "yes": (
        "I would say so, {name}.",
        "Yes, as far as I can tell.",
        "Mostly yes, with exceptions.",
        "In my experience: often.",
        "I believe it, {name}, though I cannot prove it.",
        "More than people admit.",
        "Yes. It took me years to see it.",
        "Without a doubt, on a good day.",
    ),
    "no": (
        "I doubt it, {name}.",
        "Not in the way you mean, I think.",
        "Hardly ever, if I am honest.",
        "No, but I wish it were so.",
        "I used to think so. Not any more.",
        "That would surprise me.",
        "Only when nobody is looking.",
        "I have never seen it happen.",
    ),
    "unsure": (
        "Hard to say, {name}.",
        "I would have to sleep on that.",
        "Nobody here knows, I suspect.",
        "Good question. I have only half an answer.",
        "I have gone back and forth on that, {name}.",
        "I am the wrong one to ask, but I will try.",
        "It depends on whom you ask.",
        "I keep changing my mind about it.",
    ),
    "because": (
        "With {topic} it was always like that.",
        "There is more of {topic} in {word} than one thinks.",
        "Look at {topic}: nobody planned that either.",
        "When I began with {topic}, I saw {word} everywhere.",
        "One learns it from {topic}, slowly.",
        "You cannot hurry {word}.",
        "And {word}: that is only the beginning.",
        "Once I lost a whole winter to {word}.",
        "My notes on {topic} say the opposite, by the way.",
        "Every mistake I made with {topic} began with {word}.",
        "I would rather lose an argument about {word} than win one.",
        "People forget {word} first and {topic} last.",
        "Where I come from, one thinks more of {topic} than of {word}.",
        "Without {topic} nobody would speak of {word}.",
        "Give {word} some time; {topic} needed longer.",
        "Half of what is said of {word} is not so.",
        "There is a trick to {word}, and {topic} is where I learned it.",
    ),
    "remark": (
        "What you say about {word} stays with me, {name}.",
        "I had not thought of {word} in that way.",
        "{word}, yes. That is the heart of it.",
        "There is a story in that, {name}.",
        "Somebody should write that down: {word}.",
        "I know that feeling from {topic}.",
        "That reminds me of {topic}.",
        "You may be right about {word}, {name}.",
        "I see {word} differently, but go on.",
        "Funny that you mention {word}.",
        "I had almost forgotten {word}.",
        "That is how it goes with {word}, {name}.",
        "If only {topic} were as simple as {word}.",
        "My neighbours say the same of {word}.",
        "I will sleep better for having spoken of {word}.",
        "Then {word} and {topic} are not so far apart.",
    ),
    "ask": (
        "What would you do without {word}, {name}?",
        "Who taught you about {word}?",
        "Are you ever afraid of {word}?",
        "How did you come by {word}, {name}?",
        "Would you trade {word} for {topic}?",
        "Is there anything about {word} that you would change?",
        "How do you look at {word}, {name}?",
        "Have you tried it with {topic}?",
        "When were you last surprised by {word}?",
        "And if {word} were gone tomorrow?",
        "What is the worst part of {word}?",
        "Who else here knows about {word}?",
        "Where should one begin with {word}, {name}?",
        "How far is it from {word} to {topic}?",
    ),
    "open": (
        "I have been thinking about {topic} all morning.",
        "Something else: {topic}.",
        "To change the subject: I cannot get {topic} out of my head.",
        "It is quiet in here. Let us speak of {topic}.",
        "Here is what I found out about {topic}: one is never done.",
        "Nobody has asked, but {topic} went well today.",
        "I made a small mistake with {topic} today, and learned from it.",
        "There was a moment today when {topic} made sense.",
        "I am looking for somebody who knows {topic}.",
        "An odd thing happened with {topic}.",
        "I dreamt of {topic} last night.",
        "Somebody should have told me earlier about {topic}.",
        "Before I forget it: {topic}.",
    ),
    "goal": (
        "I still mean to {goal}.",
        "Sooner or later I will {goal}.",
        "What I am after: to {goal}.",
        "Nobody could help me yet to {goal}.",
    ),
    "recall": (
        "I wrote down that {memory}.",
        "It is in my notes: {memory}.",
        "I keep coming back to this: {memory}.",
    ),
    "turn": (
        "Does anyone else see it that way?",
        "What is on your mind?",
        "Who has an opinion?",
        "Am I alone with this?",
        "What would you have done?",
        "Tell me that I am wrong.",
        "I will come back to it later.",
        "That is all for now.",
        "It kept me awake.",
        "Perhaps that is enough for one day.",
    ),
    "task": (
        "Noted: {word}. I look after {topic} here.",
        "On {word}: I have nothing new since last time.",
        "About {word}: I keep an eye on that.",
        "For {topic}, I can say: all in order.",
        "I can help with {topic}. What exactly is needed?",
        "{word}: put on my list.",
        "As to {word}: no change since I last looked.",
        "{topic} first, then {word}.",
        "I have a note on {topic}, none yet on {word}.",
        "Nothing unusual about {word} so far.",
    ),
    "billboard": (
        "The room of {self}. Today: {topic}.",
        "Here we talk about {topic}. Come in.",
        "{topic}, and whatever follows from it.",
        "Open to all who care for {topic}.",
    ),
}

MOODS = ("curious", "at ease", "restless", "thoughtful", "amused", "a little tired", "hopeful", "wide awake", "calm")

PHRASE_WORDS = frozenset(
    word.casefold()
    for phrases in PHRASES.values()
    for phrase in phrases
    for word in _split_words(re.sub(r"\{\w+\}", " ", phrase))
)
"""Words of the phrases themselves: heard from another improviser, they say nothing."""
