"""States of parts: their keys, the rows they travel as, and the fixed tree that merges them.

A state has the number of its part as its key. Four at a time (key // 4) are merged in order of their keys, and again,
until one is left: what is added to what depends on the numbers only. A key that comes twice, from a task that ran
twice, counts once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from oblivio._oblivio import InvalidInputError
from oblivio.distributed._failures import EXPECTED, Failure

State = bytes | Failure
Merge = Callable[[list[bytes]], bytes]
# Part, chunk, chunks, state: no chunks for a failure.
Row = tuple[int, int, int, bytes]

WIDTH = 4
CHUNK = 4_000_000


def rows_of(key: int, state: State) -> Iterator[Row]:
    """The state in chunks that engines carry without trouble."""
    if isinstance(state, Failure):
        yield key, 0, 0, state.to_bytes()
        return
    chunks = max(1, -(-len(state) // CHUNK))
    for chunk in range(chunks):
        yield key, chunk, chunks, state[chunk * CHUNK : (chunk + 1) * CHUNK]


def states_of(rows: Iterable[Row]) -> list[tuple[int, State]]:
    """The states in order of their keys, from their chunks in any order."""
    found: dict[int, dict[tuple[int, int], bytes]] = {}
    for key, chunk, chunks, piece in rows:
        pieces = found.setdefault(key, {})
        if pieces.setdefault((chunks, chunk), piece) != piece:
            raise _differs(key)
    return [(key, _joined(key, found[key])) for key in sorted(found)]


def _joined(key: int, pieces: dict[tuple[int, int], bytes]) -> State:
    counts = {chunks for chunks, _ in pieces}
    if len(counts) > 1:
        raise _differs(key)
    chunks = counts.pop()
    if chunks == 0:
        return Failure.from_bytes(pieces[0, 0])
    if len(pieces) != chunks:
        raise InvalidInputError(f"part {key} arrived with {len(pieces)} of {chunks} chunks; run it again")
    return b"".join(pieces[chunks, chunk] for chunk in range(chunks))


def level(states: Iterable[tuple[int, State]], merge: Merge) -> list[tuple[int, State]]:
    """One level of the tree: the states of key // 4, the first failure in place of what it would be part of."""
    groups: dict[int, list[State]] = {}
    for key, state in _once(states):
        groups.setdefault(key // WIDTH, []).append(state)
    return [(key, _merged(group, merge)) for key, group in groups.items()]


def root(states: Iterable[tuple[int, State]], merge: Merge) -> State | None:
    """What the tree comes to; None of no states."""
    left = _once(states)
    while len(left) > 1:
        left = level(left, merge)
    return left[0][1] if left else None


def levels(keys: Sequence[int]) -> int:
    """How many levels it takes until no more than one group is left for the driver."""
    largest, found = max(keys, default=0), 0
    while largest >= WIDTH:
        largest, found = largest // WIDTH, found + 1
    return found


def _merged(group: list[State], merge: Merge) -> State:
    failure = next((state for state in group if isinstance(state, Failure)), None)
    if failure is not None:
        return failure
    states = [state for state in group if not isinstance(state, Failure)]
    try:
        return merge(states) if len(states) > 1 else states[0]
    except EXPECTED as error:
        return Failure.of(error)


def _once(states: Iterable[tuple[int, State]]) -> list[tuple[int, State]]:
    found: dict[int, State] = {}
    for key, state in states:
        if found.setdefault(key, state) != state:
            raise _differs(key)
    return sorted(found.items(), key=lambda item: item[0])


def _differs(key: int) -> InvalidInputError:
    return InvalidInputError(
        f"part {key} came twice with different results, so its rows are not the same each time they are read; "
        "persist or checkpoint the table first"
    )
