"""What a function writes outside of itself is found: by its instructions, and by what containers held before."""

from types import SimpleNamespace

import numpy as np
import pytest

from rtmbs.model.captured import Writes

TOTAL, LIST, BOX, ARRAY = 0, [], {"last": 0.0}, np.zeros(2)


def adds():
    global TOTAL
    TOTAL += 1


def appends():
    LIST.append(1.0)


def keeps():
    BOX["last"] = 2.0 * 0.5


def fills():
    ARRAY[0] += 1.0


def own():
    thing, values = SimpleNamespace(), [1.0]
    thing.x = values
    values[0] = 2.0

    def inner():
        nonlocal values
        values = []

    inner()
    return len(LIST) + BOX["last"] + ARRAY[0]


class Holder:
    def __init__(self):
        self.count, self.history = 0, {}

    def __call__(self):
        self.count += 1

    def records(self):
        self.history["x"] = 1.0


def around():
    count = 0

    def counts():
        nonlocal count
        count += 1

    return counts


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (adds, ["TOTAL"]),
        (appends, ["LIST"]),
        (keeps, ["BOX"]),
        (fills, ["ARRAY"]),
        (own, []),
        (Holder(), ["count", "self"]),
        (Holder().records, ["self"]),
        (around(), ["count"]),
        (np.sin, []),
    ],
    ids=lambda one: getattr(one, "__name__", None),
)
def test_what_is_written_is_named(function, names):
    writes = Writes(function)
    if function is not np.sin:
        function()
    assert writes.names() == names
