"""Results remembered by the content of whole numbers: the same for the same content, and a bounded number of them."""

import numpy as np
import pytest

from rtmbs.core.remembered import MOST_REMEMBERED, by_content


def test_the_content_counts_and_not_the_array():
    calls = []

    @by_content
    def total(places, more=None):
        calls.append(len(places))
        return np.array([places.sum() + (0 if more is None else more[0])])

    assert total(np.arange(3)) is total(np.arange(3))
    assert total(np.arange(3), more=(1,)) == 4
    assert total(np.arange(3, dtype=np.int32)) == 3
    assert total(np.arange(3).reshape(3, 1)) == 3
    assert calls == [3, 3, 3, 3]


def test_the_oldest_result_is_forgotten():
    calls = []
    asked = by_content(lambda k: calls.append(k) or [k])
    for k in range(MOST_REMEMBERED + 1):
        asked(k)
    asked(MOST_REMEMBERED)
    asked(0)
    assert calls == [*range(MOST_REMEMBERED + 1), 0]


@pytest.mark.parametrize("value", [np.zeros(2), 1.5, [1], {}])
def test_real_numbers_and_what_may_change_are_refused(value):
    with pytest.raises(TypeError, match="remembered by no content"):
        by_content(lambda given: given)(value)
