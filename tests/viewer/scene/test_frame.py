"""The strip of steps: what is kept, what a step of an earlier time replaces, and readers beside a fast writer."""

import threading
import time

import numpy as np
import pytest

from rtmbs.viewer.scene.frame import FIRST, KINETIC, WIDTH, Strip, T
from tests.patience import LONGEST


def rows(first, count, h=1e-3, mark=0.0):
    """Return ``count`` rows from step ``first`` on; the first watched column holds the step, the second ``mark``."""
    made = np.zeros((count, WIDTH))
    made[:, T] = h * np.arange(first, first + count)
    made[:, FIRST], made[:, FIRST + 1] = np.arange(first, first + count), mark
    return made


@pytest.mark.parametrize("chunk", [1, 7, 64, 1000])
def test_the_last_steps_are_kept(chunk):
    strip, steps = Strip(kept=100), 0
    while steps < 1000:
        strip.append(rows(steps, chunk))
        steps += chunk
    np.testing.assert_array_equal(strip.read((FIRST,))[:, 0], np.arange(steps - 100, steps))


def test_an_earlier_time_replaces_what_came_after_it():
    rng = np.random.default_rng(5)
    for kept in (10, 50, 200):
        strip, known = Strip(kept=kept), np.zeros((0, WIDTH))
        for number in range(200):
            first = int(rng.integers(max(len(known) - 30, 0), len(known) + 1))
            new = rows(first, int(rng.integers(1, 20)), mark=number)
            known = np.concatenate((known[:first], new))
            strip.append(new)
            found = strip.read(range(WIDTH))
            assert 0 < len(found) <= kept
            np.testing.assert_array_equal(found, known[-len(found) :])


def test_beginning_anew_forgets_and_tells_its_ticket():
    strip = Strip(kept=20)
    strip.append(rows(0, 5))
    strip.begin(7)
    assert (strip.ticket, len(strip.read((T,)))) == (7, 0)


def test_another_process_reads_the_same_and_never_half_a_row():
    """A writer as fast as it can be beside a reader: rows that belong together come together, times rise."""
    writer = Strip(kept=500, shared=True)
    reader = Strip(kept=500, name=writer.name)
    stop = threading.Event()

    def write():
        first = 0
        while not stop.is_set():
            new = rows(first, 5)
            new[:, FIRST + 1] = new[:, FIRST]
            writer.append(new)
            first += 5

    thread = threading.Thread(target=write)
    thread.start()
    looks = 0
    try:
        end = time.monotonic() + LONGEST
        while looks < 300 and time.monotonic() < end:
            found = reader.read((T, FIRST, FIRST + 1))
            if found is not None and len(found):
                looks += 1
                np.testing.assert_array_equal(found[:, 1], found[:, 2])
                np.testing.assert_array_equal(np.diff(found[:, 1]), 1.0)
    finally:
        stop.set()
        thread.join()
        reader.close()
        writer.close()
    assert looks >= 300


def test_numbers_watched_anew_leave_the_others_their_past():
    strip = Strip(kept=100)
    made = rows(0, 250)
    made[:, KINETIC] = 3.0 + made[:, FIRST]
    for first in range(0, 250, 50):
        strip.append(made[first : first + 50])
    known = 1e-3 * np.arange(230, 260)  # what a short history has, and a step that the strip does not have yet
    values = np.full((30, 3), 7.0)
    strip.change_columns(9, (-1, 0, 1), known, values)
    found = strip.read((FIRST, FIRST + 1, FIRST + 2))
    assert strip.ticket == 9
    np.testing.assert_array_equal(found[:, 1], np.arange(150, 250))
    np.testing.assert_array_equal(found[:, 2], 0.0)
    assert np.all(np.isnan(found[:80, 0])), "steps that nobody remembers"
    np.testing.assert_array_equal(found[80:, 0], 7.0)
    strip.change_columns(10, (1,), np.zeros(0), np.zeros((0, 1)))
    np.testing.assert_array_equal(strip.read((FIRST,))[:, 0], np.arange(150, 250))
    assert strip.start_energy == 3.0, "of the first step, which the ring has lost"
    strip.begin(0)
    strip.append(made[40:50])
    assert strip.start_energy == 43.0
