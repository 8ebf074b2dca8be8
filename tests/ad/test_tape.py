"""Tapes are small, say what they are, and survive a file."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtmbs.ad.evaluator import Evaluator
from rtmbs.ad.tape import load_tape
from rtmbs.ad.trace import Traced, record
from rtmbs.errors import TapeFileError

SIMPLER = {  # an expression of x (4,), and how many operations are left of it
    "constants fold": (lambda x: x[0] * (np.sin(2.0) * 3.0 / 7.0), 1),
    "zeros vanish": (lambda x: x[0] + 0.0 * x[1] + (x[2] - x[2]), 0),
    "ones vanish": (lambda x: 1.0 * x[0] / 1.0 * x[1] ** 0, 0),
    "common steps are one": (lambda x: np.sin(x[0] * x[1]) + np.sin(x[1] * x[0]), 3),
    "dead steps go": (lambda x: (np.cos(x[0]), x[1])[1], 0),
    "signs cancel": (lambda x: (-x[0]) * (-x[1]), 1),
    "signs join sums": (lambda x: x[0] + (-x[1]), 1),
    "signs of odd functions": (lambda x: np.sin(-x[0]) + np.sin(x[0]), 0),
    "constants meet": (lambda x: 2.0 * (3.0 * x[0]), 1),
    "powers are products": (lambda x: x[0] ** 4, 2),
    "a constant divisor is a factor": (lambda x: x[0] / 4.0 + 0.25 * x[0], 2),
    "a dense product with zeros": (lambda x: np.eye(4) @ x, 0),
    "branches that are one": (lambda x: np.where(x[0] > 0, x[1], x[1]), 0),
    "branches that are known": (lambda x: np.where(np.array([True]), x[:1], np.exp(x[:1])), 0),
}


@pytest.mark.parametrize("name", SIMPLER)
def test_tapes_are_simplified(name):
    f, left = SIMPLER[name]
    assert record(lambda x: np.stack([*np.atleast_1d(f(x))]), 4).operations == left


def test_a_tape_prints_its_size():
    text = str(record(lambda x, p: np.stack((x[0] * p[0] + 1.0, np.sin(x[1]))), 2, k=1))
    assert text == "tape: 2 inputs and 1 parameters to 2 outputs, 3 operations (1 sin, 1 add, 1 multiply)"
    listing = record(lambda x: np.stack((np.sin(x[0]) * x[1],)), 2).listing()
    assert [line.split(": ")[-1].split()[0] for line in listing.splitlines()[:-1]] == [
        "x[0]",
        "x[1]",
        "sin",
        "multiply",
    ]


def test_a_saved_tape_gives_the_same_bits(tmp_path):
    def f(x, p):
        return np.stack((np.exp(x[0]) * p[0] + np.where(x[1] > 0, x[2], 0.1), np.sin(x[0] - p[1])))

    made, x, p = Traced(f, 3, k=2), np.array([0.3, -0.2, 1.1]), np.array([2.0, 0.7])
    made.save(tmp_path / "f.npz")
    loaded = Evaluator.load(tmp_path / "f.npz")
    np.testing.assert_array_equal(loaded.value(x, p), made.value(x, p))
    np.testing.assert_array_equal(loaded.jacobian(x, p), made.jacobian(x, p))
    assert str(loaded) == str(made)


def test_a_save_that_breaks_off_leaves_the_older_tape(tmp_path, monkeypatch):
    path = tmp_path / "f.npz"
    Traced(lambda x: x * x, 3).save(path)
    before = path.read_bytes()

    def breaks_off(file, **arrays):
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", breaks_off)
    with pytest.raises(KeyboardInterrupt):
        Traced(np.sin, 3).save(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["f.npz"]


def test_damaged_files_are_refused_by_name(tmp_path):
    path = tmp_path / "f.npz"
    Traced(lambda x: x * x, 3).save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TapeFileError, match=r"f\.npz is truncated"):
        load_tape(path)
    np.savez(path, z=np.zeros(3))
    with pytest.raises(TapeFileError, match="no tape"):
        load_tape(path)
    Traced(lambda x: x * x, 3).save(path)
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **{**arrays, "rtmbs_record": 99})
    with pytest.raises(TapeFileError, match="version 99"):
        load_tape(path)
    np.savez(path, **{**arrays, "a": arrays["a"] + 1000})
    with pytest.raises(TapeFileError, match="damaged"):
        load_tape(path)
    np.savez(path, **{**arrays, "outputs": arrays["outputs"].astype(float)})
    with pytest.raises(TapeFileError, match="damaged"):
        load_tape(path)


# ---------------------------------------------------------------- random expressions: simplified or not, same numbers

PAIRS = (np.add, np.subtract, np.multiply, np.divide, np.minimum, np.maximum, np.arctan2, np.hypot)
SINGLES = (np.negative, np.sin, np.cos, np.tanh, np.abs, np.square, np.arctan, np.sqrt)
NUMBERS = (0.0, 1.0, -1.0, 2.0, -0.5)


@np.errstate(all="ignore")
def walk(seeds, x):
    """Return the values of a random program on x: each seed picks an operation, and arguments among earlier values."""
    values = [x[0], x[1], x[2], *NUMBERS]
    for seed in seeds:
        rng = np.random.default_rng(seed)
        a, b = (values[i] for i in rng.integers(len(values), size=2))
        kind = rng.integers(4)
        if kind == 0:
            values.append(SINGLES[rng.integers(len(SINGLES))](a))
        elif kind == 1:
            values.append(np.where(a > b, a, -b))
        else:
            values.append(PAIRS[rng.integers(len(PAIRS))](a, b))
    return values[3 + len(NUMBERS) :]


def guarded(values):
    """Return values squeezed to finite sizes, so that rounding is what is compared."""
    return np.stack([np.arctan(1.0 * value) for value in values])


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=30))
def test_random_expressions_keep_their_values(seeds):
    x = np.array([0.7, -1.3, 2.1])
    plain = guarded(walk(seeds, x))
    found = Traced(lambda x: guarded(walk(seeds, x)), 3).value(x)
    sure = np.isfinite(plain) & np.isfinite(found)  # 0 * inf and x - x are zero in a tape
    np.testing.assert_allclose(found[sure], plain[sure], rtol=1e-9, atol=1e-9)


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=30))
def test_random_expressions_have_one_derivative(seeds):
    x, w = np.array([0.7, -1.3, 2.1]), np.linspace(1.0, 2.0, len(seeds))
    made = Traced(lambda x: guarded(walk(seeds, x)), 3)
    J = made.jacobian(x)
    if np.isfinite(J).all():
        scale = np.abs(J).max(initial=1.0)
        np.testing.assert_allclose(made.forward(x, np.eye(3)), J, atol=1e-9 * scale)
        np.testing.assert_allclose(made.reverse(x, np.eye(len(seeds))), J, atol=1e-9 * scale)
        np.testing.assert_allclose(made.gradient(x, w), w @ J, atol=1e-9 * scale)
        assert not J[~made.pattern].any()
