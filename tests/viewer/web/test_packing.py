"""Packed numbers come back to half a quantum, by the arithmetic of the page."""

import base64
import zlib

import numpy as np
import pytest

from rtmbs.viewer.web.content import LARGEST, MISSING, floats, quantised


def unpacked(packed: dict) -> np.ndarray:
    """Do what ``unpack.js`` does."""
    data = zlib.decompress(base64.b64decode(packed["data"]))
    if "quantum" not in packed:
        return np.frombuffer(data, "<f4").reshape(packed["shape"])
    planes = np.frombuffer(data, np.uint8).reshape(4, -1).astype(np.uint32)
    folded = planes[0] | planes[1] << 8 | planes[2] << 16 | planes[3] << 24
    change = (folded >> 1).astype(np.int32) ^ -(folded & 1).astype(np.int32)
    rows = packed["shape"][0]
    with np.errstate(over="ignore"):
        whole = np.cumsum(change.reshape(-1, rows), axis=1, dtype=np.int32).T
    return np.where(whole == MISSING, np.nan, whole * packed["quantum"]).reshape(packed["shape"])


@pytest.mark.parametrize("shape", [(1, 3), (7, 2, 3), (400,)])
def test_numbers_come_back_to_half_a_quantum(shape):
    values = np.random.default_rng(1).normal(size=shape) * 50.0
    found = unpacked(quantised(values, 1e-4))
    assert found.shape == shape
    assert np.max(np.abs(found - values)) <= 0.5e-4 * (1.0 + 1e-9)


def test_what_is_no_number_stays_none():
    values = np.array([0.0, np.nan, np.inf, 2.0, np.nan])
    found = unpacked(quantised(values, 0.5))
    assert np.isnan(found).tolist() == [False, True, True, False, True]
    assert found[[0, 3]].tolist() == [0.0, 2.0]


def test_the_quantum_grows_with_the_largest_number():
    values = np.array([-4e9, 4e9, 0.0])
    packed = quantised(values, 1e-3)
    assert packed["quantum"] == pytest.approx(4e9 / LARGEST)
    np.testing.assert_allclose(unpacked(packed), values, atol=packed["quantum"])


def test_a_slow_motion_takes_few_bytes():
    t = np.linspace(0.0, 1.0, 1000)
    smooth, rough = np.sin(t), np.random.default_rng(2).normal(size=1000)
    assert len(quantised(smooth, 1e-5)["data"]) < 0.5 * len(quantised(rough, 1e-5)["data"])


def test_floats():
    values = np.arange(12.0).reshape(2, 2, 3) / 3.0
    np.testing.assert_array_equal(unpacked(floats(values)), values.astype(np.float32))
