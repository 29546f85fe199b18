"""Event rows out of the raw bytes of a database or of its write-ahead log, where SQLite itself reads no further.

A row is known by its shape: the record of an event has twelve columns, and the last two, digest and link, are 32
bytes each, which the record's header says with the bytes 4C 4C. So the bytes are searched for that pair, and each hit
is read backwards to the start of its header and of its cell. No tree has to be whole for that:

    ... 81 20  05  0F 00 17 01 55 01 05 1B 09 17 82 34 4C 4C  ses_1 ...
        size   row header: 15 bytes, then the types of the twelve columns

Nothing is taken on trust: whoever takes a row checks it against its digest and the hash chain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hudkit.log.stores.hash_chain import EventRow

_PAIR = b"\x4c\x4c"
_COLUMNS = 12
_MIN_HEADER, _MAX_HEADER = 13, 30
_MAX_CELL_START = 18  # bytes of two varints
_WAL_HEADER, _FRAME_HEADER = 32, 24
_PAGE_BYTES = 4096

_Page = Callable[[int], bytes | None]


def carved_rows(database: bytes, write_ahead_log: bytes) -> Iterator[tuple[int, EventRow]]:
    """Yield every event row that can be seen in these files, with its position; older versions of a row come, too."""
    size = _page_size(database, write_ahead_log)
    pages = [database[start : start + size] for start in range(0, len(database), size)]
    latest: dict[int, bytes] = {}

    def page_at(number: int) -> bytes | None:
        return latest.get(number) or (pages[number - 1] if 0 < number <= len(pages) else None)

    for page in pages:
        yield from _rows_of_page(page, page_at)
    for start in range(_WAL_HEADER, len(write_ahead_log), _FRAME_HEADER + size):
        number = int.from_bytes(write_ahead_log[start : start + 4], "big")
        latest[number] = write_ahead_log[start + _FRAME_HEADER : start + _FRAME_HEADER + size]
    # After all of them: the overflow pages of a row can stand in later frames than its own.
    for start in range(_WAL_HEADER, len(write_ahead_log), _FRAME_HEADER + size):
        page = write_ahead_log[start + _FRAME_HEADER : start + _FRAME_HEADER + size]
        yield from _rows_of_page(page, page_at)


def _page_size(database: bytes, write_ahead_log: bytes) -> int:
    for size in (int.from_bytes(database[16:18], "big"), int.from_bytes(write_ahead_log[8:12], "big")):
        if 512 <= size <= 65_536 and size & (size - 1) == 0:
            return size
    return _PAGE_BYTES


def _rows_of_page(page: bytes, page_at: _Page) -> Iterator[tuple[int, EventRow]]:
    offset = page.find(_PAIR)
    while offset >= 0:
        row = _row_with_header_end(page, offset + len(_PAIR), page_at)
        if row is not None:
            yield row
        offset = page.find(_PAIR, offset + 1)


def _row_with_header_end(page: bytes, end: int, page_at: _Page) -> tuple[int, EventRow] | None:
    """Return the row whose record header ends here, with its position; `None` where there is none."""
    for start in range(max(2, end - _MAX_HEADER), end - _MIN_HEADER + 1):
        if page[start] != end - start:
            continue
        types = _varints(page, start + 1, end)
        if types is None or len(types) != _COLUMNS or types[0] != 0:
            continue
        sizes = [_value_bytes(kind) for kind in types]
        size = end - start + sum(sizes)
        position = _position_before(page, start, size)
        if position is None:
            continue
        payload = _payload(page, start, size, page_at)
        if payload is not None:
            values, offset = list[Any](), end - start
            for kind, length in zip(types, sizes, strict=True):
                values.append(_value(kind, payload[offset : offset + length]))
                offset += length
            return position, EventRow(*values[1:])
    return None


def _position_before(page: bytes, end: int, size: int) -> int | None:
    """Return the row's number of the cell whose payload, of so many bytes, begins here."""
    for start in range(end - 2, max(-1, end - _MAX_CELL_START), -1):
        numbers = _varints(page, start, end)
        if numbers is not None and len(numbers) == 2 and numbers[0] == size:
            return numbers[1]
    return None


def _payload(page: bytes, start: int, size: int, page_at: _Page) -> bytes | None:
    """Return the record that begins here, with what of it is on other pages."""
    usable = len(page)
    most = usable - 35
    if size <= most:
        return page[start : start + size] if start + size <= usable else None
    least = (usable - 12) * 32 // 255 - 23
    local = least + (size - least) % (usable - 4)
    local = local if local <= most else least
    parts, left = [page[start : start + local]], size - local
    number = int.from_bytes(page[start + local : start + local + 4], "big")
    while left > 0:
        further = page_at(number)
        if further is None:
            return None
        parts.append(further[4 : 4 + left])
        if len(parts[-1]) == 0:
            return None
        left -= len(parts[-1])
        number = int.from_bytes(further[:4], "big")
    return b"".join(parts)


def _varints(data: bytes, start: int, end: int) -> list[int] | None:
    """Return the numbers that fill these bytes, in SQLite's varint form; `None` where they do not end with them."""
    numbers: list[int] = []
    number = length = 0
    for byte in data[start:end]:
        length += 1
        if length == 9:
            numbers.append((number << 8) | byte)
            number = length = 0
            continue
        number = (number << 7) | (byte & 0x7F)
        if not byte & 0x80:
            numbers.append(number)
            number = length = 0
    return None if length else numbers


_INTEGER_BYTES = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0)


def _value_bytes(kind: int) -> int:
    return _INTEGER_BYTES[kind] if kind < 12 else (kind - 12) // 2


def _value(kind: int, data: bytes) -> object:
    """Return the value of a column, as `sqlite3` would."""
    if kind == 0:
        return None
    if kind in (8, 9):
        return kind - 8
    if kind < 7:
        return int.from_bytes(data, "big", signed=True)
    if kind < 12:
        return None  # no event has a number with a point
    return data.decode("utf-8", "surrogateescape") if kind % 2 else data
