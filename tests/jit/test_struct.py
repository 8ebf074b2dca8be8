"""Structs: named tuples for Python, one address for kernels."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba.core import caching, config

from rtmbs.jit.compiled import kernel
from rtmbs.jit.struct import Struct, kind_of, struct

COMPILED = pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")


@struct
class Inner(NamedTuple):
    matrix: Any  # (2, 3)
    counts: Any  # (3,) int64


@struct
class Outer(NamedTuple):
    first: Any  # (2,)
    inner: Inner
    size: int
    factor: float
    wanted: bool
    turned: Any  # (3, 2), not contiguous
    flags: Any  # (2,) bool


def example(wanted=True):
    matrix = np.arange(6.0).reshape(2, 3)
    inner = Inner(matrix, np.array([4, 5, 6]))
    return Outer(np.array([1.5, 2.5]), inner, -7, 0.25, wanted, matrix.T, np.array([False, True]))


def read(values, out):
    """Write something of every field to ``out``."""
    out[0] = values.first[1]
    for i in range(values.inner.matrix.shape[0]):
        for j in range(values.inner.matrix.shape[1]):
            out[1] += values.inner.matrix[i, j] * values.turned[j, i]
    out[2], out[3] = values.inner.counts[-1], values.size
    out[4], out[5] = values.factor, 1.0 if values.wanted else 2.0
    out[6], out[7] = len(values.first), 1.0 if values.flags[1] and not values.flags[0] else 0.0
    values.inner.matrix[0, 0] = 9.0


def scaled(values, factor=3.0):
    return factor * values.first[1]


def without_cache(function):
    dispatcher = kernel(function)
    dispatcher._cache = caching.NullCache()
    return dispatcher


@pytest.mark.parametrize("wanted", [True, False])
def test_a_kernel_reads_what_python_reads(wanted):
    ways = (read, read if config.DISABLE_JIT else without_cache(read))
    found, structs = [np.zeros(8), np.zeros(8)], [example(wanted), example(wanted)]
    for way, values, out in zip(ways, structs, found, strict=True):
        way(values, out)
        assert values.inner.matrix[0, 0] == 9.0, "kernels write to the arrays themselves"
    np.testing.assert_array_equal(*found)


@COMPILED
def test_a_replaced_field_is_seen():
    run, out = without_cache(read), np.zeros(8)
    values = example()
    run(values, out)
    other = values._replace(first=np.array([0.0, 8.0]), inner=values.inner._replace(counts=np.array([0, 0, 3])))
    run(other, out)
    assert (out[0], out[2]) == (8.0, 3.0)
    run(values, out)
    assert (out[0], out[2]) == (2.5, 6.0)


def test_a_struct_is_a_tuple_still():
    values = example()
    assert isinstance(values, tuple)
    assert isinstance(values, Struct)
    assert values[2] == values.size == -7
    assert values._fields[:2] == ("first", "inner")
    assert type(values._replace(size=1)) is Outer


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda values: pickle.loads(pickle.dumps(values))])
def test_copies_have_words_of_their_own(way):
    """A copied address would point to the words of the original, and to its arrays."""
    values = example()
    there = values.address
    other = way(values)
    assert other.address != there
    assert other.words[0] == other.first.ctypes.data
    assert values.address == there


def test_threads_agree_on_the_address():
    values = example()
    with ThreadPoolExecutor(8) as pool:
        addresses = set(pool.map(lambda _: values.address, range(64)))
    assert addresses == {values.words.ctypes.data}


@COMPILED
def test_signatures_tell_apart_what_types_do():
    """A kernel is looked up by them, so what has another type must have another signature."""
    matrix = np.arange(6.0).reshape(2, 3)
    read_only = matrix.copy()
    read_only.flags.writeable = False
    shifted = np.frombuffer(bytes(49), np.uint8)[1:].view(np.float64).reshape(2, 3)
    arrays = (
        matrix, matrix.copy(), np.asfortranarray(matrix), np.arange(12.0).reshape(2, 6)[:, ::2], matrix[:, None],
        matrix.astype(np.float32), matrix.astype(complex), matrix.astype(int), read_only, shifted,
    )  # fmt: skip
    values = example()
    structs = [values, example(False), *(values._replace(turned=array) for array in arrays)]
    structs += [values._replace(size=0.5), values._replace(size=True), values._replace(size=np.int64(3))]
    structs += [values._replace(inner=values.inner._replace(matrix=array)) for array in arrays]
    for one in structs:
        for other in structs:
            if one.signature == other.signature:
                assert numba.typeof(one) == numba.typeof(other)
    assert values.signature == example(False).signature == values._replace(turned=matrix.copy().T).signature
    assert kind_of((1.0, matrix)) == kind_of((2.0, matrix.copy())) != kind_of((1, matrix))
    assert kind_of((1.0, "one")) is None
    assert Inner(matrix, "three").signature is None
    assert values._replace(inner=Inner(matrix, None)).signature is None


@COMPILED
def test_a_kernel_that_takes_structs_is_compiled_for_each_of_their_types():
    run = without_cache(scaled)
    values, other = example(), example()._replace(turned=np.ones((3, 2)))
    for given, right in ((values, 2.5), (other, 2.5), (values._replace(first=np.array([0.0, 8.0])), 8.0)):
        for factor in (2, 2.0, np.float64(2.0)):
            assert run(given, factor) == 2.0 * right
    assert len(run.overloads) == 4, "two types of structs, whole and real factors"
    assert run(values, factor=3.0) == run(values) == 7.5, "by name, and by default"
    with pytest.raises(TypeError):
        run()
    with pytest.raises(TypeError):
        run(values, 1.0, 2.0)
    with pytest.raises(numba.TypingError):
        run(values, "two")


@COMPILED
def test_what_no_struct_can_hold_is_named():
    with pytest.raises(TypeError, match=r"Inner\.counts is unicode_type; a struct holds arrays, structs and numbers"):
        numba.typeof(Inner(np.zeros((2, 3)), "three"))


@COMPILED
def test_types_tell_structs_apart():
    values = example()
    assert numba.typeof(values) == numba.typeof(example(False))
    assert numba.typeof(values) != numba.typeof(values._replace(first=np.zeros(2, complex)))
    assert len(numba.typeof(values).mangling_args[0]) < 30
