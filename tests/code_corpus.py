"""Paths, commands and code as they are in real projects: thousands of different ones from one seed.

Made from parts, without a look at what writes them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

MAX_CHARS = 58
"""Characters of one of them: short enough to be shown in full wherever an item is."""

_WORDS = (
    *("user", "order", "parser", "retry", "ledger", "auth", "index", "cache", "report", "worker", "schema", "queue"),
    *("upload", "invoice", "client", "config", "session", "model", "view", "router", "token", "audit"),
)
_EXTENSIONS = ("py", "ts", "go", "rs", "tsx", "test.js", "spec.ts", "d.ts", "c", "h", "md", "yml", "json", "tar.gz")
_FOLDERS = (
    "src",
    "tests",
    "lib",
    "app",
    "pkg",
    "internal",
    "__tests__",
    "__mocks__",
    ".github",
    "node_modules/@scope",
)


class _Parts:
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def one(self, *values: str) -> str:
        return self._chance.choice(values)

    def number(self) -> int:
        return self._chance.randrange(2, 900)

    def word(self) -> str:
        return self.one(*_WORDS)

    def name(self) -> str:
        a, b = self.word(), self.word()
        return self.one(
            a,
            f"{a}_{b}",
            f"__{a}__",
            f"_{a}_{b}",
            f"{a}_{b}_v{self.number()}",
            "__init__",
            f"__{a}_{b}",
            f"{a}__{b}_",
        )

    def file(self) -> str:
        return f"{self.name()}.{self.one(*_EXTENSIONS)}"

    def folder(self) -> str:
        return "/".join(self.one(*_FOLDERS, *_WORDS) for _ in range(self._chance.randrange(1, 3)))

    def glob(self) -> str:
        extension = self.one(*_EXTENSIONS)
        return self.one(
            f"*.{extension}", f"**/*.{extension}", f"{self.folder()}/**/*_test.{extension}", f"{self.word()}_*",
            f"{self.folder()}/*", f"test_*_{self.word()}.{extension}", f"[a-z]*_{self.word()}.*",
        )  # fmt: skip

    def variable(self) -> str:
        name = self.word().upper()
        return self.one(f"${name}", f"${{{name}_DIR}}", f"${name}_{self.number()}", "$@", "$?", f"%{name}%")


def _path(parts: _Parts) -> str:
    file = parts.file()
    return parts.one(
        f"{parts.folder()}/{file}", f"./{file}", f"../{parts.folder()}/{file}", f"/etc/{parts.word()}.d/{file}",
        f"~/{parts.folder()}/{file}", f"C:\\Users\\{parts.word()}\\_{parts.word()}_\\{file}", f"D:\\{parts.glob()}",
        f"{parts.folder()}/[{parts.word()}]/page.tsx", f"{parts.folder()}/[...{parts.name()}].ts", parts.glob(),
        f"{parts.folder()}/{file}:{parts.number()}", f"\\\\server\\{parts.word()}\\{file}", file,
        f"{parts.folder()}/{file}::test_{parts.word()}[{parts.number()}-a_b_c]",
        f"packages/@{parts.word()}/{file}", f"git@github.com:{parts.word()}/{parts.name()}.git",
        f"https://example.com/{parts.name()}/{file}?q=*&x={parts.number()}",
    )  # fmt: skip


def _command(parts: _Parts) -> str:
    path, name, glob = f"{parts.word()}/{parts.file()}", parts.name(), parts.glob()
    return parts.one(
        f'grep -rn "{name}" {glob} | wc -l', f"rm -rf {glob}", f"git add {path} {glob}", f"mv {path} {name}_old.py",
        f"find . -name '{glob}' -not -path './{name}/*'", f"echo `date` >> {name}.log",
        f"cat {path} > {parts.variable()}",
        f'pytest -k "{name} and not *" {path}', f"sed -i 's/_{name}_/*&*/g' {path}", f"ls {glob} || true",
        f"export {parts.word().upper()}_DIR={parts.variable()}/_{name}_",
        f"docker run -v {parts.variable()}:/{name} x_y",
        f"python -m {name}.__main__ --all *", f"cp ~/{name}/* ~/{path}", f"make {name}_* V=1 && ./{path} *",
        f'curl -H "X-{parts.word()}: *" localhost:{parts.number()}/_{name}_/', f"awk '{{print $1*$2}}' {name}.csv",
        f"git log --format='%h <%an> %s' -- {path}", f"npm run {parts.word()}:* -- --x=_{name}_", f"uv run {path} *~",
        f"kubectl get pods -l 'app in ({name},*)'", f"psql -c 'select * from {name}_* t'", f"tar xf {glob}~ ~{name}",
    )  # fmt: skip


def _code(parts: _Parts) -> str:
    a, b, name = parts.word(), parts.word(), parts.name()
    kind = a.capitalize()
    return parts.one(
        f"def {name}(self, *args, **kwargs) -> None:", f"List[T]<{kind}>", f"{name}: dict[str, list[*Ts]] = {{}}",
        f"std::vector<std::{a}_t> {name};", f"return __{a}__ if __{b}__ else *None*", f"{a} * {b} ** 2 * {name}",
        f"const {a} = `${{{b}}}_${{{name}}}`;", f"Map<{kind}, Array<{b}_t>>", f"{name}[{a}](*{b})",
        f"if {a} < {b} and {b} > {name}: pass", f"*{a} = &{b}->_{name}_;", f"type {kind}<T> = Partial<T>[];",
        f"#define _{a.upper()}_H_ {parts.number()}", f"{a} = {{**{b}, '{name}': *x*}}", f"@{a}.{name}(*, key=_)",
        f"fn {a}<'a>(x: &'a mut {kind}) -> *const u8", f"{name} |= ~{b} & ~{a}", f"/{a}_\\d+(?:_{b}_)*/g",
        f"<{kind} {b}={{_{a}_}} />", f"SELECT * FROM {a}_{b} WHERE {name} LIKE '_%*'", f"lambda *_: __{name}",
        f"x = '\\\\*{a}\\n_{b}_'", f"&{a}; &amp; &#{parts.number()};", f"[{a}]: https://{b}.example/_{name}_",
        f"!important _{a}_{b}_ *{name}", f"{a}?.[`_{b}_`]", f"${{{a}}}~~{b}~~ #{parts.number()}",
        f"{parts.number()}. {a}_{b}", f"- {name}: *{a}", f"> {a} | {b}", f"+ {name}", f"# {a} {name}", f"~~~{a}",
    )  # fmt: skip


_KINDS: dict[str, Callable[[_Parts], str]] = {"path": _path, "command": _command, "code": _code}


def corpus(count: int, seed: int = 20261123) -> list[tuple[str, str]]:
    """So many different ones, each with its kind: `path`, `command` or `code`."""
    chance = random.Random(seed)
    parts = _Parts(chance)
    made: dict[str, str] = {}
    while len(made) < count:
        kind = chance.choice(tuple(_KINDS))
        text = _KINDS[kind](parts)
        if len(text) <= MAX_CHARS:
            made.setdefault(text, kind)
    return [(kind, text) for text, kind in made.items()]


_SENTENCES = {
    "path": ("Never change {}", "keep {} as it is", "see {}, which is generated", "the config is in {}", "({})"),
    "command": ("Before a push run {}", "it failed with: {}", "run {}"),
    "code": ("the mend is: {}", "it must read: {}"),
}


def sentences(count: int, seed: int = 7) -> Iterator[tuple[str, str]]:
    """Sentences with one of the corpus in each, and what is in it."""
    chance = random.Random(seed)
    for kind, text in corpus(count, seed):
        yield chance.choice(_SENTENCES[kind]).format(text), text
