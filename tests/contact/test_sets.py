"""Contact sets for users: what is refused, what a full set does, and a heap that comes to rest."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import rtmbs
from rtmbs.errors import InputError, ModelError, StepError


def heap(count: int, **more: object) -> rtmbs.Model:
    """Return balls above a plane that moves with nothing."""
    m = rtmbs.Model("heap")
    members: list[object] = [("ground", rtmbs.contact.Plane())]
    for k in range(count):
        place = (0.03 * (k % 3), 0.02 * (k % 2), 0.05 + 0.101 * k)
        m.add_body(f"b{k}", mass=0.5, inertia=(5e-4,) * 3, position=place, shape=rtmbs.Sphere(0.05))
        m.add_joint(f"free{k}", rtmbs.Floating(), "ground", f"b{k}", point=place)
        members.append(f"b{k}")
    m.add_contacts("heap", members, **({"stiffness": 1e4, "exponent": 1.0, "dissipation": 5.0} | more))
    return m


def test_what_is_no_contact_set_is_refused():
    m = heap(2)
    for members, more, said in (
        ("b0", {}, "members are"),
        ([("b0", rtmbs.Box((1, 1, 1))), "b1"], {}, "is no member"),
        (["b0"], {}, "nothing can touch"),
        (["b0", "b1"], {"most": 0}, "most is"),
        (["b0", "b1"], {"friction": -1.0}, "friction is"),
    ):
        with pytest.raises(ModelError, match=said):
            m.add_contacts("other", members, stiffness=1e4, **more)
    with pytest.raises(InputError, match=r"need method=rtmbs\.TRBDF2"):
        rtmbs.Simulation(m.compile(), h=1e-3)
    sim = rtmbs.Simulation(m.compile(), h=1e-3, method=rtmbs.TRBDF2())
    with pytest.raises(InputError, match=r"need method=rtmbs\.TRBDF2"):
        sim.change(method=rtmbs.VariationalMidpoint())
    assert isinstance(sim.method, rtmbs.TRBDF2)


def test_a_ball_at_rest_is_as_deep_as_its_weight_and_the_state_goes_on():
    system = heap(1).compile()
    sim = rtmbs.Simulation(system, h=2e-3, method=rtmbs.TRBDF2())
    sim.run(1.0, record=rtmbs.Every(1.0))
    touch = rtmbs.touching(sim, "heap")
    assert touch.members.tolist() == [[0, 1]]
    assert touch.penetrations == pytest.approx([0.5 * 9.81 / 1e4], rel=1e-6)
    assert touch.forces == pytest.approx(np.array([[0.0, 0.0, 0.5 * 9.81]]), abs=1e-5)
    state = sim.state.copy()
    sim.step()
    other = rtmbs.Simulation(system, h=2e-3, method=rtmbs.TRBDF2())
    other.restore(state)
    other.step()
    assert np.array_equal(other.state.z, sim.state.z)
    assert np.array_equal(other.state.s, sim.state.s)
    with pytest.raises(InputError, match="looks for no pairs"):
        rtmbs.equilibrium(sim)


def test_a_full_set_fails_with_its_name_and_the_state_stays():
    sim = rtmbs.Simulation(heap(4, most=4).compile(), h=2e-3, method=rtmbs.TRBDF2())
    states = []

    def fall() -> None:
        for _ in range(1000):
            states.append(sim.state.copy())
            sim.step()

    with pytest.raises(StepError, match="contacts 'heap': more than 4 pairs are near"):
        fall()
    assert np.array_equal(sim.state.z, states[-1].z)
    assert np.array_equal(sim.state.u, states[-1].u)


def test_steps_have_the_same_bytes_whether_somebody_looks_or_not():
    """Two pairs part, and the bristles of a third move to their place: nobody wrote those into the State."""
    sims = [rtmbs.Simulation(heap(3, friction=0.4).compile(), h=1e-3, method=rtmbs.TRBDF2()) for _ in range(2)]
    pairs = []
    for k, sim in enumerate(sims):
        for _ in range(260):
            sim.step()
            if k:
                pairs.append(sim.state.u[-16:].tolist())
    ends = [(one.z, one.zd, one.zdd, one.R0, one.s, one.sd, one.u) for one in (sim.state for sim in sims)]
    assert pairs[-1] != pairs[200]
    assert np.any(ends[0][4])
    for quiet, looked in zip(*ends, strict=True):
        assert quiet.tobytes() == looked.tobytes()


def cloud(declared: bool, *, speed: float = 3.0, friction: float = 0.0, h: float = 2e-3, k: float = 1e6) -> object:
    """Return a Simulation of four uneven balls without gravity that meet, as a set or as declared pairs."""
    m, rng, members = rtmbs.Model("cloud", gravity=(0, 0, 0)), np.random.default_rng(3), []
    for i, corner in enumerate(((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))):
        place, mass = 0.06 * np.array(corner) + 0.005 * rng.normal(size=3), 10.0 ** rng.uniform(-1.5, 0.5)
        inertia = 0.4 * mass * 0.05**2 * np.array([1.0, 1.1, 0.9])
        m.add_body(f"b{i}", mass=mass, inertia=tuple(inertia), position=tuple(place), shape=rtmbs.Sphere(0.05))
        m.add_joint(f"f{i}", rtmbs.Floating(), "ground", f"b{i}", point=tuple(place))
        rates = np.concatenate([-speed * place / 0.1, 5.0 * rng.normal(size=3)])
        m.set_initial(f"f{i}", rate=tuple(rates), pin=False)
        members.append(f"b{i}")
    law = {"stiffness": k, "exponent": 1.0, "dissipation": 2.0, "friction": friction}
    if not declared:
        m.add_contacts("cloud", members, **law)
    for i in range(4 if declared else 0):
        for j in range(i):
            m.add_contact(f"c{i}{j}", members[j], members[i], **law)
    return rtmbs.Simulation(m.compile(), h, method=rtmbs.TRBDF2())


@pytest.mark.filterwarnings("ignore::rtmbs.RtmbsWarning")
def test_stiff_impacts_converge_as_those_of_declared_pairs_and_by_the_readable_step():
    """h^2 k / m is up to 100 here. Frictionless pairs have one law, whichever ball leads."""
    one, other = cloud(False), cloud(True)
    plain = rtmbs.Simulation(one.system, 2e-3, method=rtmbs.TRBDF2(fused=False))

    def momentum(sim: object) -> np.ndarray:
        return sum(sim.system.bodies[f"b{i}"].mass * sim[f"b{i}.velocity"] for i in range(4))

    before = momentum(one)
    for _ in range(30):
        assert all(sim.step().outcome.name == "CONVERGED" for sim in (one, other, plain))
    for sim in (one, plain):
        assert np.max(np.abs(sim.state.zd - other.state.zd)) < 1e-6
        assert np.max(np.abs(momentum(sim) - before)) < 1e-6


@pytest.mark.filterwarnings("ignore::rtmbs.RtmbsWarning")
def test_bytes_do_not_depend_on_reads_of_the_state():
    run, read = (cloud(False, friction=0.3, k=1e5) for _ in range(2))
    run.run(0.04)
    for _ in range(20):
        kept = read.state.copy()
        read.restore(kept)
        read.step()
    for name in ("z", "zd", "zdd", "s", "sd", "u"):
        assert np.array_equal(getattr(run.state, name), getattr(read.state, name))


def test_balls_that_would_pass_through_each_other_are_told_and_the_state_stays():
    sim = cloud(False, speed=150.0)
    before = sim.state.copy()
    with pytest.raises(StepError, match="would pass through each other"):
        sim.step()
    assert np.array_equal(sim.state.z, before.z)


def test_a_set_without_friction_has_no_input_of_friction():
    assert list(cloud(False).inputs) == ["gravity"]
    assert "cloud.friction" in cloud(False, friction=0.1).inputs


def test_sources_of_derivatives_know_where_the_bristles_of_sets_stand():
    """They stand before the rotations among the parameters of the force; five pairs have 15 of them."""
    sim = rtmbs.Simulation(heap(1, most=5).compile(), h=2e-3, method=rtmbs.TRBDF2(), jacobian="central-difference")
    assert sim.step().outcome.accepted


def test_sources_of_the_page_are_refused_by_name():
    system = heap(1).compile()
    for name in ("finite-difference-page", "autograd", "autograd-forward", "trace"):
        with pytest.raises(InputError, match=f"'{name}' leaves out the forces of contacts 'heap'; take structured"):
            rtmbs.Simulation(system, h=2e-3, method=rtmbs.TRBDF2(), jacobian=name)


def test_pairs_of_all_sets_are_renewed_or_none():
    """A pair of the first set comes near in the step in which one of the second has no room."""
    m = rtmbs.Model("two", gravity=(0, 0, 0))
    places = {"a0": (0, 1), "a1": (0.2, 1), "c0": (0, 0), "c1": (-0.102, 0), "c2": (0.2, 0)}
    for name, (x, y) in places.items():
        m.add_body(name, mass=0.5, inertia=(5e-4,) * 3, position=(x, y, 0), shape=rtmbs.Sphere(0.05))
        m.add_joint(f"free {name}", rtmbs.Floating(), "ground", name, point=(x, y, 0))
        m.set_initial(f"free {name}", rate=(-1.0 if x > 0 else 0.0, 0, 0, 0, 0, 0), pin=False)
    m.add_contacts("first", ["a0", "a1"], stiffness=1e4)
    m.add_contacts("second", ["c0", "c1", "c2"], stiffness=1e4, most=1)
    sim, kept = rtmbs.Simulation(m.compile(), h=2e-3, method=rtmbs.TRBDF2()), []

    def approach() -> None:
        for _ in range(100):
            kept.append(sim.state.copy())
            sim.step()

    with pytest.raises(StepError, match="contacts 'second': more than 1 pairs are near"):
        approach()
    assert len(kept) > 1
    for name in ("z", "u", "s", "sd"):
        assert np.array_equal(getattr(sim.state, name), getattr(kept[-1], name))


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_uneven_balls_on_a_skew_plane_move_as_by_an_own_law(seed):
    """Points with N = k d^e (1 + c d'), without friction, by SciPy: the error is of order two in h."""
    rng, count, (k, e, c), gravity = np.random.default_rng(seed), 5, (1e5, 1.5, 0.4), np.array((0.7, -0.4, -9.0))
    mass, radius = 10.0 ** rng.uniform(-1.0, 0.5, count), rng.uniform(0.03, 0.08, count)
    normal = np.array((0.2, -0.1, 1.0)) / np.linalg.norm((0.2, -0.1, 1.0))
    place = np.cumsum(np.array([(0.02, 0.01, 0.17)] * count), axis=0) + 0.01 * rng.normal(size=(count, 3))
    speed = rng.normal(size=(count, 3)) * 0.3 - (0, 0, 1.5)

    def push(gap, away):
        return k * max(-gap, 0.0) ** e * max(1.0 - c * away, 0.0)

    def rate(t, y):
        x, v = y.reshape(2, count, 3)
        a = np.tile(gravity, (count, 1))
        for i in range(count):
            a[i] += push(x[i] @ normal - radius[i], v[i] @ normal) / mass[i] * normal
            for j in range(i):
                d = x[j] - x[i]
                n = d / np.linalg.norm(d)
                force = push(np.linalg.norm(d) - radius[i] - radius[j], (v[j] - v[i]) @ n) * n
                a[j] += force / mass[j]
                a[i] -= force / mass[i]
        return np.concatenate((v.ravel(), a.ravel()))

    end = 0.2
    start = np.concatenate((place.ravel(), speed.ravel()))
    exact = solve_ivp(rate, (0.0, end), start, method="DOP853", rtol=1e-11, atol=1e-12, max_step=1e-3).y[:, -1]
    model = rtmbs.Model("rain", gravity=tuple(gravity))
    members = [("ground", rtmbs.contact.Plane(normal=tuple(normal)))]
    for i in range(count):
        inertia = (0.4 * mass[i] * radius[i] ** 2,) * 3
        model.add_body(f"b{i}", mass=mass[i], inertia=inertia, position=tuple(place[i]), shape=rtmbs.Sphere(radius[i]))
        model.add_joint(f"f{i}", rtmbs.Floating(), "ground", f"b{i}", point=tuple(place[i]))
        model.set_initial(f"f{i}", rate=(*speed[i], 0.0, 0.0, 0.0))
        members.append(f"b{i}")
    model.add_contacts("rain", members, stiffness=k, exponent=e, dissipation=c)
    system, errors = model.compile(), []
    for h in (2e-4, 1e-4, 5e-5):
        sim = rtmbs.Simulation(system, h, method=rtmbs.TRBDF2())
        sim.run(end, record=rtmbs.Every(end))
        found = [sim[f"b{i}.{name}"] for name in ("position", "velocity") for i in range(count)]
        errors.append(float(np.max(np.abs(np.concatenate(found) - exact))))
    assert np.abs(exact[3 * count :] - (start[3 * count :] + np.tile(gravity * end, count))).max() > 0.5  # they met
    assert errors[2] < 2e-4
    assert errors[2] < 0.12 * errors[0]
