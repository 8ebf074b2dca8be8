"""The forms of the rotation group: compiled, plain and of SciPy agree, and so do the exact sums of their series."""

from fractions import Fraction
from math import factorial

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from rtmbs.jit.compiled import kernel
from rtmbs.numerics.rotations import kernels, plain
from rtmbs.numerics.rotations import quaternions as vectors
from rtmbs.numerics.rotations.plain import INVERSE
from rtmbs.numerics.rotations.quaternions import conjugate, product, quaternions, rotations, world_rates

SIZES = [0.0, 1e-12, 1e-6, 0.05, 0.3, 0.3163, 0.707, 0.7072, 1.0, 2.0, 3.0, 3.1, np.pi - 1e-9]
ROUNDING = 4e-15


@kernel
def of_kernels(d, x, change, R, T, C):
    """Fill R with exp(d~), T (4, 3) with T^-1 x, T^-T x, b and its slope, log(exp), and C (2, 3) with changes."""
    v, y, dv = (d[0], d[1], d[2]), (x[0], x[1], x[2]), (change[0], change[1], change[2])
    one = ((1.0 + 0.0 * d[0], 0.0 * d[0], 0.0 * d[0]), (0.0 * d[0], 1.0 + 0.0 * d[0], 0.0 * d[0]),
           (0.0 * d[0], 0.0 * d[0], 1.0 + 0.0 * d[0]))  # fmt: skip
    E = kernels.turned(one, v)
    q = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
    b = kernels.inverse_factor(q)
    slope = kernels.inverse_slope(q, b)
    back, forth = kernels.inverse_jacobian(v, b, y, 1.0), kernels.inverse_jacobian(v, b, y, -1.0)
    columns = ((E[0][0], E[1][0], E[2][0]), (E[0][1], E[1][1], E[2][1]), (E[0][2], E[1][2], E[2][2]))
    found = kernels.logarithm(columns)
    bent, bowed = kernels.inverse_change(v, b, slope, dv, y, 1.0), kernels.inverse_change(v, b, slope, dv, y, -1.0)
    for i in range(3):
        T[0, i], T[1, i], T[2, i], C[0, i], C[1, i] = back[i], forth[i], found[i], bent[i], bowed[i]
        for j in range(3):
            R[i, j] = E[i][j]
    T[3, 0], T[3, 1] = b, slope


def compiled(d, x, change=(0.0, 0.0, 0.0)):
    """Return exp(d~), T^-1 x, T^-T x, log exp(d~), b and its slope, and the changes of T^-1 x and T^-T x."""
    kind = np.result_type(d, x, *change)
    R, T, C = np.zeros((3, 3), kind), np.zeros((4, 3), kind), np.zeros((2, 3), kind)
    of_kernels(*(np.asarray(one, kind) for one in (d, x, change)), R, T, C)
    return R, T[0], T[1], T[2], T[3, 0], T[3, 1], C


def drawn(size, seed=3):
    """Return a vector (3,) of a length, and two others."""
    rng = np.random.default_rng(seed)
    d, x, change = rng.normal(size=(3, 3))
    return d * size / np.linalg.norm(d), x, change


def exact(d):
    """Return s, c, e, b and b' of d . d as the nearest doubles to exact sums of their series."""
    q, terms = sum(Fraction(float(one)) ** 2 for one in d), range(36)
    s, c, e = (sum((-1) ** k * q**k / factorial(2 * k + n) for k in terms) for n in (1, 2, 3))
    s1, c1 = (sum((-1) ** k * k * q ** (k - 1) / factorial(2 * k + n) for k in terms[1:]) for n in (1, 2))
    if q == 0:
        return *(float(one) for one in (s, c, e)), 1.0 / 12.0, 1.0 / 720.0
    b = (1 - s / (2 * c)) / q  # theta/2 cot(theta/2) = s / 2 c
    slope = (-(s1 * c - s * c1) / (2 * c * c) - b) / q
    return tuple(float(one) for one in (s, c, e, b, slope))


@pytest.mark.parametrize("size", SIZES)
def test_all_forms_are_the_exact_series(size):
    d, x, _ = drawn(size)
    s, c, e, b, slope = exact(d)
    D = np.cross(np.eye(3), d)
    R, T = np.eye(3) + s * D + c * D @ D, np.eye(3) - c * D + e * D @ D
    forth, back = (np.eye(3) + side * 0.5 * D + b * D @ D for side in (-1.0, 1.0))
    found = compiled(d, x)
    np.testing.assert_allclose(found[0], R, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(found[1], back @ x, rtol=0, atol=2 * ROUNDING)
    np.testing.assert_allclose(found[2], forth @ x, rtol=0, atol=2 * ROUNDING)
    assert found[4] == pytest.approx(b, rel=2 * ROUNDING)
    assert found[5] == pytest.approx(slope, rel=1e-12)
    np.testing.assert_allclose(plain.exponential(np, d), R, rtol=0, atol=ROUNDING)
    for side, right in ((1.0, back), (-1.0, forth)):
        np.testing.assert_allclose(plain.inverse_jacobian(np, d, x, side), right @ x, rtol=0, atol=2 * ROUNDING)
    np.testing.assert_allclose(vectors.right_jacobian(d), T, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(vectors.right_jacobian(d) @ back, np.eye(3), rtol=0, atol=4 * ROUNDING)
    np.testing.assert_allclose(vectors.factors(d, vectors.INVERTED), (b, slope), rtol=1e-14)


@pytest.mark.parametrize("size", SIZES)
def test_exponential_and_logarithm_are_those_of_scipy(size):
    d, x, _ = drawn(size)
    R = Rotation.from_rotvec(d).as_matrix()
    for found in (compiled(d, x)[0], plain.exponential(np, d), vectors.turned(np.eye(3), d)):
        np.testing.assert_allclose(found, R, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(vectors.turn_between(np.eye(3), R), d, rtol=0, atol=ROUNDING)
    if size <= 3.1:  # the halved angle loses digits as the square of what is left to half a turn
        bound = ROUNDING + 1e-15 / (np.pi - size) ** 2
        for found in (compiled(d, x)[3], plain.logarithm(np, R)):
            np.testing.assert_allclose(found, d, rtol=0, atol=bound)


@pytest.mark.parametrize("size", [1e-9, 0.2, 0.70710, 0.70711, 1.5, 3.0])
def test_the_change_of_the_inverse_by_complex_steps(size):
    d, x, change = drawn(size, 5)
    found = compiled(d, x, change)[6]
    for place in (0, 1):
        step = compiled(d + 1e-30j * change, x)[1 + place].imag / 1e-30
        np.testing.assert_allclose(found[place], step, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("size", [4.0, 5.0, 6.0])
def test_turns_of_more_than_half_a_turn(size):
    """Coordinates of a step may be as long; the inverse is that of T, which SciPy's exponential gives."""
    d, x, _ = drawn(size)
    _, c, e, b, _ = exact(d)
    D = np.cross(np.eye(3), d)
    np.testing.assert_allclose(compiled(d, x)[0], Rotation.from_rotvec(d).as_matrix(), rtol=0, atol=ROUNDING)
    assert compiled(d, x)[4] == pytest.approx(b, rel=1e-13)
    np.testing.assert_allclose(vectors.right_jacobian(d), np.eye(3) - c * D + e * D @ D, rtol=0, atol=1e-13)


@pytest.mark.parametrize("axis", [(1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.6, 0.0, -0.8), (0.48, 0.6, 0.64)])
def test_half_a_turn(axis):
    """The logarithm of half a turn is one of two vectors, and both lead there."""
    d = np.pi * np.array(axis)
    R = Rotation.from_rotvec(d).as_matrix()
    found = vectors.turn_between(np.eye(3), R)
    assert min(np.abs(found - d).max(), np.abs(found + d).max()) < 1e-14
    np.testing.assert_allclose(rotations(quaternions(R[None]))[0], R, rtol=0, atol=ROUNDING)


def test_quaternions_are_those_of_scipy():
    q = np.random.default_rng(7).normal(size=(200, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    p = np.roll(q, 1, axis=0)
    one, other = (Rotation.from_quat(four[:, [1, 2, 3, 0]]) for four in (q, p))
    np.testing.assert_allclose(rotations(q), one.as_matrix(), rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(rotations(conjugate(q)), one.inv().as_matrix(), rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(rotations(product(p, q)), (other * one).as_matrix(), rtol=0, atol=ROUNDING)
    back = quaternions(one.as_matrix())
    np.testing.assert_allclose(np.abs(np.sum(back * q, axis=1)), 1.0, rtol=0, atol=ROUNDING)
    assert np.all(np.sum(back[1:] * back[:-1], axis=1) >= 0.0)
    assert back[0, 0] >= 0.0


def test_angular_velocities_of_quaternions():
    """Half of them stand in conj(q) q' (turning axes) and q' conj(q) (fixed axes), against the rotation's own rate."""
    rng, h = np.random.default_rng(8), 1e-6
    q, w = rng.normal(size=4), rng.normal(size=3)
    q /= np.linalg.norm(q)
    qd = 0.5 * product(q, np.concatenate(([0.0], w)))
    ahead, behind = (rotations((q + s * h * qd) / np.linalg.norm(q + s * h * qd)) for s in (1.0, -1.0))
    spin = rotations(q).T @ (ahead - behind) / (2.0 * h)
    np.testing.assert_allclose((spin[2, 1], spin[0, 2], spin[1, 0]), w, rtol=0, atol=1e-9)
    np.testing.assert_allclose(2.0 * product(conjugate(q), qd)[1:], w, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(2.0 * product(qd, conjugate(q))[1:], rotations(q) @ w, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(world_rates(q[None])[0] @ qd, rotations(q) @ w, rtol=0, atol=ROUNDING)


def test_coefficients_of_the_inverse_are_those_of_the_literature():
    """Bernoulli's numbers: 1/6, 1/30, 1/42, 1/30, 5/66, 691/2730, 7/6, 3617/510 (Abramowitz and Stegun, table 23.2)."""
    numbers = (1 / 6, 1 / 30, 1 / 42, 1 / 30, 5 / 66, 691 / 2730, 7 / 6, 3617 / 510)
    np.testing.assert_allclose(INVERSE[:8], [B / factorial(2 * n) for n, B in enumerate(numbers, 1)], rtol=4e-16)
