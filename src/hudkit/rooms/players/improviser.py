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

from hudkit.rooms.players.improviser_phrases import MOODS, PHRASE_WORDS, PHRASES, find_topics, longest_fixed_part
from hudkit.rooms.players.player import BeatPrompt, BeatReply, encode_reply

ARCHITECT = "The Architect"
SYSTEM = "System"
_MYSELF = re.compile(r"(?:My name is |I am )?([^\W\d][^\s.]{0,40}?)(?: here)?\.")
_CALLED = re.compile(r"(.{1,60}?) \((\d+)\) (came in|is now called (.{1,60})\.$)?")


class ViewedMessage(msgspec.Struct, frozen=True):
    id: int
    sender: str
    text: str
    reply_to: int
    question: bool


class ViewedRoom(msgspec.Struct, frozen=True):
    """A room that is open. `new`: one said nothing there yet; `since`: the messages after one's own last one; `mine`:
    how many of the last eight are one's own; `others`: the agents there besides oneself."""

    id: int
    own: bool
    new: bool
    words: int
    billboard: str
    others: tuple[int, ...]
    since: tuple[ViewedMessage, ...]
    mine: int
    requests: tuple[int, ...]


class HudView(msgspec.Struct, frozen=True):
    me: int
    name: str
    background: str
    knowledge: Mapping[str, Any]
    memory: int
    now: str
    reacted: frozenset[int]
    answered: frozenset[int]
    rooms: tuple[ViewedRoom, ...]
    met: Mapping[int, str]
    """Names by id, as system messages tell them, or agents of themselves."""
    heard: str
    """All that is shown of what was said, the newest last."""


def view_hud(document: Mapping[str, Any]) -> HudView:
    """What a HUD's document says."""
    self_ = document["self"]
    identity = self_["identity"]
    me = int(identity["id"])
    recent = [action for action in self_.get("recent_actions", ()) if "refused" not in action]
    rooms = [room for room in document["rooms"] if not room.get("closed")]
    met: dict[int, str] = {}
    for room in rooms:
        for message in room["messages"]:
            if message["sender"] == SYSTEM and (found := _CALLED.match(message["content"])):
                met[int(found[2])] = found[4] or found[1]
            elif (
                (said := _MYSELF.match(message["content"]))
                and message["sender"].isdigit()
                and said[0] != f"{said[1]}."
            ):
                met.setdefault(int(message["sender"]), said[1])
    met.pop(me, None)
    return HudView(
        me,
        identity["name"],
        identity.get("seed") or identity.get("role") or "",
        self_.get("knowledge", {}),
        int(self_.get("memory_used", "0%").rstrip("%")),
        self_["now"],
        _done(recent, "react"),
        _done(recent, "reply"),
        tuple(_viewed_room(room, me) for room in rooms),
        met,
        "\n".join(_in_time(rooms)),
    )


def _in_time(rooms: list[Mapping[str, Any]]) -> list[str]:
    shown = {message["id"]: message["content"] for room in rooms for message in room["messages"]}
    return [shown[id] for id in sorted(shown)]


def _done(recent: list[dict[str, Any]], kind: Literal["react", "reply"]) -> frozenset[int]:
    return frozenset(one["message_id"] for one in recent if one["type"] == kind and "message_id" in one)


def _viewed_room(room: Mapping[str, Any], me: int) -> ViewedRoom:
    messages = room["messages"]
    own = [place for place, message in enumerate(messages) if message["sender"] == str(me)]
    since = messages[own[-1] + 1 :] if own else messages
    return ViewedRoom(
        room["id"],
        room["is_self_room"],
        room["time_since_last"].startswith("never"),
        room["word_budget"],
        room.get("billboard", ""),
        tuple(id for id in map(int, room["members"]) if id not in (0, me)),
        tuple(_viewed_message(one) for one in since),
        sum(message["sender"] == str(me) for message in messages[-8:]),
        tuple(one["id"] for one in room.get("pending_access_requests", ())),
    )


def _viewed_message(one: Mapping[str, Any]) -> ViewedMessage:
    text = one["content"]
    return ViewedMessage(one["id"], one["sender"], text, one.get("reply_to") or 0, "?" in text)


IMPROVISER_MODEL = "improviser"
"""The name of its model."""
IMPROVISER_LABEL = "improviser (rules and chance, no language model)"
"""What people are told it is."""

FORGET_PERCENT = 80
"""Percent of memory from which on it forgets old things."""
REUSABLE_PHRASES = 3
"""Phrases of a kind, those that were said the longest ago, from which one is taken where none is new."""

_OPEN = re.compile(r"\b(?:what|who|which|where|when|how|why)\b", re.IGNORECASE)


class Improviser:
    """A quick mind for any number of agents."""

    name = IMPROVISER_MODEL

    def think_now(self, asked: BeatPrompt) -> BeatReply:
        """What the agent does in this beat; often nothing."""
        chance = Random(f"{asked.seed}/{asked.agent}/{asked.number}")
        reply = Improvisation(view_hud(asked.seen.document), asked.kind == "bot", chance).play()
        return BeatReply(encode_reply(reply, asked.output_format))


class Improvisation:
    """One beat of one agent."""

    def __init__(self, sight: HudView, bot: bool, chance: Random) -> None:
        self.sight = sight
        self.bot = bot
        self.chance = chance
        self.responses: list[dict[str, Any]] = []
        self.actions: list[dict[str, Any]] = []
        self.topics = [one for one in find_topics(sight.background) if one not in sight.name] or ["the weather"]

    def play(self) -> dict[str, Any]:
        """The reply."""
        self._remember_names()
        self._keep_house()
        spoke = any(self._speak(room) for room in self._in_some_order())
        if not spoke and not self.actions:
            self._rest()
        return {"responses": self.responses, "actions": self.actions}

    # -- speaking --------------------------------------------------------------------------------------------------

    def _in_some_order(self) -> list[ViewedRoom]:
        """Rooms where somebody waits for an answer first."""
        rooms = list(self.sight.rooms)
        self.chance.shuffle(rooms)
        return sorted(rooms, key=lambda room: not any(self._is_for_me(message) for message in room.since))

    def _speak(self, room: ViewedRoom) -> bool:
        """Say something in a room, or react to something; whether it was said."""
        if not room.others and not any(message.sender == ARCHITECT for message in room.since):
            return self._maybe(0.03) and self._say(room, self._opening())
        heard = [message for message in room.since if message.sender != SYSTEM]
        for message in reversed(heard):
            if self._is_for_me(message) and message.id not in self.sight.answered:
                sure = message.sender == ARCHITECT or self._maybe(0.9)
                return sure and self._answer(room, message, heard)
        if (comer := self._comer(room)) is not None and self._maybe(min(0.9, 2 / len(room.others or (0,)))):
            return self._say(room, self._line("greet", "invite", name=self._called(str(comer))))
        if not heard:
            return self._maybe(0.0 if self.bot else 0.25 / (1 + room.mine)) and self._say(
                room, f"{self._opening()} {self._line('turn')}"
            )
        last = heard[-1]
        self._react(last)
        if self._maybe(self._urge(room, last, heard)):
            return self._answer(room, last, heard)
        return False

    def _urge(self, room: ViewedRoom, last: ViewedMessage, heard: list[ViewedMessage]) -> float:
        """How likely it is to take the word: a message has about one answer, whatever the size of the room."""
        if self.bot and not last.question:
            return 0.0
        answers = sum(message.reply_to == last.id for message in heard)
        urge = (1.5 if last.question else 0.9) / len(room.others or (0,))
        if last.sender == ARCHITECT:
            urge = 1.6 / (1 + len(room.others))
        if "@" in last.text:  # it is for somebody else
            urge *= 0.2
        known = {topic.casefold() for topic in self.topics}
        if known & {word.casefold() for word in self._words(last)}:
            urge *= 2
        return min(0.9, urge / (1 + answers)) * 0.8**room.mine

    def _answer(self, room: ViewedRoom, message: ViewedMessage, heard: list[ViewedMessage]) -> bool:
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

    def _say(self, room: ViewedRoom, text: str, to: ViewedMessage | None = None) -> bool:
        """A message within the room's word budget, cut at a sentence; whether there was one."""
        if room.new and room.others and not self.bot:
            text = f"{self._line('myself')} {text}"
        sentences = text.replace("? ", "?|").replace(". ", ".|").split("|")
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
        """How it begins of its own: with what it wants, with what it wrote down, or with a topic."""
        goals, memories = (self._notes(branch) for branch in ("goals", "memories"))
        if goals and self._maybe(0.3):
            return self._line("goal", goal=self.chance.choice(goals))
        if memories and self._maybe(0.3):
            return self._line("recall", memory=self.chance.choice(memories[-5:]))
        return self._line("open")

    def _notes(self, branch: str) -> list[str]:
        """What it wrote down there, as far as it can be said."""
        noted = _branch(self.sight.knowledge, "character").get(branch)
        several = noted if isinstance(noted, list | tuple) else ()
        return [one for one in several if isinstance(one, str) and 0 < len(one) <= 120]

    def _line(self, *kinds: str, name: str = "", word: str = "", goal: str = "", memory: str = "") -> str:
        """A phrase of each kind, one after the other."""
        topic = self.chance.choice([one for one in self.topics if one != word] or ["the rest"])
        given = {"name": name, "self": self.sight.name, "topic": topic, "word": word or topic}
        given |= {"goal": goal, "memory": memory}
        phrases = [self._fresh(kind).format_map(given) for kind in kinds]
        return " ".join(phrase[0].upper() + phrase[1:] for phrase in phrases)

    def _fresh(self, kind: str) -> str:
        """A phrase that nobody has used, as far as can be seen; else one that was used long ago."""
        last = {phrase: self.sight.heard.rfind(longest_fixed_part(phrase)) for phrase in PHRASES[kind]}
        fresh = [phrase for phrase, place in last.items() if place < 0]
        return self.chance.choice(fresh or sorted(last, key=lambda phrase: last[phrase])[:REUSABLE_PHRASES])

    def _react(self, message: ViewedMessage) -> None:
        if message.id in self.sight.reacted or not self._maybe(0.18):
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
        known = self._names()
        for id, name in self.sight.met.items():
            if known.get(id) != name and (clean := name.replace(".", "").strip()):
                if self.bot:
                    self._set(f"people.{id}", {"name": name})
                else:
                    self._set(f"character.relationships.{clean}", {"id": id, "trust": 0.5, "notes": "met here"})
                return

    def _names(self) -> dict[int, str]:
        """Who is called what, as far as it was written down."""
        if self.bot:
            people = _branch(self.sight.knowledge, "people")
            return {int(id): str(one["name"]) for id, one in people.items() if _has(one, "name") and id.isdigit()}
        people = _branch(self.sight.knowledge, "character", "relationships")
        return {one["id"]: name for name, one in people.items() if _has(one, "id")}

    def _called(self, sender: str) -> str:
        if sender == ARCHITECT:
            return "Architect"
        return self._names().get(int(sender)) or self.sight.met.get(int(sender)) or f"@{sender}"

    def _trust(self, message: ViewedMessage) -> None:
        name = self._names().get(int(message.sender))
        if name is None:
            return
        one = _branch(self.sight.knowledge, "character", "relationships")[name]
        trust = one.get("trust", 0.5)
        if isinstance(trust, float) and trust < 0.95:
            self._set(f"character.relationships.{name}.trust", round(trust + 0.1, 1))

    def _keep_house(self) -> None:
        """What is to be done now and then: requests, the billboard, the mood, memory."""
        for room in self.sight.rooms:
            for request in room.requests:
                kind = "grant_access" if self._maybe(0.8) else "deny_access"
                self.actions.append({"type": kind, "request_id": request})
            if room.own and not room.billboard and self._maybe(0.15):
                self.actions.append({"type": "set_billboard", "message": self._line("billboard")})
        character = _branch(self.sight.knowledge, "character")
        if self.sight.memory >= FORGET_PERCENT:
            path = "notes" if self.bot else "character.memories"
            if _has(self.sight.knowledge if self.bot else character, path.rpartition(".")[2]):
                self.actions.append({"type": "delete", "path": path})
        elif not self.bot and self._maybe(0.06):
            if (mood := self.chance.choice(MOODS)) != character.get("mood"):
                self._set("character.mood", mood)
        elif not self.bot and self._maybe(0.05) and (heard := self._heard()) and self._words(heard):
            text = f"{self._called(heard.sender)} spoke of {self.chance.choice(self._words(heard))}"
            self.actions.append({"type": "append", "path": "character.memories", "value": text})

    def _rest(self) -> None:
        """Sleep a little where nothing was said that is new."""
        waiting = any(message.sender != SYSTEM for room in self.sight.rooms for message in room.since)
        if not waiting and self._maybe(0.08):
            until = datetime.fromisoformat(self.sight.now) + timedelta(seconds=self.chance.randint(20, 60))
            self.actions.append({"type": "sleep", "until": f"{until:%Y-%m-%dT%H:%M:%SZ}"})

    # -- small things ----------------------------------------------------------------------------------------------

    def _is_for_me(self, message: ViewedMessage) -> bool:
        """Whether a message names the agent."""
        if message.sender == SYSTEM:
            return False
        text = message.text.casefold()
        return f"@{self.sight.me}" in text.split() or self.sight.name.casefold() in text

    def _comer(self, room: ViewedRoom) -> int | None:
        """Who came into a room since the agent last spoke, where nobody was greeted by name since."""
        for message in reversed(room.since):
            if message.sender == SYSTEM and message.text.rstrip(".").endswith("came in"):
                id = next(
                    (id for id, name in self.sight.met.items() if message.text.startswith(f"{name} ({id})")), None
                )
                later = [one for one in room.since if one.id > message.id]
                if id in room.others and not any(self.sight.met[id] in one.text for one in later):
                    return id
        return None

    def _words(self, message: ViewedMessage) -> list[str]:
        """What a message is about."""
        names = " ".join((self.sight.name, *self.sight.met.values(), *self._names().values())).casefold().split()
        return [
            one for one in find_topics(message.text, PHRASE_WORDS) if not set(one.casefold().split()) & set(names)
        ]

    def _heard(self) -> ViewedMessage | None:
        return next((m for room in self.sight.rooms for m in reversed(room.since) if m.sender != SYSTEM), None)

    def _set(self, path: str, value: Any) -> None:
        self.actions.append({"type": "set", "path": path, "value": value})

    def _maybe(self, share: float) -> bool:
        return self.chance.random() < share


def _branch(tree: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    """A branch of knowledge; an empty one where there is none."""
    here: Any = tree
    for name in path:
        here = here.get(name) if isinstance(here, Mapping) else None
    return here if isinstance(here, Mapping) else {}


def _has(value: Any, name: str) -> bool:
    return isinstance(value, Mapping) and name in value
