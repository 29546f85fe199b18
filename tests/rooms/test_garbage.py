"""Garbage collection in a process that plays a world."""

from __future__ import annotations

import gc
import weakref

import pytest

from hudkit.rooms.scheduler import freeze_survivors


class Node:
    """What refers to itself, so that only a collection frees it."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture(autouse=True)
def nothing_frozen():
    gc.unfreeze()  # a test before this one may have left a process's own objects frozen
    gc.collect()
    yield
    assert gc.get_freeze_count() == 0


def test_what_outlives_a_full_collection_is_not_walked_again():
    with freeze_survivors():
        lasting = Node()
        gc.collect()
        assert all(each is not lasting for each in gc.get_objects())
        assert gc.get_freeze_count() > 0
    assert any(each is lasting for each in gc.get_objects())


def test_collections_of_young_objects_freeze_nothing():
    with freeze_survivors():
        gc.collect(0)
        gc.collect(1)
        assert gc.get_freeze_count() == 0


def test_a_cycle_that_was_frozen_is_freed_by_a_later_collection():
    with freeze_survivors():
        node = Node()
        gc.collect()  # the first: frozen
        died = weakref.ref(node)
        del node
        assert died() is not None
        for _ in range(3):  # the second and the fourth walk everything
            gc.collect()
        assert died() is None


def test_an_error_ends_it_too():
    callbacks = list(gc.callbacks)
    with pytest.raises(ValueError, match="any"), freeze_survivors():
        raise ValueError("any")
    assert gc.callbacks == callbacks
