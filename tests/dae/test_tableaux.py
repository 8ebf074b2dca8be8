"""Tables as data: their order conditions, their stability, their measured order."""

from math import factorial

import numpy as np
import pytest

from rtmbs.dae import TABLEAUX, AdamsBashforthMoulton, GainWarning, MotionError, RungeKutta, integrate
from rtmbs.dae.multistep import adams_bashforth, adams_moulton, backward_difference
from rtmbs.errors import InputError, UnknownNameError
from rtmbs.formulations import FORMULATIONS, STABILITY, Baumgarte, Direct, gain_bound
from rtmbs.integrators.tableaux import DORMAND_PRINCE, growth
from tests.cases import spread
from tests.dae.motions import slopes, start_of

NAMED = {"euler": "euler", "heun": "heun", "gill": "runge-kutta-4", "dormand-prince": "dormand-prince-5"}


def order_residuals(table):
    """Return the largest residual of the order conditions of each order 1 to 5 (rooted trees; Butcher)."""
    A, b, c = table.matrix, np.array(table.b), np.array(table.c)
    Ac, Ac2 = A @ c, A @ c**2
    trees = {
        1: [(b.sum(), 1)],
        2: [(b @ c, 2)],
        3: [(b @ c**2, 3), (b @ Ac, 6)],
        4: [(b @ c**3, 4), (b @ (c * Ac), 8), (b @ Ac2, 12), (b @ A @ Ac, 24)],
        5: [
            (b @ c**4, 5),
            (b @ (c**2 * Ac), 10),
            (b @ Ac**2, 20),
            (b @ (c * Ac2), 15),
            (b @ A @ c**3, 20),
            (b @ (c * (A @ Ac)), 30),
            (b @ A @ (c * Ac), 40),
            (b @ A @ Ac2, 60),
            (b @ A @ A @ Ac, factorial(5)),
        ],
    }
    return {order: max(abs(float(sum_) - 1.0 / n) for sum_, n in conditions) for order, conditions in trees.items()}


@pytest.mark.parametrize("name", TABLEAUX)
def test_order_conditions_hold_up_to_the_order_and_no_further(name):
    table = TABLEAUX[name]
    residuals = order_residuals(table)
    for order in range(1, table.order + 1):
        assert residuals[order] < 1e-14, (name, order, residuals)
    if table.order < 5:
        assert residuals[table.order + 1] > 1e-3


def test_a_wrong_entry_is_seen():
    wrong = DORMAND_PRINCE._replace(b=(35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84 + 1e-6))
    assert order_residuals(wrong)[1] > 1e-7
    wrong = DORMAND_PRINCE._replace(a=(*DORMAND_PRINCE.a[:3], (2.95, *DORMAND_PRINCE.a[3][1:]), DORMAND_PRINCE.a[4]))
    assert order_residuals(wrong)[5] > 1e-5


@pytest.mark.parametrize("name", NAMED)
def test_growth_is_that_of_the_stability_polynomials(name):
    for z in (-0.3 + 0.0j, -1.0 + 1.0j, -2.9 + 0.1j, 0.5j):
        r = np.roots(STABILITY[NAMED[name]](z))
        assert abs(growth(TABLEAUX[name], z) - np.abs(r).max()) < 1e-13


@pytest.mark.parametrize("k", range(1, 6))
def test_multistep_formulas_are_exact_for_polynomials(k):
    """y = t^p at steps of 1, up to the order; the next power is not exact."""
    a, b = backward_difference(k)
    for p in range(k + 2):
        f = lambda t, p=p: p * float(t) ** (p - 1) if p else 0.0  # noqa: E731
        left = {
            "bashforth": sum(w * f(-i) for i, w in enumerate(adams_bashforth(k))),
            "moulton": sum(w * f(1 - i) for i, w in enumerate(adams_moulton(k))),
        }
        left = {name: value + float(p == 0) - 1.0 for name, value in left.items()}
        left["bdf"] = sum(w * float(-i) ** p for i, w in enumerate(a)) + b * f(1) - 1.0
        for name, value in left.items():
            assert (abs(value) < 1e-12) == (p <= k), (name, k, p, value)


@pytest.mark.parametrize("name", spread(TABLEAUX, 3))
def test_each_table_has_its_order_on_the_pendulum(name):
    table = TABLEAUX[name]
    steps = {1: (200, 400, 800), 2: (100, 200, 400), 3: (80, 160, 320), 4: (80, 160, 320), 5: (40, 60, 80)}
    slope, found = slopes(RungeKutta(table), "pendulum in x, y", steps[table.order])
    np.testing.assert_allclose(slope, table.order, atol=0.15, err_msg=str(found))


@pytest.mark.parametrize("order", spread([2, 1, 3, 4, 5], 2))
def test_each_adams_order(order):
    steps = {1: (200, 400, 800), 2: (100, 200, 400), 3: (80, 160, 320), 4: (80, 160, 320), 5: (80, 160, 240)}
    slope, found = slopes(AdamsBashforthMoulton(order), "pendulum in x, y", steps[order])
    np.testing.assert_allclose(slope, order, atol=0.15, err_msg=str(found))


@pytest.mark.parametrize("name", spread(FORMULATIONS, 3))
@pytest.mark.parametrize("where", ["pendulum in x, y", pytest.param("slider-crank in bodies", marks=pytest.mark.slow)])
def test_order_four_with_every_formulation(name, where):
    """No class of its own for a combination; penalties of order 1 / c stay below the errors of the method."""
    slope, found = slopes(RungeKutta(formulation=FORMULATIONS[name]()), where, (80, 160, 320))
    np.testing.assert_allclose(slope, 4.0, atol=0.2 if where.startswith("slider") else 0.15, err_msg=str(found))


def so_far(system, method, q, v, h):
    """Return the motion to 3 s, or as far as it goes."""
    try:
        return integrate(system, method, q, v, 3.0, h)
    except MotionError as error:
        return error.result


def test_stability_bound_of_the_gains_holds_in_a_run():
    """Just inside the bound violations stay, just outside they grow; METHODS 1.22."""
    system, q, v = start_of("pendulum in x, y")
    h, bound = 1e-2, gain_bound("runge-kutta-4")
    inside = integrate(system, RungeKutta(formulation=Baumgarte(*[0.9 * bound / h] * 2)), q, v, 3.0, h)
    assert inside.violations[:, 0].max() < 1e-2
    with pytest.warns(GainWarning, match="outside the stability region of RungeKutta"):
        outside = so_far(system, RungeKutta(formulation=Baumgarte(*[1.3 * bound / h] * 2)), q, v, h)
    assert outside.violations[:, 0].max() > 0.1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"tableau": "gill"}, "there is no tableau named 'gill'; there are 'classical', 'three-eighths'"),
        ({"tableau": 4}, "tableau is 4; a Tableau is wanted"),
        ({"formulation": Direct}, "formulation is .*; a formulation is wanted"),
        ({"formulation": "direct"}, "formulation is 'direct'"),
    ],
)
def test_bad_options(options, says):
    with pytest.raises((InputError, UnknownNameError), match=says):
        RungeKutta(**options)


@pytest.mark.parametrize("order", [0, 6, 2.5, True, "4"])
def test_bad_orders(order):
    with pytest.raises(InputError, match=r"order of AdamsBashforthMoulton is .*; a whole number from 1 to 5 is wanted"):
        AdamsBashforthMoulton(order)
