"""Write the table of letters that look like others: `python scripts/make_confusables.py confusables.txt`.

The file is Unicode's (https://www.unicode.org/Public/security/latest/confusables.txt). Kept are the signs that look
like Latin letters, digits or the signs that names may not hold, as far as compatibility forms (NFKC) do not say the
same already.
"""

from __future__ import annotations

import re
import string
import sys
from pathlib import Path
from unicodedata import normalize

TABLE = Path(__file__).parents[1] / "src/hudkit/rooms/confusables.txt"
TARGETS = frozenset(string.ascii_letters + string.digits + ":()[]{}<>@#|'")
HEAD = """\
# Signs that look like others, of Unicode's table of confusables (UTS 39), version {version}; made by
# scripts/make_confusables.py. What they look like, then the signs, each beginning with it.
# (c) 1991-2025 Unicode, Inc., under the Unicode License V3: confusables-LICENSE.txt, which lies beside this file.
"""


def main() -> None:
    """Read the file that is named and write the table."""
    source = Path(sys.argv[1]).read_text(encoding="utf-8-sig")
    version = re.search(r"^# Version: ([0-9.]+)", source, re.MULTILINE)
    signs: dict[str, list[str]] = {}
    for line in source.splitlines():
        columns = line.partition("#")[0].split(";")
        if len(columns) < 3:
            continue
        sign, looks_like = ("".join(chr(int(code, 16)) for code in column.split()) for column in columns[:2])
        plain = normalize("NFKC", sign)
        if set(looks_like) <= TARGETS and plain != looks_like and plain == sign:
            signs.setdefault(looks_like, []).append(sign)
    lines = [f"{target}\t{''.join(sorted(signs[target]))}" for target in sorted(signs)]
    head = HEAD.format(version=version[1] if version else "unknown")
    TABLE.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
    print(f"{TABLE}: {sum(map(len, signs.values()))} signs")


if __name__ == "__main__":
    main()
