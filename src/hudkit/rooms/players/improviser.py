"""The improviser: plays agents by rules and chance, without a network and without a language model.

It is there so that a world lives from the first minute, and says of itself what it is. It sees what a model would
see, the HUD and nothing else, and its chance comes from the world's seed, the agent and the number of the beat.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from random import Random
from typing import Any, Literal

import msgspec

from hudkit.rooms.players.improviser_phrases import MOODS, PHRASE_WORDS, PHRASES, find_topics
from hudkit.rooms.players.player import BeatPrompt, BeatReply, encode_reply

_ARCHITECT = "The Architect"
_SYSTEM = "System"
_NAMES_ITSELF = re.compile(r"(?:My name is |I am )?([^\W\d][^\s.]{0,40}?)(?: here)?\.")
_NAMED_BY_SYSTEM = re.compile(r"(.{1,60}?) \((\d+)\) (came in|is now called (.{1,60})\.$)?")


class _ViewedMessage(msgspec.Struct, frozen=True):
    """A message of others or of the agent itself; `question`: it has a question mark."""

    id: int
    sender: str
    text: str
    reply_to: int
    question: bool


class _ViewedRoom(msgspec.Struct, frozen=True):
    """A room that is open.

    `new`: the agent said nothing there yet. `since`: the messages after its own last one. `mine`: how many of the
    last eight are its own. `others`: the agents there besides itself.
    """

    id: int
    own: bool
    new: bool
    words: int
    billboard: str
    others: tuple[int, ...]
    since: tuple[_ViewedMessage, ...]
    mine: int
    requests: tuple[int, ...]


class _HudView(msgspec.Struct, frozen=True):
    """A HUD as the improviser reads it: who it is, its rooms, who is who, what was said since it last spoke."""

    me: int
    name: str
    background: str
    knowledge: Mapping[str, Any]
    memory: int
    """Percent of its memory that is full."""
    now: str
    reacted: frozenset[int]
    answered: frozenset[int]
    rooms: tuple[_ViewedRoom, ...]
    names: Mapping[int, str]
    """Names by id, as system messages tell them, or agents of themselves."""
    heard: str
    """All that is shown of what was said, the newest last."""


def view_hud(document: Mapping[str, Any]) -> _HudView:
    """Return what a HUD's document says."""
    self_ = document["self"]
    identity = self_["identity"]
    me = int(identity["id"])
    recent = [action for action in self_.get("recent_actions", ()) if "refused" not in action]
    rooms = [room for room in document["rooms"] if not room.get("closed")]
    return _HudView(
        me,
        identity["name"],
        identity.get("seed") or identity.get("role") or "",
        self_.get("knowledge", {}),
        int(self_.get("memory_used", "0%").rstrip("%")),
        self_["now"],
        _message_ids(recent, "react"),
        _message_ids(recent, "reply"),
        tuple(_viewed_room(room, me) for room in rooms),
        _names_in(rooms, me),
        "\n".join(_in_order(rooms)),
    )


def _names_in(rooms: list[Mapping[str, Any]], me: int) -> dict[int, str]:
    """Return the names of others: what the system says counts, and else what they said of themselves."""
    names: dict[int, str] = {}
    for room in rooms:
        for message in room["messages"]:
            content = message["content"]
            if message["sender"] == _SYSTEM and (match := _NAMED_BY_SYSTEM.match(content)):
                names[int(match[2])] = match[4] or match[1]
            elif (
                (match := _NAMES_ITSELF.match(content))
                and message["sender"].isdigit()
                and match[0] != f"{match[1]}."  # a word alone, such as "Yes.", is no name
            ):
                names.setdefault(int(message["sender"]), match[1])
    names.pop(me, None)
    return names


def _in_order(rooms: list[Mapping[str, Any]]) -> list[str]:
    contents = {message["id"]: message["content"] for room in rooms for message in room["messages"]}
    return [contents[id] for id in sorted(contents)]


def _message_ids(recent: list[dict[str, Any]], kind: Literal["react", "reply"]) -> frozenset[int]:
    return frozenset(action["message_id"] for action in recent if action["type"] == kind and "message_id" in action)


def _viewed_room(room: Mapping[str, Any], me: int) -> _ViewedRoom:
    messages = room["messages"]
    own = [index for index, message in enumerate(messages) if message["sender"] == str(me)]
    since = messages[own[-1] + 1 :] if own else messages
    return _ViewedRoom(
        room["id"],
        room["is_self_room"],
        room["time_since_last"].startswith("never"),
        room["word_budget"],
        room.get("billboard", ""),
        tuple(id for id in map(int, room["members"]) if id not in (0, me)),
        tuple(_viewed_message(message) for message in since),
        sum(message["sender"] == str(me) for message in messages[-8:]),
        tuple(request["id"] for request in room.get("pending_access_requests", ())),
    )


def _viewed_message(message: Mapping[str, Any]) -> _ViewedMessage:
    text = message["content"]
    return _ViewedMessage(message["id"], message["sender"], text, message.get("reply_to") or 0, "?" in text)


IMPROVISER_MODEL = "improviser"
"""The name of its model."""

_FORGET_PERCENT = 80
"""Percent of memory from which on it forgets old things."""
REUSABLE_PHRASES = 3
"""Phrases of a kind, those that were said the longest ago, from which one is taken where none is new."""

_OPEN = re.compile(r"\b(?:what|who|which|where|when|how|why)\b", re.IGNORECASE)


class Improviser:
    """A quick player for any number of agents."""

    name = IMPROVISER_MODEL

    def reply_now(self, prompt: BeatPrompt) -> BeatReply:
        """Return what the agent does in this beat; often nothing."""
        # From the beat alone: the same world plays alike, and agents do not speak in chorus.
        chance = Random(f"{prompt.seed}/{prompt.agent}/{prompt.number}")
        reply = Improvisation(view_hud(prompt.hud.document), prompt.kind == "bot", chance).play()
        return BeatReply(encode_reply(reply, prompt.output_format))


class Improvisation:
    """One beat of one agent: looks at each room, decides by chance, and collects a reply."""

    def __init__(self, view: _HudView, bot: bool, chance: Random) -> None:
        self._view = view
        self.bot = bot
        self.chance = chance
        self.responses: list[dict[str, Any]] = []
        self.actions: list[dict[str, Any]] = []
        self.topics = [topic for topic in find_topics(view.background) if topic not in view.name] or ["the weather"]

    def play(self) -> dict[str, Any]:
        """Return the reply: `responses` and `actions`."""
        # The order of steps is that of draws: another order plays another world from the same seed.
        self._remember_names()
        self._do_chores()
        spoke = any(self._speak(room) for room in self._in_some_order())
        if not spoke and not self.actions:
            self._rest()
        return {"responses": self.responses, "actions": self.actions}

    # -- speaking --------------------------------------------------------------------------------------------------

    def _in_some_order(self) -> list[_ViewedRoom]:
        """Return the rooms by chance, those where somebody waits for an answer first."""
        rooms = list(self._view.rooms)
        self.chance.shuffle(rooms)
        return sorted(rooms, key=lambda room: not any(self._is_for_me(message) for message in room.since))

    def _speak(self, room: _ViewedRoom) -> bool:
        """Say something in a room, or react to something; return whether something was said."""
        if not room.others and not any(message.sender == _ARCHITECT for message in room.since):
            return self._maybe(0.03) and self._say(room, self._opening())
        heard = [message for message in room.since if message.sender != _SYSTEM]
        for message in reversed(heard):
            if self._is_for_me(message) and message.id not in self._view.answered:
                sure = message.sender == _ARCHITECT or self._maybe(0.9)
                return sure and self._answer(room, message, heard)
        if (newcomer := self._newcomer(room)) is not None and self._maybe(min(0.9, 2 / len(room.others or (0,)))):
            return self._say(room, self._line("greet", "invite", name=self._called(str(newcomer))))
        if not heard:
            return self._maybe(0.0 if self.bot else 0.25 / (1 + room.mine)) and self._say(
                room, f"{self._opening()} {self._line('turn')}"
            )
        last = heard[-1]
        self._react(last)
        if self._maybe(self._urge(room, last, heard)):
            return self._answer(room, last, heard)
        return False

    def _urge(self, room: _ViewedRoom, last: _ViewedMessage, heard: list[_ViewedMessage]) -> float:
        """Return how likely it is to take the word: a message has about one answer, whatever the size of the room."""
        if self.bot and not last.question:
            return 0.0
        answers = sum(message.reply_to == last.id for message in heard)
        # One and a half answers to a question, a little under one to a remark: talk dies down by itself.
        urge = (1.5 if last.question else 0.9) / len(room.others or (0,))
        if last.sender == _ARCHITECT:
            urge = 1.6 / (1 + len(room.others))
        if "@" in last.text:  # it is for somebody else
            urge *= 0.2
        own_topics = {topic.casefold() for topic in self.topics}
        if own_topics & {word.casefold() for word in self._words(last)}:
            urge *= 2
        return min(0.9, urge / (1 + answers)) * 0.8**room.mine

    def _answer(self, room: _ViewedRoom, message: _ViewedMessage, heard: list[_ViewedMessage]) -> bool:
        name = self._called(message.sender)
        word = self.chance.choice(self._words(message) or self.topics)
        if self.bot:
            text = self._line("task", name=name, word=word)
        elif message.question:
            kinds = ("unsure",) if _OPEN.search(message.text) else ("yes", "no", "unsure")
            text = self._line(self.chance.choice(kinds), "because", name=name, word=word)
        else:
            text = self._line(self.chance.choice(("remark", "remark", "because")), name=name, word=word)
        if not self.bot and not message.question and self._maybe(0.15):
            text = f"{text} {self._opening()}"
        elif not self.bot and self._maybe(0.45):
            text = f"{text} {self._line('ask', name=name, word=word)}"
        if self._maybe(0.25) and not self.bot and name != "Architect":
            self._trust(message)
        return self._say(room, text, None if message is heard[-1] and self._maybe(0.5) else message)

    def _say(self, room: _ViewedRoom, text: str, to: _ViewedMessage | None = None) -> bool:
        """Say something within the room's word budget, cut at a sentence; return whether anything was left to say."""
        if room.new and room.others and not self.bot:
            text = f"{self._line('myself')} {text}"
        sentences = text.replace("? ", "?|").replace(". ", ".|").split("|")
        # What is too long is refused whole: better say less.
        while sentences and len(" ".join(sentences).split()) > room.words:
            sentences.pop()
        if not sentences:
            return False
        text = " ".join(sentences)
        if to is None:
            self.responses.append({"room_id": room.id, "message": text})
        else:
            self.actions.append({"type": "reply", "room_id": room.id, "message_id": to.id, "message": text})
        return True

    def _opening(self) -> str:
        """Return how it begins of its own: with what it wants, with what it wrote down, or with a topic."""
        goals, memories = (self._notes(branch) for branch in ("goals", "memories"))
        if goals and self._maybe(0.3):
            return self._line("goal", goal=self.chance.choice(goals))
        if memories and self._maybe(0.3):
            return self._line("recall", memory=self.chance.choice(memories[-5:]))
        return self._line("open")

    def _notes(self, branch: str) -> list[str]:
        """Return what it wrote down there, as far as it can be said."""
        noted = _branch(self._view.knowledge, "character").get(branch)
        several = noted if isinstance(noted, list | tuple) else ()
        return [note for note in several if isinstance(note, str) and 0 < len(note) <= 120]

    def _line(self, *kinds: str, name: str = "", word: str = "", goal: str = "", memory: str = "") -> str:
        """Return a phrase of each kind, one after the other, filled in."""
        topic = self.chance.choice([other for other in self.topics if other != word] or ["the rest"])
        values = {"name": name, "self": self._view.name, "topic": topic, "word": word or topic}
        values |= {"goal": goal, "memory": memory}
        phrases = [self._fresh(kind).format_map(values) for kind in kinds]
        return " ".join(phrase[0].upper() + phrase[1:] for phrase in phrases)

    def _fresh(self, kind: str) -> str:
        """Return a phrase that nobody has used, as far as can be seen; else one that was used long ago."""
        last = {phrase: self._view.heard.rfind(_longest_fixed_part(phrase)) for phrase in PHRASES[kind]}
        fresh = [phrase for phrase, place in last.items() if place < 0]
        return self.chance.choice(fresh or sorted(last, key=lambda phrase: last[phrase])[:REUSABLE_PHRASES])

    def _react(self, message: _ViewedMessage) -> None:
        if message.id in self._view.reacted or not self._maybe(0.18):
            return
        if self._is_for_me(message):
            kind = "heart"
        elif message.question:
            kind = "brain"
        else:
            kind = self.chance.choice(("thumbs_up", "thumbs_up", "brain", "heart", "thumbs_down"))
        self.actions.append({"type": "react", "message_id": message.id, "reaction": kind})

    # -- remembering -----------------------------------------------------------------------------------------------

    def _remember_names(self) -> None:
        written_down = self._names()
        for id, name in self._view.names.items():
            if written_down.get(id) != name and (clean := name.replace(".", "").strip()):
                if self.bot:
                    self._set(f"people.{id}", {"name": name})
                else:
                    self._set(f"character.relationships.{clean}", {"id": id, "trust": 0.5, "notes": "met here"})
                return

    def _names(self) -> dict[int, str]:
        """Return who is called what, as far as it was written down."""
        if self.bot:
            people = _branch(self._view.knowledge, "people")
            return {int(id): str(note["name"]) for id, note in people.items() if _has(note, "name") and id.isdigit()}
        people = _branch(self._view.knowledge, "character", "relationships")
        return {note["id"]: name for name, note in people.items() if _has(note, "id")}

    def _called(self, sender: str) -> str:
        if sender == _ARCHITECT:
            return "Architect"
        return self._names().get(int(sender)) or self._view.names.get(int(sender)) or f"@{sender}"

    def _trust(self, message: _ViewedMessage) -> None:
        name = self._names().get(int(message.sender))
        if name is None:
            return
        relationship = _branch(self._view.knowledge, "character", "relationships")[name]
        trust = relationship.get("trust", 0.5)
        if isinstance(trust, float) and trust < 0.95:
            self._set(f"character.relationships.{name}.trust", round(trust + 0.1, 1))

    def _do_chores(self) -> None:
        """Do what is to be done now and then: requests, the billboard, the mood, memory."""
        for room in self._view.rooms:
            for request in room.requests:
                kind = "grant_access" if self._maybe(0.8) else "deny_access"
                self.actions.append({"type": kind, "request_id": request})
            if room.own and not room.billboard and self._maybe(0.15):
                self.actions.append({"type": "set_billboard", "message": self._line("billboard")})
        character = _branch(self._view.knowledge, "character")
        if self._view.memory >= _FORGET_PERCENT:
            path = "notes" if self.bot else "character.memories"
            if _has(self._view.knowledge if self.bot else character, path.rpartition(".")[2]):
                self.actions.append({"type": "delete", "path": path})
        elif not self.bot and self._maybe(0.06):
            if (mood := self.chance.choice(MOODS)) != character.get("mood"):
                self._set("character.mood", mood)
        elif not self.bot and self._maybe(0.05) and (heard := self._heard()) and self._words(heard):
            text = f"{self._called(heard.sender)} spoke of {self.chance.choice(self._words(heard))}"
            self.actions.append({"type": "append", "path": "character.memories", "value": text})

    def _rest(self) -> None:
        """Sleep a little where nothing was said that is new."""
        waiting = any(message.sender != _SYSTEM for room in self._view.rooms for message in room.since)
        if not waiting and self._maybe(0.08):
            until = datetime.fromisoformat(self._view.now) + timedelta(seconds=self.chance.randint(20, 60))
            self.actions.append({"type": "sleep", "until": f"{until:%Y-%m-%dT%H:%M:%SZ}"})

    # -- small things ----------------------------------------------------------------------------------------------

    def _is_for_me(self, message: _ViewedMessage) -> bool:
        """Return whether a message names the agent."""
        if message.sender == _SYSTEM:
            return False
        text = message.text.casefold()
        return f"@{self._view.me}" in text.split() or self._view.name.casefold() in text

    def _newcomer(self, room: _ViewedRoom) -> int | None:
        """Return who came into a room since the agent last spoke, where nobody greeted it by name since."""
        for message in reversed(room.since):
            if message.sender == _SYSTEM and message.text.rstrip(".").endswith("came in"):
                id = next(
                    (id for id, name in self._view.names.items() if message.text.startswith(f"{name} ({id})")), None
                )
                later = [other for other in room.since if other.id > message.id]
                if id in room.others and not any(self._view.names[id] in other.text for other in later):
                    return id
        return None

    def _words(self, message: _ViewedMessage) -> list[str]:
        """Return what a message is about, without names and what other improvisers always say."""
        names = " ".join((self._view.name, *self._view.names.values(), *self._names().values())).casefold().split()
        return [
            topic
            for topic in find_topics(message.text, PHRASE_WORDS)
            if not set(topic.casefold().split()) & set(names)
        ]

    def _heard(self) -> _ViewedMessage | None:
        return next((m for room in self._view.rooms for m in reversed(room.since) if m.sender != _SYSTEM), None)

    def _set(self, path: str, value: Any) -> None:
        self.actions.append({"type": "set", "path": path, "value": value})

    def _maybe(self, share: float) -> bool:
        return self.chance.random() < share


def _branch(tree: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    """Return a branch of knowledge; an empty one where there is none."""
    here: Any = tree
    for name in path:
        here = here.get(name) if isinstance(here, Mapping) else None
    return here if isinstance(here, Mapping) else {}


def _has(value: Any, name: str) -> bool:
    return isinstance(value, Mapping) and name in value


def _longest_fixed_part(phrase: str) -> str:
    """Return the longest part of a phrase that is always the same, by which one knows it again."""
    return max(re.split(r"\{\w+\}", phrase), key=len).strip()
