"""Options that cannot be: one sentence each, before anything is integrated."""

import numpy as np
import pytest

from rtmbs.dae import (
    CVODE,
    HHT,
    IDA,
    ODAE,
    GainWarning,
    GeneralisedAlpha,
    Index3Lagrangian,
    MotionError,
    RungeKutta,
    SolveIVP,
    TangentSpace,
    integrate,
)
from rtmbs.errors import InputError, UnknownNameError
from rtmbs.formulations import (
    QR,
    AugmentedLagrangian,
    Baumgarte,
    FormulationError,
    FunctionSystem,
    Penalty,
    consistent_state,
)
from tests.dae.motions import start_of
from tests.formulations.systems import system_of

BAD_TOLERANCES = [
    ({"rtol": 0.0}, "rtol is 0.0; a finite number above 0 is wanted"),
    ({"rtol": -1e-6}, "rtol is -1e-06"),
    ({"rtol": np.nan}, "rtol is nan"),
    ({"rtol": 1e-17}, "rtol is 1e-17, below rounding; 1e-14 or more is wanted"),
    ({"rtol": True}, "rtol is True"),
    ({"rtol": "fine"}, "rtol is 'fine'"),
    ({"atol": 0.0}, "atol is 0.0; a finite number above 0 is wanted"),
    ({"atol": np.inf}, "atol is inf"),
]


@pytest.mark.parametrize(("options", "says"), BAD_TOLERANCES)
@pytest.mark.parametrize("kind", [SolveIVP, IDA, CVODE])
def test_tolerances(kind, options, says):
    with pytest.raises(InputError, match=says):
        kind(**options)


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: SolveIVP("radau"), UnknownNameError, "there is no solver named 'radau'; did you mean 'Radau'"),
        (lambda: TangentSpace("bdv"), UnknownNameError, "no formula of TangentSpace named 'bdv'; did you mean 'bdf'"),
        (lambda: TangentSpace(order=0), InputError, "order of TangentSpace is 0; a whole number from 1 to 5"),
        (lambda: ODAE(order=7), InputError, "order of ODAE is 7; a whole number from 1 to 5"),
        (lambda: HHT(alpha=0.1), InputError, "alpha of HHT is 0.1; a number from -0.333333 to -0.01 is wanted"),
        (lambda: GeneralisedAlpha(rho_inf=1.0), InputError, "rho_inf of GeneralisedAlpha is 1.0; a number from 0 to"),
        (lambda: GeneralisedAlpha(rho_inf=np.nan), InputError, "rho_inf of GeneralisedAlpha is nan"),
        (lambda: Index3Lagrangian(penalty=0.0), InputError, "penalty of Index3Lagrangian is 0.0; a finite number"),
    ],
)
def test_options(make, error, says):
    with pytest.raises(error, match=says):
        make()


@pytest.mark.parametrize(
    "form", [Baumgarte(400.0, 400.0), Penalty(frequency=400.0), AugmentedLagrangian(frequency=400.0)]
)
def test_gains_outside_the_stability_region_are_warned_of_before_the_run(form):
    system, q, v = start_of("pendulum in x, y")
    with pytest.warns(GainWarning, match=r"at h = 0.01 s: violations grow by .* a step; take gains_for_step\(0.01\)"):
        integrate(system, RungeKutta(formulation=form), q, v, 0.01, 1e-2)


def test_the_growth_that_is_warned_of_is_that_of_the_faster_root():
    """Violations follow s^2 + 1000 s + 100^2: RK4 multiplies each of its two parts by its polynomial in h s."""
    system, q, v = start_of("pendulum in x, y")
    z = 1e-2 * (-500.0 - np.sqrt(500.0**2 - 100.0**2))
    growth = 1.0 + z + z**2 / 2.0 + z**3 / 6.0 + z**4 / 24.0
    with pytest.warns(GainWarning, match=f"violations grow by {growth:.3g} a step"):
        integrate(system, RungeKutta(formulation=Baumgarte(500.0, 100.0)), q, v, 0.01, 1e-2)


@pytest.mark.filterwarnings("error")
def test_gains_inside_are_not_warned_of():
    system, q, v = start_of("pendulum in x, y")
    integrate(system, RungeKutta(formulation=Baumgarte(250.0, 250.0)), q, v, 0.01, 1e-2)


def test_a_coordinate_without_inertia_is_named():
    system = FunctionSystem(2, 1, lambda q, t: np.diag([0.0, 1.0]), lambda q, v, t: np.zeros(2), lambda q, t: [q[1]])
    with pytest.raises(FormulationError, match="coordinate 0 can move without inertia"):
        integrate(system, RungeKutta(), np.zeros(2), np.zeros(2), 0.1, 1e-2)


def test_contradicting_starts_list_their_rows():
    system = system_of("slider-crank in bodies")
    q, v = np.array([0.0, 0.5, 0.1, 0.0, 0.8]), np.zeros(5)
    with pytest.raises(
        FormulationError, match=r"^rows 1 \(crank pin y\), 3 \(slider pin y\) of Phi are violated by 0.1"
    ):
        integrate(system, RungeKutta(), q, v, 0.1, 1e-2)


def test_a_loop_that_cannot_close_ends_the_motion():
    """A driven distance that outgrows the rods."""
    system = FunctionSystem(
        2,
        2,
        lambda q, t: np.eye(2),
        lambda q, v, t: np.zeros(2),
        lambda q, t: [q[0] ** 2 + q[1] ** 2 - 1.0, q[0] - 0.9 - t],
        row_names=["rod", "driver"],
    )
    q = np.array([0.9, np.sqrt(0.19)])
    v = np.array([1.0, -0.9 / np.sqrt(0.19)])
    with pytest.raises(MotionError, match=r"RungeKutta stopped after t = 0\.") as caught:
        integrate(system, RungeKutta(formulation=QR()), q, v, 0.2, 5e-3)
    assert 0.08 < caught.value.result.t[-1] < 0.105


@pytest.mark.parametrize("S", [1e-6, 1.0, 1e4])  # rates below 1e-5 sizes a second count as rest
@pytest.mark.parametrize("L", [1e-6, 1e-3, 1.0, 1e6])
def test_a_start_is_judged_in_any_units(L, S):
    """A pendulum of length L, its fall in times of S: a start 3 L off was taken where L is a micrometre."""
    system = FunctionSystem(
        2, 1, lambda q, t: np.eye(2), lambda q, v, t: np.array([0.0, -9.81 * L / S**2]),
        lambda q, t: [q[0] ** 2 + q[1] ** 2 - L**2],
    )  # fmt: skip
    q = L * np.array([np.sin(0.9), -np.cos(0.9)])
    v = 0.2 / S * np.array([-q[1], q[0]])
    method, end = RungeKutta(formulation=QR()), 1e-3 * S
    integrate(system, method, q, v, end, end)
    for share in (1e-6, 0.003, 2.0):
        with pytest.raises(FormulationError, match=r"^row 0 of Phi is violated by"):
            integrate(system, method, q * (1.0 + share), v, end, end)
        with pytest.raises(FormulationError, match=r"^row 0 of Phid is violated by"):
            integrate(system, method, q, v + share * q / S, end, end)
    found, rates = consistent_state(system, 1.5 * q, v + 0.3 * q / S, 0.0)
    np.testing.assert_allclose(found / L, q / L, rtol=0, atol=1e-14)
    np.testing.assert_allclose(rates * S / L, v * S / L, rtol=0, atol=1e-14)
    integrate(system, method, found, rates, end, end)


def test_rounding_of_rates_and_of_angles_beside_zero_is_no_violation():
    system, q, v = start_of("pendulum in x, y")
    integrate(system, RungeKutta(formulation=QR()), np.array([0.0, -1.0]), np.array([0.0, 1e-15]), 0.01, 1e-2)
    crank = system_of("slider-crank in bodies")
    q, v = consistent_state(crank, np.array([1e-9, 0.5, 0.0, 0.0, 0.8]), np.zeros(5), 0.0)
    integrate(crank, RungeKutta(formulation=QR()), q, v + 1e-12, 0.01, 1e-2)
