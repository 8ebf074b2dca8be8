"""Every registered method of time: its order, its start, its refusals, and its removal."""

from dataclasses import FrozenInstanceError, fields, is_dataclass

import numpy as np
import pytest

from rtmbs.dae import METHODS, MotionError, SolveIVP, integrate
from rtmbs.dae import OWN as PLACES
from rtmbs.errors import InputError, UnknownNameError
from rtmbs.formulations import QR, FormulationError
from tests.cases import spread
from tests.dae.motions import FIELDS, errors, made, motions_for, slopes, start_of
from tests.formulations.systems import system_of
from tests.patches import check_removal

ALL = pytest.mark.parametrize("name", METHODS)
STEPS = (  # of the first motion, and of the second one, which is stiffer
    {1: (100, 200, 400), 2: (100, 200, 400), 3: (80, 160, 320), 4: (80, 160, 240), 5: (40, 60, 80)},
    {1: (200, 400, 800), 2: (200, 400, 800), 3: (160, 320, 640), 4: (160, 320, 480), 5: (40, 60, 80)},
)
WITHIN = 0.15  # of the slope


@pytest.mark.parametrize("which", spread([0, pytest.param(1, marks=pytest.mark.slow)], 7))
@ALL
def test_measured_order_is_the_theoretical_one(name, which):
    method = made(name)
    where = motions_for(method)[which]
    if method.orders is None:
        found = [errors(made(name, rtol=tol, atol=tol), where, 20) for tol in (1e-5, 1e-7, 1e-9)]
        for tol, error in zip((1e-5, 1e-7, 1e-9), found, strict=True):
            assert error[0] < 200 * tol, (name, where, tol, error)
        assert np.all(found[2] < found[0] / 100), found
        return
    steps = STEPS[which][method.orders.q]
    slope, found = slopes(method, where, steps)
    for i, field in enumerate(FIELDS):
        assert abs(slope[i] - method.orders[i]) < WITHIN, (name, where, field, slope, found)


@ALL
def test_a_run_leaves_its_start_and_its_samples(name):
    method = made(name)
    system, q, v = start_of(motions_for(method)[0])
    before = q.copy(), v.copy()
    found = [integrate(system, method, q, v, 0.0101, 1e-3) for _ in range(2)]
    np.testing.assert_array_equal(before, (q, v))
    np.testing.assert_array_equal(found[0].q, found[1].q)
    assert found[0].t[-1] == 0.0101
    assert found[0].q.shape == (12, system.n)
    assert found[0].lam.shape == (12, system.m)
    np.testing.assert_array_equal(found[0].q[0], q)
    assert found[0].counts.evaluations > 0
    assert np.all(np.isfinite(found[0].violations))
    assert found[0].violations[:, 0].max() < 1e-7


@ALL
def test_a_method_is_a_frozen_dataclass(name):
    method = made(name)
    assert is_dataclass(method)
    for field in fields(method)[:1]:
        with pytest.raises(FrozenInstanceError):
            setattr(method, field.name, None)


@ALL
def test_dependent_rows_are_accepted_or_refused_by_name(name):
    method = made(name)
    system = system_of("Bricard in joints")
    q, v = system.equations.compiled.z0, system.equations.compiled.zd0
    if method.redundant or method.leaves_out:
        found = integrate(system, method, q, v, 0.1, 1e-3)
        assert found.violations[:, 0].max() < 1e-4
        assert found.lam.shape == (101, system.m)
        right = integrate(system, SolveIVP("DOP853", QR(), rtol=1e-11, atol=1e-12), q, v, 0.1, 0.1)
        assert np.abs(found.q[-1] - right.q[-1]).max() < 1e-5
        return
    with pytest.raises(FormulationError, match=r"^row \d \(joint_4.* depends on the other rows.*take QR, SVD"):
        integrate(system, method, q, v, 0.1, 1e-3)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"h": 0.0}, InputError, "h is 0.0; a finite number above 0 s is wanted"),
        ({"h": -1e-3}, InputError, "h is -0.001"),
        ({"h": np.nan}, InputError, "h is nan"),
        ({"h": 1e-12}, InputError, "makes 1e.* steps"),
        ({"t_end": 0.0}, InputError, "t_end is 0; a time after t0 = 0 is wanted"),
        ({"t_end": np.nan}, InputError, "t_end is nan"),
        ({"t0": np.inf}, InputError, "t0 is inf"),
        ({"q": np.array([0.6, np.nan])}, InputError, r"q\[1\] is nan"),
        ({"q": np.zeros(3)}, InputError, r"q is an array \(2,\), not \(3,\)"),
        ({"v": np.array([np.inf, 0.0])}, InputError, r"v\[0\] is inf"),
        ({"q": np.array([0.7, -0.8])}, FormulationError, r"row 0 \(length\) of Phi is violated by 0.065 at the start"),
        ({"v": np.array([0.0, 1.0])}, FormulationError, r"row 0 \(length\) of Phid is violated by 0.8 at the start"),
    ],
)
@ALL
def test_bad_runs_are_refused_before_they_begin(name, change, error, says):
    system, q, v = start_of("pendulum in x, y")
    given = {"q": q, "v": v, "t_end": 0.1, "h": 1e-2, "t0": 0.0, **change}
    before = q.copy(), v.copy()
    with pytest.raises(error, match=says):
        integrate(system, made(name), **given)
    np.testing.assert_array_equal(before, (q, v))


class Failing:
    """The pendulum whose force is not finite, or wrong in shape, from t = 0.02 on."""

    def __init__(self, wrong):
        self.wrong, self.right, self.n, self.m = wrong, system_of("pendulum in x, y"), 2, 1

    def __getattr__(self, name):
        return getattr(self.right, name)

    def force(self, q, v, t):
        return self.wrong if t > 0.02 else self.right.force(q, v, t)


@pytest.mark.parametrize("wrong", [np.array([np.nan, 0.0]), np.zeros(3)])
@ALL
def test_a_force_that_fails_on_the_way_leaves_the_motion_so_far(name, wrong):
    method = made(name)
    if motions_for(method)[0] != "pendulum in x, y":
        return  # forces of a System fail inside the Simulation, whose own contract tests they have
    system, (_, q, v) = Failing(wrong), start_of("pendulum in x, y")
    with pytest.raises(MotionError, match="stopped") as caught:
        integrate(system, method, q, v, 0.1, 5e-3)
    assert np.all(np.isfinite(caught.value.result.q))
    assert caught.value.result.t[-1:].max(initial=0.0) <= 0.025


def test_an_unknown_method_lists_the_known():
    with pytest.raises(UnknownNameError, match="there is no method named 'radau'; did you mean 'radau-ggl'"):
        METHODS["radau"]


REST = """
import importlib.util
import numpy as np
import rtmbs.dae as room
from rtmbs.formulations.function_system import pendulum

assert "COPY" in room.__file__
sundials = importlib.util.find_spec("sksundae") is not None
q, v = np.array([0.6, -0.8]), np.array([0.8, 0.6])
for name, (module, kind) in room.OWN.items():
    assert importlib.util.find_spec(f"rtmbs.{module}") is not None
    if name in ("ida", "cvode") and not sundials:
        continue
    found = room.integrate(pendulum(), getattr(room, kind)(), q, v, 0.05, 0.01)
    assert abs(found.q[-1] @ found.q[-1] - 1.0) < 1e-6
print(*room.OWN)
"""


BASES = ("odae", "tangent-space")  # of FuehrerLeimkuhler and HaugYen, which would go with them
REMOVED = spread([name for name in PLACES if name not in BASES], 1)  # a process each


@pytest.mark.parametrize("name", REMOVED)
def test_removing_a_method_is_one_file_and_one_line(name, tmp_path):
    check_removal("", "methods.py", PLACES, name, REST, tmp_path)
