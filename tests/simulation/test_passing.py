"""Bodies that pass through each other within a step are told of; those that only meet, or fly by, are not."""

import warnings

import pytest

import rtmbs
from rtmbs.contact import Profile
from rtmbs.errors import StepError

H, SENTENCE = 1e-3, "its bodies pass through each other within the step"
BALL = rtmbs.Sphere(0.05)
PLATE = rtmbs.Box((0.01, 1.0, 1.0))
BARS = rtmbs.Bar((0, 0, -0.5), (0, 0, 0.5), 0.02), rtmbs.Bar((0, -0.5, 0), (0, 0.5, 0), 0.02)
SQUARE = Profile([(-0.05, -0.05), (0.05, -0.05), (0.05, 0.05), (-0.05, 0.05)])


def flight(first: object, second: object, speed: float, aside: float = 0.0, h: float = H) -> rtmbs.Simulation:
    """Return a Simulation of a shape that flies towards another one, whose body is free as well."""
    model = rtmbs.Model("flight", gravity=(0, 0, 0))
    for name, place in (("a", (0.0, 0.0, 0.0)), ("b", (0.5, aside, 0.0))):
        model.add_body(name, mass=1.0, inertia=(1e-3, 1e-3, 1e-3), position=place)
        model.add_joint(f"f{name}", rtmbs.Floating(), "ground", name, point=place)
    model.set_initial("fb", rate=(-speed, 0, 0, 0, 0, 0))
    model.add_contact("c", ("a", first), ("b", second), stiffness=1e6)
    return rtmbs.Simulation(model.compile(), h, method=rtmbs.TRBDF2())


def told(sim: rtmbs.Simulation, end: float, by_hand: bool = False) -> list[str]:
    """Return the warnings of a run that speak of passing."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if by_hand:
            for _ in range(round(end / sim.state.h)):
                sim.step()
        else:
            sim.run(end, record=rtmbs.Every(end))
    return [str(one.message) for one in caught if SENTENCE in str(one.message)]


@pytest.mark.parametrize("by_hand", [False, True])
@pytest.mark.parametrize(("first", "second"), [(BALL, BALL), (PLATE, BALL), BARS, (SQUARE, BALL)])
def test_shapes_that_pass_in_a_step_are_told_of_once(first: object, second: object, by_hand: bool) -> None:
    found = told(flight(first, second, 170.0), 0.02, by_hand)
    assert len(found) == 1
    assert found[0].startswith(
        "contact 'c': its bodies pass through each other within the step of h = 0.001 s from t = "
    )


@pytest.mark.parametrize(("first", "second"), [(BALL, BALL), (PLATE, BALL), (SQUARE, BALL)])
def test_shapes_that_bounce_or_fly_by_are_not(first: object, second: object) -> None:
    sim = flight(first, second, 30.0)
    assert told(sim, 0.1) == []
    assert sim["b.velocity"][0] > -0.1  # it bounced
    assert told(flight(first, second, 170.0, aside=0.8), 0.02) == []


def test_an_arm_that_turns_with_a_long_slide_passes() -> None:
    """The way of its tip is that of the turn times the slide."""
    for h, wanted in ((1e-3, 1), (1e-4, 0)):
        model = rtmbs.Model("arm", gravity=(0, 0, 0))
        model.add_body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1))
        model.add_body("tip", mass=1.0, inertia=(1e-3, 1e-3, 1e-3), position=(0.2, 0, 0), shape=BALL)
        model.add_joint("turn", rtmbs.Revolute(axis=(0, 0, 1)), "ground", "arm", point=(0, 0, 0))
        model.add_joint("out", rtmbs.Prismatic(axis=(1, 0, 0)), "arm", "tip")
        model.add_driver("held", lambda t: (1.3, 0.0, 0.0), joint="out")
        model.set_initial("turn", rate=150.0)
        model.add_contact("c", "tip", ("ground", rtmbs.Sphere(0.05, center=(-1.5, 0, 0))), stiffness=1e5)
        sim = rtmbs.Simulation(model.compile(), h, method=rtmbs.TRBDF2())
        assert len(told(sim, 0.03)) == wanted


def test_convex_shapes_that_went_through_each_other_fail_the_step() -> None:
    sim = flight(PLATE, rtmbs.Box((0.01, 0.5, 0.5)), 170.0)
    with pytest.raises(StepError, match="went through each other in the step to"):
        sim.run(0.02)
