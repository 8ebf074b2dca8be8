"""Ropes over points of three moving bodies, against Cartesian equations of their own."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import rtmbs
from rtmbs.errors import ModelError

MASSES, GRAVITY, STIFFNESS = (1.0, 1.6, 2.5), 9.81, 40.0
LEFT, RIGHT = np.array([-0.6, -1.0]), np.array([0.5, -1.3])


def hoist():
    """Two masses that swing on a rope over a point of a cart; the cart slides on a level rail, with a spring."""
    model = rtmbs.Model("hoist", gravity=(0, 0, -GRAVITY))
    cart = model.add_body("cart", mass=MASSES[2], inertia=(0.1, 0.1, 0.1))
    model.add_joint("rail", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", cart)
    ends = model.add_marker("post", "ground", (-1.0, 0, 0)), model.add_marker("pulley", cart)
    model.add_force("spring", rtmbs.SpringDamper(STIFFNESS, 0.0, length=1.0), between=ends)
    hooks = []
    for name, place, mass in (("left", LEFT, MASSES[0]), ("right", RIGHT, MASSES[1])):
        at = (place[0], 0.0, place[1])
        body = model.add_body(name, mass=mass, inertia=(0.02, 0.02, 0.02), position=at)
        model.add_joint(f"{name} plane", rtmbs.Planar(normal=(0, 1, 0)), "ground", body, point=at)
        hooks.append(model.add_marker(f"{name} hook", body, at))
    model.add_rope("rope", [hooks[0], "pulley", hooks[1]])
    return model


def cartesian(end):
    """Return cart, left and right (5,), their rates and the tension at ``end``, by a multiplier in Cartesian axes."""
    M = np.array([MASSES[2], MASSES[0], MASSES[0], MASSES[1], MASSES[1]])

    def answer(q, v):
        pulled = np.array([-STIFFNESS * q[0], 0.0, -MASSES[0] * GRAVITY, 0.0, -MASSES[1] * GRAVITY])
        row, bend = np.zeros(5), 0.0
        for k in (1, 3):
            d, dd = q[k : k + 2] - [q[0], 0.0], v[k : k + 2] - [v[0], 0.0]
            size = np.linalg.norm(d)
            row[k : k + 2] = d / size
            row[0] -= d[0] / size
            bend += (dd @ dd - (d @ dd / size) ** 2) / size
        tension = (row @ (pulled / M) + bend) / (row @ (row / M))
        return (pulled - tension * row) / M, tension

    start = np.concatenate(([0.0], LEFT, RIGHT, np.zeros(5)))
    rates = lambda t, y: np.concatenate((y[5:], answer(y[:5], y[5:])[0]))  # noqa: E731
    y = solve_ivp(rates, (0.0, end), start, "DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    return y[:5], y[5:], answer(y[:5], y[5:])[1]


@pytest.mark.parametrize("method", [rtmbs.PenaltyTrapezoidal, rtmbs.VariationalMidpoint])
def test_three_bodies_on_a_rope(method):
    """Places, rates and tension have order two."""
    end, found = 0.8, []
    q, v, tension = cartesian(end)
    for h in (0.01, 0.005):
        result = rtmbs.Simulation(hoist().compile(), h=h, method=method()).run(end)
        bodies = [result[f"{name}.position"][-1][[0, 2]] for name in ("left", "right")]
        rates = [result[f"{name}.velocity"][-1][[0, 2]] for name in ("left", "right")]
        places = np.concatenate(([result["cart.position"][-1][0]], *bodies))
        paces = np.concatenate(([result["cart.velocity"][-1][0]], *rates))
        force = result["rope.force"][-1]
        np.testing.assert_allclose(force[0], force[1], rtol=1e-9)
        found.append([np.abs(places - q).max(), np.abs(paces - v).max(), abs(-force[0] - tension)])
    orders = np.log2(np.array(found[0]) / found[1])
    assert np.max(found[1]) < 2e-2
    assert np.all(orders > 1.7)


def test_a_rope_keeps_its_length():
    result = rtmbs.Simulation(hoist().compile(), h=5e-3).run(1.0)
    cart = result["cart.position"]
    length = sum(np.linalg.norm(result[f"{name}.position"] - cart, axis=1) for name in ("left", "right"))
    np.testing.assert_allclose(length, length[0], atol=1e-8)


def test_ropes_that_cannot_be_are_refused():
    model = hoist()
    with pytest.raises(ModelError, match="points has 2 markers; it takes 3 or more"):
        model.add_rope("other", ["left hook", "pulley"])
    with pytest.raises(ModelError, match="follow each other on body 'left'"):
        model.add_rope("other", ["left hook", "left hook", "pulley"])
    with pytest.raises(ModelError, match="it must be above zero"):
        model.add_rope("other", ["left hook", "pulley", "right hook"], length=0.0)
    with pytest.raises(ModelError, match="it must be a list of markers"):
        model.add_rope("other", "left hook")
