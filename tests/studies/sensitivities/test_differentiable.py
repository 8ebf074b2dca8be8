"""Differentiable runs: gradients by parameters and by inputs in time against differences, and in JAX and PyTorch."""

import copy

import numpy as np
import pytest

import rtmbs

TIGHT = rtmbs.PenaltyTrapezoidal(tol=1e-12, projection_tol=1e-13)
DIFFERENCE = 1e-7  # of the largest derivative


def cart_pole():
    model = rtmbs.Model("cart pole", gravity=(0.0, 0.0, -9.81))
    model.add_body("cart", mass=1.0)
    model.add_body("pole", mass=0.3, inertia=(0.01, 0.01, 0.01), center_of_mass=(0.0, 0.0, 0.5))
    model.add_joint("rail", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", "cart", point=(0, 0, 0))
    model.add_joint("pivot", rtmbs.Revolute(axis=(0, 1, 0)), "cart", "pole", point=(0, 0, 0))
    model.add_force("push", rtmbs.Motor(rtmbs.Input(0.0)), joint="rail")
    model.set_initial("pivot", position=0.4)
    return model


def four_bar():
    model = rtmbs.library.build("crank_rocker")
    model.add_force("push", rtmbs.Motor(rtmbs.Input(0.0)), joint="crank_pivot")
    return model


def cart_cost(result):
    return np.array([np.sum(result["pivot.angle"] ** 2), result["pivot.acceleration"][-1]])


def loop_cost(result):
    return np.array([np.sum(result["crank_pivot.angle"] ** 2), 1e-2 * result["knee.reaction"][-1, 1]])


@pytest.fixture(scope="module")
def cart():
    sim = rtmbs.Simulation(cart_pole().compile(), h=1e-2, method=TIGHT)
    return rtmbs.differentiable(
        sim, 0.3, cart_cost, ["pivot.position", "rail.rate", "gravity"], controls=["push.force"]
    )


@pytest.fixture(scope="module")
def loop():
    sim = rtmbs.Simulation(four_bar().compile(), h=4e-3, method=TIGHT)
    return rtmbs.differentiable(sim, 0.1, loop_cost, ["crank_pivot.rate"], controls=["push.torque"])


def slope(function, x, way, step):
    """Return the derivative of a function along a way by the formula of order four."""
    values = [function(x + k * step * way) for k in (2, 1, -1, -2)]
    return (8.0 * (values[1] - values[2]) - (values[0] - values[3])) / (12.0 * step)


@pytest.mark.parametrize(("name", "step"), [("cart", 2e-3), ("loop", 2e-2)])
def test_gradients_are_those_of_differences(request, name, step):
    run, rng = request.getfixturevalue(name), np.random.default_rng(5)
    p = run.start + 0.01 * rng.normal(size=run.start.shape)
    U = 0.5 * rng.normal(size=(run.steps + 1, 1))
    value, by_p, by_u = run.jacobians(p, U)
    np.testing.assert_array_equal(value, run(p, U))
    for j in range(len(p)):
        found = slope(lambda q: run(q, U), p, np.eye(len(p))[j], step)
        np.testing.assert_allclose(by_p[:, j], found, atol=DIFFERENCE * np.abs(by_p).max(), rtol=0.0)
    ways = [rng.normal(size=U.shape), *np.eye(run.steps + 1)[[0, 1, -1], :, None]]
    for way in ways:
        found = slope(lambda V: run(p, V), U, way, 20.0 * step)
        mine = np.einsum("ksc,sc->k", by_u, way)
        scale = np.abs(np.einsum("ksc,sc->k", np.abs(by_u), np.abs(way))).max()
        np.testing.assert_allclose(mine, found, atol=DIFFERENCE * scale, rtol=0.0)


def test_weights_are_pulled_back(cart):
    U = np.linspace(-1.0, 1.0, cart.steps + 1)
    _, by_p, by_u = cart.jacobians(None, U)
    _, pull_back = cart.vjp(None, U)
    found = pull_back([2.0, -3.0])
    np.testing.assert_allclose(found[0], 2.0 * by_p[0] - 3.0 * by_p[1])
    np.testing.assert_allclose(found[1], 2.0 * by_u[0] - 3.0 * by_u[1])


def test_arguments_of_a_model_are_parameters():
    def pendulum(length):
        model = rtmbs.Model("pendulum")
        bob = model.add_body("bob", mass=1.0, inertia=(0.1, 0.1, 0.1), center_of_mass=(0.0, 0.0, -length))
        model.add_joint("hinge", rtmbs.Revolute(axis=(0, 1, 0)), "ground", bob, point=(0, 0, 0))
        model.add_force("motor", rtmbs.Motor(rtmbs.Input(0.0)), joint="hinge")
        model.set_initial("hinge", position=1.0)
        return model

    sim = rtmbs.Simulation(pendulum(0.5).compile(), h=1e-2, method=TIGHT)
    run = rtmbs.differentiable(
        sim, 0.2, ["hinge.angle"], ["length"], controls=["motor.torque"], model=pendulum, at={"length": 0.5}
    )
    U = 0.2 * np.ones((run.steps + 1, 1))
    _, by_p, _ = run.jacobians([0.6], U)
    found = slope(lambda q: run(q, U), np.array([0.6]), np.ones(1), 1e-3)
    np.testing.assert_allclose(by_p[0], found, rtol=1e-7)


def test_a_run_keeps_the_offset_of_the_loops_and_the_jacobian():
    model = rtmbs.library.build("fourbar")
    model.add_force("push", rtmbs.Motor(rtmbs.Input(0.0)), joint="pin_1_0")
    cut = model.joints["cut_1_0"]
    object.__setattr__(cut, "point_b", cut.point_b + np.array([1e-4, 0.0, 0.0]))
    sim = rtmbs.Simulation(model.compile(), h=4e-3, method=TIGHT, jacobian="trace", assembly_offset=True)
    offset = sim.equations.assembly_offset
    assert np.abs(offset).max() > 5e-5
    run = rtmbs.differentiable(sim, 0.02, ["pin_1_0.angle"], ["pin_1_0.rate"], controls=["push.torque"])
    run(None, np.zeros((run.steps + 1, 1)))
    np.testing.assert_array_equal(run.kept.equations.assembly_offset, offset)
    assert type(run.kept.equations.source) is type(sim.equations.source)


def test_copies_are_runs_of_their_own(cart):
    U = np.linspace(-1.0, 1.0, cart.steps + 1)
    np.testing.assert_array_equal(copy.deepcopy(cart)(None, U), cart(None, U))


def test_calls_that_share_a_simulation_have_the_bytes_of_calls_alone(loop):
    U = np.linspace(-1.0, 1.0, loop.steps + 1)[:, None]
    alone = copy.copy(loop).jacobians(loop.start, U)
    loop.jacobians(1.3 * loop.start + 0.1, 0.5 * U)
    for one, other in zip(loop.jacobians(loop.start, U), alone, strict=True):
        assert one.tobytes() == other.tobytes()


def test_a_function_of_jax(cart):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    run = cart.jax()
    U = np.linspace(-1.0, 1.0, cart.steps + 1)[:, None]
    _, by_p, by_u = cart.jacobians(None, U)
    gradients = jax.jit(jax.grad(lambda p, u: 3.0 * run(p, u)[0], argnums=(0, 1)))(cart.start, U)
    np.testing.assert_allclose(gradients[0], 3.0 * by_p[0], rtol=1e-12)
    np.testing.assert_allclose(gradients[1], 3.0 * by_u[0], rtol=1e-12, atol=1e-14)
    several = jax.vmap(run, in_axes=(None, 0))(cart.start, np.stack([U, 2.0 * U]))
    np.testing.assert_array_equal(several[1], cart(None, 2.0 * U))
    flat = jax.grad(lambda u: run(None, u)[0])(U[:, 0])  # gradients have the shape that was given
    np.testing.assert_allclose(flat, by_u[0, :, 0], rtol=1e-12, atol=1e-14)


def test_a_function_of_pytorch(cart):
    torch = pytest.importorskip("torch")
    run, U = cart.torch(), np.linspace(-1.0, 1.0, cart.steps + 1)[:, None]
    p, u = (torch.tensor(one, dtype=torch.float64, requires_grad=True) for one in (cart.start, U))
    run(p, u)[0].backward()
    _, by_p, by_u = cart.jacobians(None, U)
    np.testing.assert_allclose(p.grad.numpy(), by_p[0], rtol=1e-12)
    np.testing.assert_allclose(u.grad.numpy(), by_u[0], rtol=1e-12)
    assert torch.autograd.gradcheck(run, (p, u), eps=3e-5, atol=1e-7, rtol=1e-7)
    flat = torch.tensor(U[:, 0], dtype=torch.float64, requires_grad=True)
    run(None, flat)[0].backward()
    assert flat.grad.shape == flat.shape
    with pytest.raises(rtmbs.RtmbsError, match="first derivatives alone"):
        torch.autograd.grad(run(p, u)[0], p, create_graph=True)


def test_refusals(cart):
    sim = cart.own
    for call, words in (
        (lambda: rtmbs.differentiable(sim, 0.3, ["pivot.angle"]), "needs lists of names"),
        (lambda: rtmbs.differentiable(sim, 0.3, ["pivot.angle"], controls=["gravity"]), "one number"),
        (lambda: rtmbs.differentiable(sim, 0.3, ["pivot.angle"], ["push.force"], controls=["push.force"]), "twice"),
        (lambda: rtmbs.differentiable(sim, 0.3, ["pivot.angle"], controls=["push.force"] * 2), "is named twice"),
        (lambda: cart(None, np.zeros(3)), "controls have shape"),
        (lambda: cart([1.0], None), "1 numbers given for 5"),
        (lambda: cart(None, np.full((cart.steps + 1, 1), np.nan)), "finite"),
    ):
        with pytest.raises(rtmbs.RtmbsError, match=words):
            call()
    with pytest.raises(rtmbs.errors.UnknownNameError):
        rtmbs.differentiable(sim, 0.3, ["pivot.angle"], controls=["push.forc"])
    midpoint = rtmbs.Simulation(sim.system, h=1e-2, method=rtmbs.VariationalMidpoint())
    with pytest.raises(rtmbs.RtmbsError, match="PenaltyTrapezoidal"):
        rtmbs.differentiable(midpoint, 0.3, ["pivot.angle"], controls=["push.force"])
