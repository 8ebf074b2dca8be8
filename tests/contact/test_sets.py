"""Contact sets for users: what is refused, what a full set does, and a heap that comes to rest."""

import numpy as np
import pytest

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


def test_sources_of_derivatives_know_where_the_bristles_of_sets_stand():
    """They stand before the rotations among the parameters of the force; five pairs have 15 of them."""
    sim = rtmbs.Simulation(heap(1, most=5).compile(), h=2e-3, method=rtmbs.TRBDF2(), jacobian="central-difference")
    assert sim.step().outcome.accepted
