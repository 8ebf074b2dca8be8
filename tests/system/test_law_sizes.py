"""Long force laws compile, with the derivatives of a complex step; too long ones are refused by name."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import rtmbs
from rtmbs.ad import ComplexStep, Evaluator
from rtmbs.errors import ModelError
from rtmbs.model.forces import JointKinematics, Kinematics
from rtmbs.system import recorded_laws
from tests.contracts.machines import accepted_steps

SEEDS = range(4)


def points(count):
    """Contact points around a body, with friction; complex numbers are compared by their real part."""

    def law(t, k, p):
        f = n = 0.0 * k.v
        for i in range(count):
            arm = k.R @ np.array([0.1 * np.cos(6.28 * i / count), 0.1 * np.sin(6.28 * i / count), -1.0])
            d = -(k.r[2] + arm[2]) - 0.2
            v = k.v + np.cross(k.w, arm)
            normal = np.where(np.real(d) > 0.0, 1e3 * d - 10.0 * v[2] * np.tanh(10.0 * d), 0.0)
            push = np.stack([-0.3 * normal * np.tanh(10.0 * v[0]), -0.3 * normal * np.tanh(10.0 * v[1]), normal])
            f, n = f + push, n + np.cross(arm, push)
        return f, n

    return law


def horner(degree):
    def law(t, k, p):
        s = 0.0
        for _ in range(degree):
            s = s * k.z + 0.01 * k.zd
        return -s

    return law


def runge_kutta(count):
    """A state of its own, integrated inside the law."""

    def rate(k, F):
        return 2.0 * (k.zd - np.sqrt(k.zd * k.zd + 1e-6) * F)

    def law(t, k, p):
        F = 0.0
        for _ in range(count):
            k1 = rate(k, F)
            k2 = rate(k, F + 0.05 * k1)
            k3 = rate(k, F + 0.05 * k2)
            F = F + 0.1 / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + rate(k, F + 0.1 * k3))
        return -F

    return law


def chain(length):
    def law(t, k, p):
        s = k.z
        for _ in range(length):
            s = np.sin(s) + 0.1 * k.zd
        return -s

    return law


def relaxation(length):
    def law(t, k, p):
        x = k.zd
        for _ in range(length):
            x = x - (x - np.tanh(k.zd - x)) / 3.0
        return -x

    return law


def hinge(law):
    model = rtmbs.Model("m")
    model.add_body("b", mass=1.0, center_of_mass=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    model.add_joint("j", rtmbs.Revolute(axis=(1, 0, 0)), "ground", "b")
    model.add_force("L", law, joint="j")
    return model


def free(law):
    model = rtmbs.Model("m")
    model.add_body("b", mass=1.0, center_of_mass=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    model.add_joint("j", rtmbs.Floating(), "ground", "b")
    model.add_force("L", law, body="b")
    return model


def flat(law, joint):
    """Return the law as a function of flat arrays."""
    if joint:
        return lambda x: law(0.0, JointKinematics(x[0], x[1], ("j.angle",)), {})
    return lambda x: np.concatenate(law(0.0, Kinematics(x[:3], x[3:12].reshape(3, 3), x[12:15], x[15:18]), {}))


LAWS = {
    "18 points": (points(18), False),
    "180 points": (points(180), False),
    "Horner 25": (horner(25), True),
    "Horner 250": (horner(250), True),
    "11 steps": (runge_kutta(11), True),
    "110 steps": (runge_kutta(110), True),
    "chain 200": (chain(200), True),
    "chain 2000": (chain(2000), True),
    "relaxation 2000": (relaxation(2000), True),
}


@pytest.mark.parametrize("name", LAWS)
def test_a_long_law_has_the_derivatives_of_a_complex_step(name):
    law, joint = LAWS[name]
    [built] = laws_of(hinge(law) if joint else free(law))
    assert built.reason == ""
    m, n = built.function.m, built.function.n
    for seed in SEEDS:
        x = built.function.x0 + 0.3 * np.random.default_rng(seed).normal(size=n)
        found, J = Evaluator(built.tape).value(x, built.function.p0), np.zeros((m, n))
        J[built.row, built.column] = found[m:]
        exact = ComplexStep(flat(law, joint), n).jacobian(x)
        np.testing.assert_allclose(J, exact, rtol=0, atol=1e-12 * max(1.0, np.abs(exact).max()))
        np.testing.assert_allclose(found[:m], flat(law, joint)(x), rtol=1e-12, atol=1e-12)


def laws_of(model):
    """Compile a model and return its laws as they were built."""
    built = []
    with pytest.MonkeyPatch.context() as patch:
        build = recorded_laws.build_law
        patch.setattr(recorded_laws, "build_law", lambda *given: built.append(build(*given)) or built[-1])
        model.compile()
    return built


def test_a_long_law_runs():
    """Its motion is that of the pendulum's equation under the law as Python runs it, by SciPy."""
    law, model = chain(200), hinge(chain(200))
    model.set_initial("j", position=0.4, rate=1.0)
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    accepted_steps(sim, 50)

    def slope(t, y):
        torque = law(t, JointKinematics(y[0], y[1], ("j.angle",)), {}) - 9.81 * 0.5 * np.sin(y[0])
        return [y[1], torque / (0.1 + 0.5**2)]

    exact = solve_ivp(slope, (0.0, 0.05), [0.4, 1.0], method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    np.testing.assert_allclose([sim["j.angle"], sim["j.rate"]], exact, rtol=2e-5)


def test_a_law_beyond_the_limit_is_refused_by_name(monkeypatch):
    monkeypatch.setattr(recorded_laws, "LARGEST_LAW", 1000)
    hinge(chain(200)).compile()
    with pytest.raises(ModelError, match=r"force 'L': its law is too long.*1,000 steps.*trace=False"):
        hinge(chain(2000)).compile()


def test_a_law_whose_derivative_is_beyond_the_limit_is_refused_by_name(monkeypatch):
    monkeypatch.setattr("rtmbs.ad.vertex_elimination.LARGEST", 1000)
    with pytest.raises(ModelError, match=r"force 'L': its law's derivative is too long.*trace=False"):
        free(points(18)).compile()


# --------------------------------------------------------------------------------------------------------- steep laws


def chaotic(t, k, p):
    """A map that nearly doubles each turn: rounding, in another order than NumPy's, grows to the size of the law."""
    x = k.z + 0.3
    for _ in range(60):
        x = 1.3 * (3.0 * x) * (1.0 - x)  # recorded with one constant
    return x - k.zd


def test_a_law_that_rounding_moves_is_not_called_another():
    """Its tape is as good as the law: a change of 1e-9 in the inputs moves both by more than they differ."""
    [built] = laws_of(hinge(chaotic))
    assert built.reason == ""


def forgetful(t, k, p):
    return k.z * (2.0 if hasattr(k.z, "ids") else 1.0) + 1.0


def test_a_law_whose_tape_says_something_else_is_refused():
    with pytest.raises(ModelError, match=r"force 'L': its law was recorded as .* where a call gives"):
        hinge(forgetful).compile()


def test_a_tape_that_is_no_number_where_the_law_is_one_is_refused():
    with pytest.raises(ModelError, match=r"recorded as \[nan\] where a call gives"):
        hinge(lambda t, k, p: k.z * (np.nan if hasattr(k.z, "ids") else 1.0)).compile()
