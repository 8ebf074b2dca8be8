"""Whipple bicycle against the benchmark of Meijaard, Papadopoulos, Ruina and Schwab, and its motion against both."""

import numpy as np
import pytest
from scipy.linalg import expm

import rtmbs
from rtmbs.vehicle import BicycleData, bicycle

# canonical matrices of the benchmark bicycle (appendix A of the paper): lean and steer angle
M = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
K0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
K2 = np.array([[0.0, 76.59734589573222], [0.0, 2.65431523794604]])
C1 = np.array([[0.0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])
PRINTED = {  # table 2 of the paper: weave, capsize and castering
    0: (3.13164324790656, 5.53094371765393, -3.13164324790656, -5.53094371765393),
    5: (-0.77534188219585 + 4.46486771378823j, -0.77534188219585 - 4.46486771378823j,
        -0.32286642900409, -14.07838969279822),
}  # fmt: skip


def benchmark(speed):
    """Return the system matrix of (lean, steer) and their rates."""
    A = np.zeros((4, 4))
    A[:2, 2:] = np.eye(2)
    A[2:, :2], A[2:, 2:] = -np.linalg.solve(M, 9.81 * K0 + speed**2 * K2), -np.linalg.solve(M, speed * C1)
    return A


@pytest.mark.parametrize("speed", range(11))
def test_eigenvalues(speed):
    """Eigenvalues at 0 to 10 m/s are those of the benchmark; all others are zero."""
    found = rtmbs.linearise_rolling(rtmbs.Simulation(bicycle(speed=speed).compile(), h=1e-3))
    moving = found.moving()
    assert len(found.A) == 10
    assert moving == pytest.approx(np.sort_complex(np.linalg.eigvals(benchmark(speed))), abs=1e-10)
    if speed in PRINTED:
        assert moving == pytest.approx(np.sort_complex(np.array(PRINTED[speed], complex)), abs=1e-11)


def test_small_motion():
    """A small lean rate at 5 m/s goes on as in the linear benchmark; lean to the right, steer to the left positive."""
    rate, t_end = 1e-4, 1.0
    sim = rtmbs.Simulation(bicycle(speed=5.0, lean_rate=rate).compile(), h=1e-3)
    result = sim.run(t_end)
    lean, steer = (expm(benchmark(5.0) * t_end) @ (0.0, 0.0, rate, 0.0))[:2]  # there steering is positive to the right
    R = rtmbs.numerics.rotations.quaternions.rotations(result["rear_frame.orientation"][-1])
    assert np.arctan2(R[2, 1], R[2, 2]) == pytest.approx(lean, rel=2e-3)
    assert -float(result["steer.angle"][-1]) == pytest.approx(steer, rel=2e-3)


def test_large_motion_keeps_its_energy():
    """From a lean rate of 0.5 rad/s the energy stays, and the wheels do not slip."""
    sim = rtmbs.Simulation(bicycle(speed=4.6, lean_rate=0.5).compile(), h=1e-3)
    result = sim.run(2.0)
    energy = result["energy.kinetic"] + result["energy.weight"]
    lean = np.arcsin(2.0 * np.abs(result["rear_frame.orientation"][:, 1]).max())
    assert lean > 0.1
    assert np.ptp(energy) < 1e-4 * result["energy.kinetic"][0]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: BicycleData(wheelbase=0.0), "wheelbase is 0; it must be above zero"),
        (lambda: BicycleData(frame_centre=(0.3,)), "frame_centre"),
        (lambda: BicycleData(tilt=1.6), "tilt is 1.6; it must be between -pi / 2 and pi / 2"),
        (lambda: BicycleData(rear_inertia=(0.05, -0.1)), "rear_inertia .* has the principal value -0.1"),
        (lambda: BicycleData(front_inertia=(0.05, 0.2)), "front_inertia .* breaks the triangle inequality"),
        (lambda: BicycleData(fork_inertia=(0.05, 0.06, -0.01, 0.0)), "fork_inertia"),
        (lambda: bicycle(speed=np.inf), "bicycle: speed is inf"),
        (lambda: bicycle(lean_rate=np.nan), "bicycle: lean_rate is nan"),
        (lambda: bicycle(steer="left"), "bicycle: steer is 'left'"),
    ],
)
def test_refusals(make, words):
    with pytest.raises(rtmbs.errors.ModelError, match=words):
        make()
