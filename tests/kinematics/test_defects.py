"""Branch, circuit and order defects against circuits that are traced by continuation of the closure equation."""

from dataclasses import replace

import numpy as np
import pytest

from rtmbs.errors import InputError
from rtmbs.kinematics.design import FourBar, defects, function_generator, motion_generator, path_generator

STEP = 0.02  # of a traced circuit [rad]


def traced(bar, crank, coupler):
    """Return angles of crank and coupler along the circuit of a position, as unwrapped rows, until it closes."""
    g, a, b, c = bar.lengths

    def loop(x):
        return abs(a * np.exp(1j * x[0]) + b * np.exp(1j * x[1]) - g) ** 2 - c * c

    def slope(x):
        e2, e3 = np.exp(1j * x[0]), np.exp(1j * x[1])
        end = np.conj(a * e2 + b * e3 - g)
        return 2.0 * np.array([(end * 1j * a * e2).real, (end * 1j * b * e3).real])

    x, rows = np.array([crank, coupler]), []
    for _ in range(4000):
        rows.append(x)
        normal = slope(x)
        x = x + STEP * np.array([-normal[1], normal[0]]) / np.linalg.norm(normal)
        for _ in range(4):
            normal = slope(x)
            x = x - loop(x) * normal / (normal @ normal)
        if len(rows) > 5 and np.abs(np.exp(1j * x) - np.exp(1j * rows[0])).max() < 0.6 * STEP:
            return np.array(rows)
    raise AssertionError("the circuit does not close")


def truth(bar, crank, coupler, sides):
    """Return branch, circuit and order defect by the traced circuit of the first position."""
    rows = traced(bar, crank[0], coupler[0])
    apart = np.abs(np.exp(1j * rows)[:, None] - np.exp(1j * np.stack([crank, coupler], axis=1))[None]).max(axis=2)
    circuit = bool(np.any(apart.min(axis=0) > 2.0 * STEP))
    branch = len(set(sides.tolist())) > 1
    if circuit:
        return branch, True, False
    place, n = apart.argmin(axis=0), len(rows)
    if branch or bar.crank_turns:
        return branch, False, all(np.sum(np.diff(way) % n) > n for way in (place, -place))
    steps = np.diff(rows[place, 0])
    return branch, False, not (np.all(steps >= 0.0) or np.all(steps <= 0.0))


def positions(bar, rng, count):
    """Return crank angles, coupler angles and branches of random positions away from limits."""
    crank, coupler, sides = [], [], []
    while len(crank) < count:
        angle, side = rng.uniform(-np.pi, np.pi), rng.choice([1, 1, 1, -1])
        three = replace(bar, branch=int(side)).angles(np.array([angle]))[0][0]
        line = bar.ground - bar.crank * np.exp(1j * angle)
        if np.isfinite(three) and abs(np.imag(np.conj(line) * np.exp(1j * three))) > 0.1:
            crank.append(angle)
            coupler.append(three)
            sides.append(side)
    return np.array(crank), np.array(coupler), np.array(sides)


def test_defects_are_those_of_traced_circuits():
    rng, seen = np.random.default_rng(4), set()
    kinds = set()
    for _ in range(60):
        lengths = rng.uniform(1.0, 5.0, 4)
        if 2.0 * lengths.max() > 0.9 * lengths.sum():
            continue
        bar = FourBar(*lengths)
        s, *_, l = np.sort(lengths)
        if abs(2.0 * (s + l) - lengths.sum()) < 0.3:
            continue  # nearly a change point: the circuits all but meet
        crank, coupler, sides = positions(bar, rng, int(rng.integers(3, 6)))
        if rng.random() < 0.5:
            order = np.argsort(crank)
            crank, coupler, sides = crank[order], coupler[order], sides[order]
        right = truth(bar, crank, coupler, sides)
        assert tuple(defects(bar, crank, sides)) == right, (bar, crank, sides)
        seen.add(right)
        kinds.add(bar.grashof)
    assert len(seen) >= 5
    assert len(kinds) >= 5


def test_synthesis_tells_defects_and_avoids_them():
    bar = FourBar(5.0, 2.0, 4.5, 4.0, point=(2.0, 1.5))
    points = bar.motion([0.2, 1.4, 0.8, 2.0, 2.6]).point  # not in the order of the crank
    told = [path_generator(points, starts=6, seed=seed) for seed in range(2)]
    for one in told:
        sides = np.full(5, one.mechanism.branch)
        if one.on_one_branch:
            assert one.defects == defects(one.mechanism, one.crank, sides)
    assert str(defects(bar, [0.2, 1.4, 0.8, 2.0, 2.6])) == "order defect"
    points = np.random.default_rng(3).normal(size=(5, 2))
    assert any(path_generator(points, starts=30).defects)
    avoided = path_generator(points, starts=20, avoid=True)
    assert not any(avoided.defects)
    assert avoided.error < 1e-9
    turns = np.diff(avoided.crank) % (2.0 * np.pi)
    assert min(np.sum(turns), np.sum(2.0 * np.pi - turns)) < 2.0 * np.pi


def test_functions_and_motions_tell_defects():
    bar = FourBar(5.0, 2.0, 4.5, 4.0)
    x = np.linspace(0.2, 2.0, 4)
    turned = bar.angles(x)[1]
    function = function_generator(x, turned - turned[0], starts=30, avoid=True)
    assert not any(function.defects)
    assert function.error < 1e-8
    motion = motion_generator([(0.0, 0.0, 0.0), (1.0, 0.6, 0.4), (1.6, 1.5, 0.9)], starts=8, avoid=True)
    assert not any(motion.defects)


def test_what_is_no_position_is_refused():
    bar = FourBar(5.0, 2.0, 4.5, 4.0)
    with pytest.raises(InputError, match="lists of equal length"):
        defects(bar, [0.1, 0.2], [1])
    with pytest.raises(InputError, match="does not close at all crank angles"):
        defects(FourBar(6.0, 5.0, 2.0, 3.0), [np.pi])
