"""Motions in parts: the same numbers for any number of parts, and those of the other methods.

Ranks of message passing: equal to one rank, and one end for all when one of them fails.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rtmbs
from rtmbs.dae import RungeKutta, integrate
from rtmbs.errors import InputError, StepError
from rtmbs.formulations import Baumgarte, JointCoordinates, Recursive
from rtmbs.recursive import motion as ranks
from rtmbs.recursive.motion import Alone, run
from rtmbs.recursive.threads import run_threads
from tests.patches import ROOT
from tests.patience import LONGEST
from tests.recursive.machines import branched, start_of


def largest_difference(a, b):
    """Of coordinates and rates, in terms of the largest rate and of one."""
    return max(np.abs(getattr(a, k) - getattr(b, k)).max() / max(1.0, np.abs(getattr(a, k)).max()) for k in ("z", "zd"))


@pytest.mark.parametrize(
    ("branches", "free", "parts"),
    [(2, False, 2), (2, True, 2), (4, True, 4), (3, False, 3)],
)
def test_parts_make_no_difference(branches, free, parts):
    model, unit = branched(5, branches=branches, free=free)
    system, z, zd = start_of(model, unit)
    times, h = np.linspace(0.0, 0.02 * unit.time, 3), 1e-3 * unit.time
    one = run(system, z, zd, times, h)
    shared = run_threads(system, z, zd, times, h, parts)
    assert shared.ranks == parts
    assert largest_difference(one, shared) < 1e-12
    np.testing.assert_allclose(one.R0, shared.R0, atol=1e-12)


def test_it_is_the_motion_of_the_other_methods():
    """Four stages of Kutta's method over ``formulations.Recursive``, the same steps."""
    system = JointCoordinates(rtmbs.library.build("slider_crank").compile())
    state = rtmbs.Simulation(system.equations.compiled, h=1e-3).state
    times = np.linspace(0.0, 0.1, 11)
    found = run(system.equations.compiled, state.z, state.zd, times, 1e-3, alpha=20.0, beta=20.0)
    method = RungeKutta(formulation=Baumgarte(20.0, 20.0, within=Recursive()))
    right = integrate(system, method, state.z, state.zd, 0.1, 1e-3)
    error = np.abs(found.z - right.q[::10]).max()
    assert error < 1e-7  # two methods of order four


def test_order_four_with_ball_joints():
    """Rotation vectors start anew at every step."""
    model, unit = branched(7)
    system, z, zd = start_of(model, unit)
    times = np.array([0.0, 0.1 * unit.time])
    ends = [run(system, z, zd, times, times[1] / n) for n in (10, 20, 80)]
    first, second = (np.abs(one.zd[-1] - ends[-1].zd[-1]).max() for one in ends[:2])
    assert 10.0 < first / second < 25.0


def test_bad_input():
    model, unit = branched(0, driven=True)
    system, z, zd = start_of(model, unit)
    times = np.array([0.0, 0.1])
    with pytest.raises(InputError, match="drive is a function of time, which threads cannot call"):
        run_threads(system, z, zd, times, 1e-3, 2)
    for bad in (times[::-1], times[:1], np.array([0.0, np.nan])):
        with pytest.raises(InputError, match="times of the recursion are an ascending row"):
            run(system, z, zd, bad, 1e-3)
    for h in (0.0, -1.0, np.nan):
        with pytest.raises(InputError, match=r"h is .* above 0 is wanted"):
            run(system, z, zd, times, h)


def test_a_motion_that_flies_apart_is_said():
    system = rtmbs.library.build("slider_crank").compile()
    state = rtmbs.Simulation(system, h=1e-3).state
    with pytest.raises(StepError, match="the motion is not finite"):
        run(system, state.z, 1e200 * state.zd, np.array([0.0, 10.0]), 1.0)
    with pytest.raises(StepError, match="the motion is not finite"):
        run_threads(system, state.z, 1e200 * state.zd, np.array([0.0, 10.0]), 1.0, 2)


def test_a_force_without_a_value_is_said():
    """The spring stands between points that coincide, so it has no direction; no loop notices it."""
    model = rtmbs.Model("slide")
    model.add_body("block", mass=1.0, inertia=(1, 1, 1))
    model.add_joint("rail", rtmbs.Prismatic((1, 0, 0)), "ground", "block")
    ends = model.add_marker("a", "ground", (0, 0, 0)), model.add_marker("b", "block", (0, 0, 0))
    model.add_force("spring", rtmbs.SpringDamper(100.0, 1.0, 0.5), between=ends)
    system = model.compile()
    for steps in (run, lambda *arguments: run_threads(*arguments, 1)):
        with pytest.raises(StepError, match=r"not finite at t = 0.01; .* a spring between points that coincide"):
            steps(system, system.z0, np.zeros(1), np.array([0.0, 0.01]), 1e-3)


def test_a_massless_coordinate_is_named():
    model = rtmbs.library.build("fourbar", ny=1, nz=1)
    cut = next(joint for joint in model.joints.values() if joint.cut)
    model.add_force("ghost", rtmbs.Motor(0.3), joint=cut)
    system = model.compile()
    with pytest.raises(InputError, match=r"has no inertia of its own; ranks need one"):
        run(system, system.z0, np.zeros(len(system.z0)), np.array([0.0, 0.1]), 1e-3)


def thin_rod():
    """A rod without inertia about its own axis, on a hinge along it."""
    model = rtmbs.Model("rod", gravity=(0.0, 0.0, -9.81))
    arm = model.add_body("arm", mass=2.0, center_of_mass=(0.1, 0.2, 0.0), inertia=(0.1, 0.1, 0.15))
    rod = model.add_body("rod", mass=1.0, center_of_mass=(0.5, 0.0, 0.0), inertia=(0.0, 0.1, 0.1))
    model.add_joint("pin", rtmbs.Revolute(axis=(0.0, 1.0, 0.0)), "ground", arm, point=(0.0, 0.0, 0.0))
    model.add_joint("spin", rtmbs.Revolute(axis=(1.0, 0.0, 0.0)), arm, rod, point=(0.0, 0.0, 0.0))
    return model


def test_a_coordinate_without_inertia_at_a_state_is_named():
    system = thin_rod().compile()
    with pytest.raises(StepError, match=r"spin.* can move without inertia at t = 0"):
        run(system, np.zeros(2), np.zeros(2), np.array([0.0, 0.1]), 1e-3)


PLACES = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
MPIEXEC = shutil.which("mpiexec", path=PLACES)
needs_mpi = pytest.mark.skipif(MPIEXEC is None, reason="mpiexec is not installed")


def started(count, what, file):
    """Run ranks until they end; return exit code, output and errors."""
    pytest.importorskip("mpi4py")
    command = [MPIEXEC, "-n", str(count), sys.executable, "-m", "tests.recursive.ranked", what, str(file)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LONGEST, check=False
    )
    return done.returncode, done.stdout, done.stderr


@needs_mpi
@pytest.mark.parametrize("count", [pytest.param(1, marks=pytest.mark.slow), 2, pytest.param(4, marks=pytest.mark.slow)])
def test_ranks_equal_one_rank(count, tmp_path):
    code, out, err = started(count, "motion", tmp_path / "found")
    assert code == 0, err
    assert f"ranks {count}" in out
    z, zd, z1, zd1 = np.split(np.frombuffer((tmp_path / "found").read_bytes()), 4)
    assert np.abs(z - z1).max() <= 1e-12 * np.abs(z1).max()
    assert np.abs(zd - zd1).max() <= 1e-12 * np.abs(zd1).max()


@needs_mpi
def test_all_end_when_one_is_killed(tmp_path):
    code, _, _ = started(2, "killed", tmp_path / "found")
    assert code != 0
    assert not (tmp_path / "found").exists()


@pytest.mark.slow
@needs_mpi
def test_all_end_with_one_message_when_one_raises(tmp_path):
    code, _, err = started(2, "raising", tmp_path / "found")
    assert code == 1
    assert err.count("RuntimeError: a disk is full") == 1, err
    assert err.count("rtmbs: rank 1 of 2 failed") == 1


@needs_mpi
@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "what", "says"),
    [
        (2, "version", "rank 1 has another version of rtmbs than rank 0, 1.0 and"),
        (2, "mechanism", "rank 1 has another mechanism than rank 0"),
        (14, "motion", "has 4 branches for 14 ranks"),
    ],
)
def test_what_ranks_refuse_together(count, what, says, tmp_path):
    code, _, err = started(count, what, tmp_path / "found")
    assert code == 1
    assert err.count(says) == 1, err


def test_without_mpi4py(monkeypatch, capsys):
    """Alone with a line, or refused where a launcher started several ranks."""
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    for name in ranks.LAUNCHERS:
        monkeypatch.delenv(name, raising=False)
    assert isinstance(ranks.world(), Alone)
    assert (
        "mpi4py is absent, one rank works alone; install it: pip install 'rtmbs[parallel]'" in capsys.readouterr().err
    )
    monkeypatch.setenv("PMI_SIZE", "4")
    with pytest.raises(InputError, match="4 ranks were started, and mpi4py is missing"):
        ranks.world()


class Two(Alone):
    """A rank beside another one that says something else."""

    ranks = 2

    def together(self, mine):
        return [mine, "another"]


def test_other_ranks_are_compared():
    import rtmbs

    system = rtmbs.library.build("slider_crank").compile()
    ranks.demand_same_system(Alone(), system, "1.0")
    with pytest.raises(InputError, match=r"rank 1 has another version of rtmbs than rank 0, another and 1\.0"):
        ranks.demand_same_system(Two(), system, "1.0")


def test_a_launch_of_one_rank_raises_as_it_is():
    with pytest.raises(ZeroDivisionError):
        ranks.launch(lambda exchange: 1 / 0, Alone())
