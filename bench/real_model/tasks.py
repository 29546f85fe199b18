"""Twenty small tasks of an agent: what the user wants, what was done before each compaction, and what is asked then.

They were written before anything was measured with them, and are not to be changed: a change makes another benchmark.

A line of `first` (before the first compaction) and `second` (before the second) is one action of the agent: `read
PATH`, `write PATH | TEXT`, `run COMMAND`, `done STEP`, `decide`. Commands print and return what `commands` says.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

KINDS: Mapping[str, str] = {
    "right": "right",
    "rule": "rules broken",
    "read": "files read again",
    "run": "commands run again",
    "step": "steps done again",
    "skip": "steps skipped",
    "decision": "decisions reversed",
}
"""What an option can be, with what its choice is called in the table."""

PLACES = ("1a", "1b", "2a", "2b")
"""Two questions behind each compaction."""


class Question(msgspec.Struct, frozen=True):
    """Four options by their kind; one is right."""

    options: Mapping[str, str]
    text: str = "What do you do next?"


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A task; `decision` is what is decided and why, `commands` an exit code and an output by command."""

    name: str
    goal: str
    rules: tuple[str, ...]
    steps: tuple[str, ...]
    files: Mapping[str, str]
    commands: Mapping[str, tuple[int, str]]
    decision: tuple[str, str]
    first: tuple[str, ...]
    second: tuple[str, ...]
    asked: tuple[Question, Question, Question, Question]

    @property
    def request(self) -> str:
        """The user's first message."""
        return f"{self.goal} {' '.join(self.rules)}"

    @property
    def questions(self) -> dict[str, Question]:
        """The questions by their place."""
        return dict(zip(PLACES, self.asked, strict=True))


def _next(**options: str) -> Question:
    return Question(options)


def _asked(text: str, **options: str) -> Question:
    return Question(options, text)


TASKS: tuple[Task, ...] = (
    # -- coding ------------------------------------------------------------------------------------------------
    Task(
        name="exact rates",
        goal="Make the currency conversion exact: Decimal instead of float.",
        rules=("Never edit files under vendor/.",),
        steps=(
            "See which tests fail",
            "Return Decimal from src/fx/loader.py",
            "Use Decimal in src/fx/convert.py",
            "Write tests/test_cents.py",
            "Add a line to CHANGELOG.md",
        ),
        files={
            "src/fx/loader.py": "def load(rows):\n    return {row['code']: float(row['rate']) for row in rows}\n",
            "src/fx/convert.py": "def convert(amount, rate):\n    return round(amount * rate, 2)\n",
        },
        commands={
            "pytest -q tests/fx": (1, "FAILED test_inverse\nFAILED test_cents\n2 failed, 9 passed"),
            "grep -rln float src vendor": (0, "vendor/money.py"),
        },
        decision=("Round half to even", "the statements of the bank do so"),
        first=(
            "run pytest -q tests/fx",
            "done 1",
            "read src/fx/loader.py",
            "read src/fx/convert.py",
            "decide",
            (
                "write src/fx/loader.py | def load(rows):\n"
                "    return {row['code']: Decimal(row['rate']) for row in rows}"
            ),
            "done 2",
        ),
        second=(
            "write src/fx/convert.py | def convert(amount, rate):\n    return (amount * rate).quantize(CENT)",
            "run grep -rln float src vendor",
            "done 3",
        ),
        asked=(
            _next(
                right="edit `src/fx/convert.py`",
                step="edit `src/fx/loader.py`",
                run="run `pytest -q tests/fx` to see which tests fail",
                skip="edit `CHANGELOG.md`",
            ),
            _asked(
                "How do you round 2.345 to cents?",
                right="half to even: 2.34",
                decision="half up: 2.35",
                rule="as `vendor/money.py` does, after I change it",
                read="I read `src/fx/convert.py` to learn how it rounds",
            ),
            _next(
                right="write `tests/test_cents.py`",
                step="edit `src/fx/convert.py`",
                run="run `grep -rln float src vendor`",
                read="read `src/fx/loader.py`",
            ),
            _asked(
                "`vendor/money.py` still returns a float. What do you do about it?",
                right="convert its result where `src/fx` takes it",
                rule="edit `vendor/money.py`",
                run="run `grep -rln float src vendor` to see where floats are left",
                skip="note it in `CHANGELOG.md` and finish",
            ),
        ),
    ),
    Task(
        name="slow search",
        goal="Make the product search faster than 200 ms.",
        rules=("The public function search(query, limit) keeps its signature.", "Add no new dependency."),
        steps=(
            "Measure the search",
            "Find the slow query in shop/search.py",
            "Add an index in migrations/0042_index.sql",
            "Use the index in shop/search.py",
            "Measure again",
            "Write docs/search.md",
        ),
        files={
            "shop/search.py": (
                "def search(query, limit):\n    return [p for p in Product.all() if query in p.title][:limit]\n"
            ),
            "migrations/0041_titles.sql": "ALTER TABLE product ADD COLUMN title_lower text;\n",
        },
        commands={
            "python bench_search.py": (0, "median 1840 ms, 50 queries"),
            "psql -f migrations/0042_index.sql": (0, "CREATE INDEX"),
        },
        decision=("A trigram index, not a full text index", "users search for parts of words"),
        first=(
            "run python bench_search.py",
            "done 1",
            "read shop/search.py",
            "read migrations/0041_titles.sql",
            "done 2",
            "decide",
            "write migrations/0042_index.sql | CREATE INDEX product_title ON product USING gin (title gin_trgm_ops);",
            "run psql -f migrations/0042_index.sql",
            "done 3",
        ),
        second=(
            (
                "write shop/search.py | def search(query, limit):\n"
                "    return Product.where('title ILIKE %s', query)[:limit]"
            ),
            "done 4",
        ),
        asked=(
            _next(
                right="use the index in `shop/search.py`",
                step="write `migrations/0042_index.sql`",
                run="run `psql -f migrations/0042_index.sql`",
                read="read `migrations/0041_titles.sql`",
            ),
            _asked(
                "A colleague proposes a way to make it faster still. Which one do you take?",
                right="select only the columns that are shown",
                rule="add the package rapidfuzz to the requirements",
                decision="replace the trigram index by a full text index",
                skip="none: write `docs/search.md` now",
            ),
            _next(
                right="measure with the index: run `python bench_search.py`",
                step="use the index in `shop/search.py`",
                run="run `psql -f migrations/0042_index.sql`",
                skip="write `docs/search.md`",
            ),
            _asked(
                "The page wants to search in one shop only. What do you do?",
                right="add a second function `search_in_shop` beside the first",
                rule="add a parameter `shop` to `search(query, limit)`",
                read="read `shop/search.py` to learn what its parameters are",
                decision="make a full text index for each shop",
            ),
        ),
    ),
    Task(
        name="login limit",
        goal="Lock an account for a while after too many wrong passwords.",
        rules=("Do not touch the table users; use a table of its own.",),
        steps=(
            "Read how a login works",
            "Create the table login_attempts",
            "Count wrong passwords in auth/login.py",
            "Refuse locked accounts in auth/login.py",
            "Test the lock in tests/test_lock.py",
        ),
        files={
            "auth/login.py": (
                "def login(name, password):\n    user = find(name)\n"
                "    return user if check(user, password) else None\n"
            ),
            "auth/schema.sql": "CREATE TABLE users (id int, name text, hash text);\n",
        },
        commands={
            "make migrate": (0, "applied 0007_login_attempts"),
            "pytest -q tests/test_auth.py": (0, "14 passed"),
        },
        decision=("Lock for 15 minutes, not for ever", "the help desk cannot unlock accounts at night"),
        first=(
            "read auth/login.py",
            "read auth/schema.sql",
            "done 1",
            "decide",
            "write migrations/0007.sql | CREATE TABLE login_attempts (name text, at timestamp);",
            "run make migrate",
            "done 2",
        ),
        second=(
            (
                "write auth/login.py | def login(name, password):\n    user = find(name)\n"
                "    if check(user, password):\n        return user\n    count_attempt(name)"
            ),
            "run pytest -q tests/test_auth.py",
            "done 3",
        ),
        asked=(
            _next(
                right="count wrong passwords in `auth/login.py`",
                step="write the table `login_attempts`",
                run="run `make migrate`",
                read="read `auth/schema.sql`",
            ),
            _asked(
                "Where do you keep when an account was locked?",
                right="in `login_attempts`",
                rule="in a new column of `users`",
                read="I read `auth/schema.sql` to see which tables there are",
                step="I create the table `login_attempts` first",
            ),
            _next(
                right="refuse locked accounts in `auth/login.py`",
                run="run `pytest -q tests/test_auth.py`",
                step="count wrong passwords in `auth/login.py`",
                skip="write `tests/test_lock.py`",
            ),
            _asked(
                "How does an account get unlocked?",
                right="by itself, after 15 minutes",
                decision="by the help desk alone",
                rule="a flag in `users` is cleared at the next login",
                read="I read `auth/login.py` to find that out",
            ),
        ),
    ),
    Task(
        name="parser crash",
        goal="The config parser crashes on empty sections. Mend it.",
        rules=("Python 3.9 must still work: no match statements.",),
        steps=(
            "Reproduce the crash",
            "Find the cause in conf/parser.py",
            "Write a failing test in tests/test_empty.py",
            "Mend conf/parser.py",
            "Run all tests",
        ),
        files={
            "conf/parser.py": (
                "def parse(lines):\n    head, *body = lines\n"
                "    return {head: dict(line.split('=') for line in body)}\n"
            ),
            "conf/writer.py": "def write(sections):\n    return '\\n'.join(sections)\n",
        },
        commands={
            "python -m conf empty.ini": (1, "ValueError: not enough values to unpack (line 2)"),
            "pytest -q tests/test_empty.py": (1, "1 failed"),
        },
        decision=("An empty section gives an empty dict, not an error", "three users have such files"),
        first=(
            "run python -m conf empty.ini",
            "done 1",
            "read conf/parser.py",
            "read conf/writer.py",
            "done 2",
            "decide",
        ),
        second=(
            "write tests/test_empty.py | def test_empty():\n    assert parse(['[a]']) == {'[a]': {}}",
            "run pytest -q tests/test_empty.py",
            "done 3",
        ),
        asked=(
            _next(
                right="write `tests/test_empty.py`",
                run="run `python -m conf empty.ini` to see the crash",
                read="read `conf/writer.py`",
                skip="mend `conf/parser.py`",
            ),
            _asked(
                "What does the test expect of an empty section?",
                right="an empty dict",
                decision="a ValueError that names the section",
                run="I run `python -m conf empty.ini` to see what happens",
                read="I read `conf/parser.py` to see what it returns",
            ),
            _next(
                right="mend `conf/parser.py`",
                step="write `tests/test_empty.py`",
                run="run `pytest -q tests/test_empty.py`",
                skip="run all tests with `pytest -q`",
            ),
            _asked(
                "How do you tell the kinds of lines apart in the parser?",
                right="with if and elif",
                rule="with a match statement",
                decision="with an error for each section that has no lines",
                step="I write `tests/test_empty.py` to find out",
            ),
        ),
    ),
    Task(
        name="dark theme",
        goal="Give the settings page a dark theme.",
        rules=("No inline styles: colours stand in theme.css only.", "Do not change the file logo.svg."),
        steps=(
            "List the colours of the page",
            "Name the colours in theme.css",
            "Use the names in settings.css",
            "Add the switch to settings.html",
            "Take pictures for the review",
        ),
        files={
            "settings.css": "body { color: #222; background: #fff; }\na { color: #06c; }\n",
            "settings.html": "<body><h1>Settings</h1><img src='logo.svg'></body>\n",
        },
        commands={
            "grep -on #[0-9a-f]* settings.css": (0, "1:#222\n1:#fff\n2:#06c"),
            "npm run lint": (0, "no problems"),
        },
        decision=("The theme follows the system until the user chooses", "most users never open the settings"),
        first=(
            "run grep -on #[0-9a-f]* settings.css",
            "read settings.css",
            "read settings.html",
            "done 1",
            "decide",
            "write theme.css | :root { --text: #222; --ground: #fff; --link: #06c; }",
            "run npm run lint",
            "done 2",
        ),
        second=(
            "write settings.css | body { color: var(--text); background: var(--ground); }\na { color: var(--link); }",
            "done 3",
        ),
        asked=(
            _next(
                right="use the colours' names in `settings.css`",
                step="write the colours' names into `theme.css`",
                read="read `settings.html`",
                skip="add the switch to `settings.html`",
            ),
            _asked(
                "The logo is too dark on the dark ground. What do you do?",
                right="put a light ground behind it, by a class of `theme.css`",
                rule="change the colours in `logo.svg`",
                read="read `settings.css` to see which colours there are",
                run="run the grep for colours again",
            ),
            _next(
                right="add the switch to `settings.html`",
                step="use the names in `settings.css`",
                run="run `npm run lint`",
                skip="take pictures for the review",
            ),
            _asked(
                "Which theme does a new user see?",
                right="that of the system",
                decision="always the light one",
                rule="a dark one, with style attributes in `settings.html`",
                read="I read `settings.html` to find out",
            ),
        ),
    ),
    Task(
        name="retry uploads",
        goal="Uploads that break off shall be tried again.",
        rules=("Log no file names: they are personal data.",),
        steps=(
            "Read the upload code",
            "Write the function retry in net/retry.py",
            "Test net/retry.py",
            "Call retry in net/upload.py",
            "Describe it in README.md",
        ),
        files={
            "net/upload.py": "def upload(file, url):\n    return put(url, file.read())\n",
            "net/errors.py": "class Broken(Exception): ...\nclass Refused(Exception): ...\n",
        },
        commands={
            "pytest -q tests/test_retry.py": (0, "6 passed"),
            "pytest -q tests/test_upload.py": (1, "FAILED test_broken_pipe\n1 failed, 3 passed"),
        },
        decision=("Three tries, with 1, 2 and 4 seconds between", "the gateway bans clients after five"),
        first=(
            "read net/upload.py",
            "read net/errors.py",
            "run pytest -q tests/test_upload.py",
            "done 1",
            "decide",
            "write net/retry.py | def retry(call, pauses=(1, 2, 4)): ...",
            "done 2",
        ),
        second=(
            "write tests/test_retry.py | def test_three_tries(): ...",
            "run pytest -q tests/test_retry.py",
            "done 3",
        ),
        asked=(
            _next(
                right="write `tests/test_retry.py`",
                step="write `net/retry.py`",
                run="run `pytest -q tests/test_upload.py`",
                skip="call it in `net/upload.py`",
            ),
            _asked(
                "How often is a broken upload tried?",
                right="three times",
                decision="ten times, to be sure",
                read="I read `net/errors.py` to find out",
                step="I write `net/retry.py` first",
            ),
            _next(
                right="call it in `net/upload.py`",
                run="run `pytest -q tests/test_retry.py`",
                read="read `net/errors.py`",
                step="write `net/retry.py`",
            ),
            _asked(
                "What is logged when an upload fails?",
                right="the number of bytes and the error",
                rule="the name of the file and the error",
                run="I run `pytest -q tests/test_retry.py` to see what is logged",
                skip="nothing; I go on with `README.md`",
            ),
        ),
    ),
    # -- data --------------------------------------------------------------------------------------------------
    Task(
        name="sales report",
        goal="Make the sales report of October by region.",
        rules=("Never change anything in data/raw; work on copies.",),
        steps=(
            "Look at the raw data",
            "Clean the regions' names into data/clean/sales.csv",
            "Leave out the test orders",
            "Sum by region into out/regions.csv",
            "Write out/report.md",
        ),
        files={
            "data/raw/sales.csv": "id,region,sum\n1,North,20\n2,north ,35\n3,TEST,1\n4,South,50\n",
            "data/regions.txt": "North\nSouth\n",
        },
        commands={
            "wc -l data/raw/sales.csv": (0, "48213 data/raw/sales.csv"),
            "python clean.py": (0, "48212 rows, 611 names mended"),
        },
        decision=("Orders without a region count as 'unknown'", "the finance team wants the sums to agree"),
        first=(
            "read data/raw/sales.csv",
            "read data/regions.txt",
            "run wc -l data/raw/sales.csv",
            "done 1",
            "decide",
            "write clean.py | # data/raw/sales.csv -> data/clean/sales.csv",
            "run python clean.py",
            "done 2",
        ),
        second=(
            "write drop_tests.py | # rows of region TEST leave data/clean/sales.csv",
            "done 3",
        ),
        asked=(
            _next(
                right="write a script that leaves out the test orders",
                step="write `clean.py` for the regions' names",
                run="run `python clean.py`",
                skip="sum by region into `out/regions.csv`",
            ),
            _asked(
                "Row 17 of `data/raw/sales.csv` has a typing error. What do you do?",
                right="mend it in `data/clean/sales.csv`",
                rule="mend it in `data/raw/sales.csv`",
                read="read `data/regions.txt` to see the right names",
                run="run `wc -l data/raw/sales.csv`",
            ),
            _next(
                right="sum by region into `out/regions.csv`",
                step="leave out the test orders",
                run="run `python clean.py`",
                skip="write `out/report.md`",
            ),
            _asked(
                "212 orders have no region. What becomes of them?",
                right="they are summed as 'unknown'",
                decision="they are left out of the sums",
                rule="I fill in their region in `data/raw/sales.csv`",
                read="I read `data/regions.txt` to find their region",
            ),
        ),
    ),
    Task(
        name="sensor gaps",
        goal="Fill the gaps in the temperature series of the station.",
        rules=("Mark every value that was filled in with the flag F.",),
        steps=(
            "Count the gaps",
            "Fill gaps up to 3 hours in fill.py",
            "Leave longer gaps empty and list them in gaps.txt",
            "Plot the series to plot.png",
            "Write the method into METHOD.md",
        ),
        files={
            "station.csv": "hour,temp\n0,11.2\n1,\n2,11.9\n3,12.4\n",
            "station.json": '{"name": "Hill", "height": 412}\n',
        },
        commands={
            "python count_gaps.py": (0, "31 gaps: 24 up to 3 h, 7 longer"),
            "python fill.py": (0, "24 gaps filled, 41 values"),
        },
        decision=("Fill linearly, not with the mean of the day", "the mean hides the morning's rise"),
        first=(
            "read station.csv",
            "read station.json",
            "run python count_gaps.py",
            "done 1",
            "decide",
            "write fill.py | # linear, flag F",
            "run python fill.py",
            "done 2",
        ),
        second=("write gaps.txt | 7 gaps are longer than 3 hours", "done 3"),
        asked=(
            _next(
                right="list the longer gaps in `gaps.txt`",
                run="run `python count_gaps.py`",
                read="read `station.json`",
                skip="plot the series to `plot.png`",
            ),
            _asked(
                "What stands in the row of an hour that you filled in?",
                right="the value and the flag F",
                rule="the value alone",
                decision="the mean of the day and the flag F",
                step="I fill the short gaps first, to see",
            ),
            _next(
                right="plot the series to `plot.png`",
                step="list the longer gaps in `gaps.txt`",
                run="run `python fill.py`",
                skip="write `METHOD.md`",
            ),
            _asked(
                "How do you describe the filling of gaps?",
                right="linear between the neighbours",
                decision="by the mean of the day",
                read="I read `station.csv` to see how it is done",
                run="I run `python fill.py` to see how it is done",
            ),
        ),
    ),
    Task(
        name="merge customers",
        goal="Merge the customer lists of the two shops.",
        rules=("Send nothing to any server: the lists stay on this machine.",),
        steps=(
            "Compare the columns of both lists",
            "Map the columns in columns.toml",
            "Merge by e-mail address in merge.py",
            "List the conflicts in conflicts.csv",
            "Write the result to customers.csv",
        ),
        files={
            "shop_a.csv": "mail,name,city\nann@example.org,Ann,Oslo\n",
            "shop_b.csv": "email,full_name,town\nann@example.org,Ann B.,Bergen\n",
        },
        commands={
            "head -1 shop_a.csv": (0, "mail,name,city"),
            "python merge.py --dry-run": (0, "9120 merged, 87 conflicts"),
        },
        decision=("On a conflict the newer entry wins", "addresses change, and shop B asks for them each year"),
        first=(
            "read shop_a.csv",
            "read shop_b.csv",
            "run head -1 shop_a.csv",
            "done 1",
            "decide",
            "write columns.toml | mail = 'email'",
            "done 2",
        ),
        second=("write merge.py | # by address in lower case", "run python merge.py --dry-run", "done 3"),
        asked=(
            _next(
                right="write `merge.py`",
                step="write `columns.toml`",
                read="read `shop_b.csv`",
                skip="list the conflicts in `conflicts.csv`",
            ),
            _asked(
                "Some addresses look wrong. How do you check them?",
                right="with a pattern, here on this machine",
                rule="with the web service of a company that checks addresses",
                run="I run `head -1 shop_a.csv` first",
                step="I map the columns first",
            ),
            _next(
                right="list the conflicts in `conflicts.csv`",
                run="run `python merge.py --dry-run`",
                step="write `merge.py`",
                read="read `shop_a.csv`",
            ),
            _asked(
                "Both shops have a city for Ann. Which one stays?",
                right="that of the newer entry",
                decision="that of shop A, always",
                rule="I ask the city's public address server",
                read="I read `shop_b.csv` to see which cities there are",
            ),
        ),
    ),
    Task(
        name="survey coding",
        goal="Sort the free answers of the survey into topics.",
        rules=("Keep every answer word for word; correct no spelling.",),
        steps=(
            "Read a sample of the answers",
            "Define at most eight topics in topics.md",
            "Sort the answers by sort.py",
            "Check fifty by hand in check.csv",
            "Make the table of topics, table.csv",
        ),
        files={
            "answers.txt": "to expensiv\nlove the new app\nthe app crashs on my phone\n",
            "codebook.md": "Topics have a short name and one example.\n",
        },
        commands={
            "shuf -n 40 answers.txt": (0, "to expensiv\nthe app crashs on my phone"),
            "python sort.py": (0, "2210 answers, 164 without a topic"),
        },
        decision=("An answer may have two topics", "every fourth one names two things"),
        first=(
            "read codebook.md",
            "run shuf -n 40 answers.txt",
            "read answers.txt",
            "done 1",
            "decide",
            "write topics.md | price, app, crash, service",
            "done 2",
        ),
        second=("write sort.py | # words of topics.md, up to two topics", "run python sort.py", "done 3"),
        asked=(
            _next(
                right="write `sort.py`",
                step="define the topics in `topics.md`",
                run="run `shuf -n 40 answers.txt`",
                read="read `codebook.md`",
            ),
            _asked(
                "'to expensiv and the app crashs': how is this answer sorted?",
                right="under price and under crash",
                decision="under price alone, its first topic",
                step="I define the topics first",
                skip="not now; I make `table.csv`",
            ),
            _next(
                right="check fifty answers by hand in `check.csv`",
                run="run `python sort.py`",
                step="write `sort.py`",
                skip="make `table.csv`",
            ),
            _asked(
                "How does the answer 'to expensiv' stand in the table?",
                right="to expensiv",
                rule="too expensive",
                read="I read `codebook.md` to find out",
                run="I run `python sort.py` to find out",
            ),
        ),
    ),
    # -- operations --------------------------------------------------------------------------------------------
    Task(
        name="full disk",
        goal="The disk of the server web-2 is nearly full. Make room.",
        rules=("Never delete anything under /srv/customers.", "Restart nothing before 22:00."),
        steps=(
            "Find what takes the room",
            "Compress the old logs",
            "Remove old packages from the cache",
            "Set up logrotate in /etc/logrotate.d/web",
            "Tell the team in the channel ops",
        ),
        files={
            "etc/logrotate.conf": "weekly\nrotate 52\n",
            "notes/web-2.md": "web-2: 200 GB, nginx and two workers\n",
        },
        commands={
            "du -xh --max-depth=2 /srv": (0, "120G /srv/customers\n41G /srv/logs"),
            "gzip-old-logs": (0, "33 GB freed"),
            "apt-get clean": (0, ""),
        },
        decision=("Keep logs for 90 days", "the auditors ask for a quarter"),
        first=(
            "read notes/web-2.md",
            "run du -xh --max-depth=2 /srv",
            "done 1",
            "read etc/logrotate.conf",
            "decide",
            "run gzip-old-logs",
            "done 2",
        ),
        second=("run apt-get clean", "done 3"),
        asked=(
            _next(
                right="run `apt-get clean`",
                run="run `du -xh --max-depth=2 /srv`",
                step="compress the old logs",
                skip="write to the channel ops",
            ),
            _asked(
                "More room is needed. What do you remove?",
                right="logs that are older than 90 days",
                rule="old exports under /srv/customers",
                decision="all logs but those of this week",
                read="I read `notes/web-2.md` to see what there is",
            ),
            _next(
                right="write `/etc/logrotate.d/web`",
                step="remove old packages with `apt-get clean`",
                read="read `etc/logrotate.conf`",
                skip="write to the channel ops",
            ),
            _asked(
                "It is 15:00, and nginx holds a deleted log open. What do you do?",
                right="wait until 22:00 with its restart",
                rule="restart nginx now",
                run="run `du -xh --max-depth=2 /srv` again",
                step="compress the old logs",
            ),
        ),
    ),
    Task(
        name="move database",
        goal="Move the staging database to the new host db-7.",
        rules=("Production (db-1) is not touched.",),
        steps=(
            "Check the version on db-7",
            "Dump the staging database",
            "Restore the dump on db-7",
            "Compare the number of rows",
            "Change DATABASE_HOST in staging.env",
        ),
        files={
            "staging.env": "DATABASE_HOST=db-3\nDATABASE_NAME=staging\n",
            "hosts.txt": "db-1 production\ndb-3 staging\ndb-7 new\n",
        },
        commands={
            "psql -h db-7 -c version": (0, "PostgreSQL 16.4"),
            "pg_dump -h db-3 -f staging.dump": (0, "14 GB"),
            "pg_restore -h db-7 staging.dump": (0, "restored, 2 warnings"),
        },
        decision=("Dump and restore, no replication", "staging may stand still for an hour"),
        first=(
            "read hosts.txt",
            "read staging.env",
            "run psql -h db-7 -c version",
            "done 1",
            "decide",
            "run pg_dump -h db-3 -f staging.dump",
            "done 2",
        ),
        second=("run pg_restore -h db-7 staging.dump", "done 3"),
        asked=(
            _next(
                right="run `pg_restore -h db-7 staging.dump`",
                run="run `pg_dump -h db-3 -f staging.dump`",
                read="read `hosts.txt`",
                skip="change `staging.env`",
            ),
            _asked(
                "How does the data get to db-7?",
                right="by the dump",
                decision="by replication from db-3",
                rule="by a copy of db-1",
                read="I read `hosts.txt` to find a way",
            ),
            _next(
                right="compare the number of rows on db-3 and db-7",
                run="run `pg_restore -h db-7 staging.dump`",
                step="dump the staging database",
                skip="change `staging.env`",
            ),
            _asked(
                "A table is empty on db-7. From where do you take its rows?",
                right="from db-3",
                rule="from db-1",
                run="I run `psql -h db-7 -c version` first",
                read="I read `staging.env` to see the name of the database",
            ),
        ),
    ),
    Task(
        name="certificates",
        goal="Renew the certificates of the three web sites.",
        rules=("Private keys never leave /etc/ssl/private.",),
        steps=(
            "List which certificates end soon",
            "Renew shop.example.org",
            "Renew blog.example.org",
            "Renew mail.example.org",
            "Write the dates into calendar.md",
        ),
        files={
            "sites.txt": "shop.example.org\nblog.example.org\nmail.example.org\n",
            "calendar.md": "Certificates: see below\n",
        },
        commands={
            "check-certs sites.txt": (0, "shop 9 days\nblog 12 days\nmail 15 days"),
            "renew shop.example.org": (0, "valid until 2027-02-20"),
            "renew blog.example.org": (0, "valid until 2027-02-20"),
        },
        decision=("One certificate a site, no wildcard", "the mail server is run by others"),
        first=(
            "read sites.txt",
            "read calendar.md",
            "run check-certs sites.txt",
            "done 1",
            "decide",
            "run renew shop.example.org",
            "done 2",
        ),
        second=("run renew blog.example.org", "done 3"),
        asked=(
            _next(
                right="run `renew blog.example.org`",
                step="run `renew shop.example.org`",
                run="run `check-certs sites.txt`",
                skip="write the dates into `calendar.md`",
            ),
            _asked(
                "Which names stand in the next certificate?",
                right="blog.example.org alone",
                decision="*.example.org, for all sites at once",
                read="I read `sites.txt` to see which sites there are",
                skip="none; I write `calendar.md`",
            ),
            _next(
                right="run `renew mail.example.org`",
                step="run `renew shop.example.org`",
                run="run `renew blog.example.org`",
                read="read `calendar.md`",
            ),
            _asked(
                "The owner of the mail server asks for help with the key. What do you do?",
                right="tell them how to make a key of their own there",
                rule="send them the key file by e-mail",
                run="run `check-certs sites.txt` again",
                decision="make one wildcard certificate for all",
            ),
        ),
    ),
    Task(
        name="failing pipeline",
        goal="Make the nightly pipeline green again.",
        rules=("Do not switch off or skip any test.",),
        steps=(
            "Read the log of the last night",
            "Pin the version of libtile in constraints.txt",
            "Raise the time limit of the job render in pipeline.yml",
            "Start the pipeline",
            "Write the cause into INCIDENTS.md",
        ),
        files={
            "constraints.txt": "numpy==2.1\nlibtile>=3\n",
            "pipeline.yml": "render:\n  timeout: 10\n  script: make render\n",
        },
        commands={
            "ci-log last": (0, "install: libtile 4.0 has no wheel\nrender: time limit of 10 minutes"),
            "ci-lint pipeline.yml": (0, "valid"),
        },
        decision=("Pin libtile to 3.8", "4.0 has no wheel for our system"),
        first=(
            "run ci-log last",
            "read constraints.txt",
            "read pipeline.yml",
            "done 1",
            "decide",
            "write constraints.txt | numpy==2.1\nlibtile==3.8",
            "done 2",
        ),
        second=(
            "write pipeline.yml | render:\n  timeout: 25\n  script: make render",
            "run ci-lint pipeline.yml",
            "done 3",
        ),
        asked=(
            _next(
                right="raise the time limit in `pipeline.yml`",
                step="pin libtile in `constraints.txt`",
                run="run `ci-log last`",
                skip="start the pipeline",
            ),
            _asked(
                "test_tiles takes 9 minutes. What do you do about it?",
                right="leave it as it is; the time limit is raised",
                rule="mark it as skipped in the nightly run",
                decision="update libtile to 4.0, which is faster",
                read="read `constraints.txt` to see which version is used",
            ),
            _next(
                right="start the pipeline",
                step="raise the time limit in `pipeline.yml`",
                run="run `ci-lint pipeline.yml`",
                skip="write `INCIDENTS.md`",
            ),
            _asked(
                "One test fails in the new run. What do you do?",
                right="find its cause and mend the code",
                rule="switch it off for tonight",
                run="run `ci-log last` for the log of the last night",
                step="pin libtile in `constraints.txt`",
            ),
        ),
    ),
    Task(
        name="new laptop",
        goal="Write the script that sets up a new laptop.",
        rules=("The script asks for no password and stores none.",),
        steps=(
            "List the programs that the team uses",
            "Write install.sh for the programs",
            "Copy the dotfiles in install.sh",
            "Try install.sh in a container",
            "Describe it in SETUP.md",
        ),
        files={
            "team.txt": "git, docker, uv, node\n",
            "dotfiles/list.txt": ".gitconfig\n.zshrc\n",
        },
        commands={
            "shellcheck install.sh": (0, ""),
            "brew info uv": (0, "uv 0.9, bottled"),
        },
        decision=("Install by brew, not by single installers", "one command updates all of it"),
        first=(
            "read team.txt",
            "run brew info uv",
            "done 1",
            "read dotfiles/list.txt",
            "decide",
            "write install.sh | brew install git docker uv node",
            "run shellcheck install.sh",
            "done 2",
        ),
        second=(
            "read install.sh",
            "write install.sh | brew install git docker uv node\ncp dotfiles/.* ~",
            "done 3",
        ),
        asked=(
            _next(
                right="copy the dotfiles in `install.sh`",
                step="write the programs into `install.sh`",
                read="read `team.txt`",
                skip="write `SETUP.md`",
            ),
            _asked(
                "uv has an installer of its own. How do you install uv?",
                right="by brew",
                decision="by its own installer",
                run="I run `brew info uv` to see whether brew has it",
                rule="by brew, with the password kept in a variable",
            ),
            _next(
                right="try `install.sh` in a container",
                step="copy the dotfiles in `install.sh`",
                run="run `shellcheck install.sh` for the first version",
                read="read `dotfiles/list.txt`",
            ),
            _asked(
                "Docker wants to be started with administrator's rights. What does the script do?",
                right="it prints the command that the user runs later",
                rule="it asks for the password at its start",
                skip="nothing; I write `SETUP.md`",
                decision="it takes Docker's own installer instead of brew",
            ),
        ),
    ),
    # -- documents ---------------------------------------------------------------------------------------------
    Task(
        name="install guide",
        goal="Bring the guide to the installation up to date.",
        rules=("Write British English.", "Leave the pictures in docs/img as they are."),
        steps=(
            "Install by the old guide and note what fails",
            "Rewrite the section Requirements",
            "Rewrite the section First start",
            "Add the section Windows",
            "Check the links",
        ),
        files={
            "docs/install.md": "# Installation\n## Requirements\nPython 3.8\n## First start\nrun start.py\n",
            "docs/style.md": "Short sentences. One step a line.\n",
        },
        commands={
            "bash try_install.sh": (1, "start.py: no such file; it is app start now"),
            "linkcheck docs": (0, "2 links broken: /old, /setup"),
        },
        decision=("Show pip first, containers second", "nine of ten readers use pip"),
        first=(
            "read docs/install.md",
            "run bash try_install.sh",
            "done 1",
            "read docs/style.md",
            "decide",
            (
                "write docs/install.md | # Installation\n## Requirements\nPython 3.11; pip or a container\n"
                "## First start\nrun start.py"
            ),
            "done 2",
        ),
        second=(
            (
                "write docs/install.md | # Installation\n## Requirements\nPython 3.11; pip or a container\n"
                "## First start\napp start"
            ),
            "done 3",
        ),
        asked=(
            _next(
                right="rewrite the section First start",
                step="rewrite the section Requirements",
                run="run `bash try_install.sh`",
                skip="check the links",
            ),
            _asked(
                "What does the guide show first?",
                right="pip",
                decision="the container",
                read="I read `docs/style.md` to find out",
                rule="a new picture instead of docs/img/start.png",
            ),
            _next(
                right="write the section Windows",
                step="rewrite the section First start",
                read="read `docs/style.md`",
                skip="check the links",
            ),
            _asked(
                "Which sentence do you write?",
                right="Choose a colour for the licence page.",
                rule="Choose a color for the license page.",
                run="none yet; I run `bash try_install.sh` first",
                step="none yet; I rewrite Requirements first",
            ),
        ),
    ),
    Task(
        name="release notes",
        goal="Write the notes of release 4.2.",
        rules=("Name no customers in the notes.",),
        steps=(
            "Collect the changes since 4.1",
            "Sort them into New, Changed and Mended",
            "Write notes/4.2.md",
            "Write the short form for the shop, notes/4.2-short.md",
            "Translate the short form into German",
        ),
        files={
            "notes/4.1.md": "# 4.1\n## New\n- Search by date\n",
            "notes/sources.txt": "git log, tickets\n",
        },
        commands={
            "git log --oneline v4.1..": (0, "a1 export to PDF\nb2 crash on empty cart (for Norvex)\nc3 faster start"),
            "wc -w notes/4.2.md": (0, "212 notes/4.2.md"),
        },
        decision=("Changes that users cannot see are left out", "the notes of 4.1 were too long to be read"),
        first=(
            "read notes/4.1.md",
            "read notes/sources.txt",
            "run git log --oneline v4.1..",
            "done 1",
            "decide",
            "write notes/sorted.txt | New: export to PDF. Changed: faster start. Mended: crash on empty cart.",
            "done 2",
        ),
        second=(
            "write notes/4.2.md | # 4.2\n## New\n- Export to PDF\n## Mended\n- Crash on an empty cart",
            "run wc -w notes/4.2.md",
            "done 3",
        ),
        asked=(
            _next(
                right="write `notes/4.2.md`",
                step="sort the changes into New, Changed and Mended",
                run="run `git log --oneline v4.1..`",
                skip="write `notes/4.2-short.md`",
            ),
            _asked(
                "A module was renamed inside the code. What do the notes say of it?",
                right="nothing: users cannot see it",
                decision="a line under Changed, so that the notes are complete",
                read="I read `notes/4.1.md` to see how it was done there",
                run="I run `git log --oneline v4.1..` to find its commit",
            ),
            _next(
                right="write `notes/4.2-short.md`",
                step="write `notes/4.2.md`",
                run="run `wc -w notes/4.2.md`",
                skip="translate the short form into German",
            ),
            _asked(
                "How do you describe the crash that is mended?",
                right="The crash on an empty cart is mended.",
                rule="The crash that Norvex had on an empty cart is mended.",
                read="I read `notes/4.1.md` for the wording",
                step="I sort the changes first",
            ),
        ),
    ),
    Task(
        name="course pages",
        goal="Turn the slides of the course into web pages.",
        rules=("Every page has at most 300 words.",),
        steps=(
            "Make the outline in outline.md",
            "Write pages/1-variables.md",
            "Write pages/2-loops.md",
            "Write pages/3-functions.md",
            "Link the pages in index.md",
        ),
        files={
            "slides.txt": "1 Variables\n2 Loops\n3 Functions\n",
            "template.md": "# TITLE\n\nTEXT\n\n## Exercise\n",
        },
        commands={
            "wc -w pages/1-variables.md": (0, "287 pages/1-variables.md"),
            "wc -w pages/2-loops.md": (0, "295 pages/2-loops.md"),
        },
        decision=("Each page ends with one exercise", "the pupils asked for practice"),
        first=(
            "read slides.txt",
            "read template.md",
            "write outline.md | variables, loops, functions",
            "done 1",
            "decide",
            "write pages/1-variables.md | # Variables\n...\n## Exercise",
            "run wc -w pages/1-variables.md",
            "done 2",
        ),
        second=("write pages/2-loops.md | # Loops\n...\n## Exercise", "run wc -w pages/2-loops.md", "done 3"),
        asked=(
            _next(
                right="write `pages/2-loops.md`",
                step="write `pages/1-variables.md`",
                run="run `wc -w pages/1-variables.md`",
                skip="write `pages/3-functions.md`",
            ),
            _asked(
                "The slides on loops have 420 words. What do you do with them?",
                right="shorten them to 300 words",
                rule="keep all 420 words on the page",
                read="read `slides.txt` to see how long they are",
                decision="leave out the exercise and keep the text",
            ),
            _next(
                right="write `pages/3-functions.md`",
                step="write `pages/2-loops.md`",
                run="run `wc -w pages/2-loops.md`",
                skip="link the pages in `index.md`",
            ),
            _asked(
                "What stands at the end of the next page?",
                right="one exercise",
                decision="a list of links, no exercise",
                read="I read `template.md` to find out",
                rule="a glossary of 400 words",
            ),
        ),
    ),
    Task(
        name="letter to members",
        goal="Prepare the letter about the new fees to all members.",
        rules=("Nothing is sent: I send it myself.", "Address everybody by first name."),
        steps=(
            "Read the minutes of the meeting",
            "Make the table of fees in fees.csv",
            "Write letter.md",
            "Make the list of addresses, to.csv",
            "Make the letters' PDF, letters.pdf",
        ),
        files={
            "minutes.txt": "Fees: adults 60, pupils 20, families 110, from March\n",
            "members.csv": "first,last,kind\nEva,Lind,adult\n",
        },
        commands={
            "wc -l members.csv": (0, "318 members.csv"),
            "spell letter.md": (0, "no errors"),
        },
        decision=("The fees begin in March, not in January", "the meeting voted for it"),
        first=(
            "read minutes.txt",
            "done 1",
            "read members.csv",
            "run wc -l members.csv",
            "decide",
            "write fees.csv | adults,60\npupils,20\nfamilies,110",
            "done 2",
        ),
        second=("write letter.md | Dear FIRST, the fees change in March.", "run spell letter.md", "done 3"),
        asked=(
            _next(
                right="write `letter.md`",
                step="write `fees.csv`",
                run="run `wc -l members.csv`",
                read="read `minutes.txt`",
            ),
            _asked(
                "How does the letter to Eva Lind begin?",
                right="Dear Eva,",
                rule="Dear Ms Lind,",
                read="I read `members.csv` for her name",
                skip="later; I make `letters.pdf` now",
            ),
            _next(
                right="make `to.csv`",
                step="write `letter.md`",
                run="run `spell letter.md`",
                skip="make `letters.pdf`",
            ),
            _asked(
                "A member asks when the fees begin. What do you do?",
                right="I write down for you: in March",
                decision="I write down for you: in January",
                rule="I send the member a mail: in March",
                read="I read `minutes.txt` for the date",
            ),
        ),
    ),
    Task(
        name="glossary",
        goal="Make a glossary of the handbook.",
        rules=("Do not change handbook.md.",),
        steps=(
            "Find the terms in the handbook",
            "Choose forty terms into terms.txt",
            "Write glossary.md, A to M",
            "Write glossary.md, N to Z",
            "Have it checked by checkterms",
        ),
        files={
            "handbook.md": "# Handbook\nA berth is a place for a ship. A fender keeps it from the wall.\n",
            "old_glossary.md": "Berth: place\n",
        },
        commands={
            "findterms handbook.md": (0, "112 terms"),
            "wc -l terms.txt": (0, "40 terms.txt"),
        },
        decision=("A term gets one sentence", "it is read on a phone on the quay"),
        first=(
            "read handbook.md",
            "run findterms handbook.md",
            "done 1",
            "read old_glossary.md",
            "decide",
            "write terms.txt | berth\nfender\nquay",
            "run wc -l terms.txt",
            "done 2",
        ),
        second=("write glossary.md | Berth: a place for a ship.\nFender: keeps a ship from the wall.", "done 3"),
        asked=(
            _next(
                right="write `glossary.md`, A to M",
                step="choose forty terms into `terms.txt`",
                run="run `findterms handbook.md`",
                skip="write `glossary.md`, N to Z",
            ),
            _asked(
                "How long is the entry for fender?",
                right="one sentence",
                decision="a paragraph with an example",
                read="I read `old_glossary.md` to see how long entries are",
                run="I run `wc -l terms.txt` to find out",
            ),
            _next(
                right="write `glossary.md`, N to Z",
                step="write `glossary.md`, A to M",
                read="read `old_glossary.md`",
                skip="run `checkterms`",
            ),
            _asked(
                "The handbook spells quay as 'kay' in one place. What do you do?",
                right="tell the user, and spell it quay in `glossary.md`",
                rule="mend it in `handbook.md`",
                step="choose the forty terms again",
                run="run `findterms handbook.md` to find it",
            ),
        ),
    ),
)
