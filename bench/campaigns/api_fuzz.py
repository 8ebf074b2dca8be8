"""Random sequences of calls of the Model API with any Python value in any argument: only documented errors come out."""

import traceback
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

import rtmbs
from bench.campaigns.campaign import Campaign, Tally
from rtmbs import Simulation
from rtmbs.simulation.options import by_name

LONGEST = 8  # calls of a sequence
MOST_STEPS = 20_000  # of one run
NAMES = ("a", "b", "c", "j", "k", "m", "n", "f", "ground", "world", "", " ", "all")


class Odd:
    """Answers everything wrongly."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")

    def __array__(self, *arguments: Any, **more: Any) -> Any:
        raise KeyError("no array")

    def __eq__(self, other: object) -> Any:
        raise ValueError("no comparison")

    __hash__ = None  # type: ignore[assignment]


def constants() -> list[Any]:
    """Values of every kind that a hand may put into an argument."""
    return [
        None, True, False, 0, 1, -1, 2.0, 0.5, 1e-200, 1e99, 1e200, float("nan"), float("inf"), 10**400, 10**5000, 1j,
        "", "5", "nan", "\ud800", "a\0b", "a\nb", b"a", (), [], {}, set(), frozenset(), {1, 2}, {"x": 1.0},
        [[1.0], [1, 2]],
        (1.0, 0.0, 0.0), (0, 1, 0), (0.6, 0.0, 0.8), [0.0, 0.0, 0.0], (1, 0, 0, 0), (1, 2), (1.0, None, 2.0),
        np.zeros(3), np.ones((3, 3)), np.eye(3), np.zeros(0), np.array(1.0), np.array([{}, 1, 2]),
        np.array(["1", "2", "3"]),
        np.array(["2020-01-01"], "M8[D]"), np.float32(2), np.int64(3), Fraction(1, 3), range(3), object(), Odd(),
        int, len,
        rtmbs.Revolute, rtmbs.Motor, Ellipsis, iter([1]), slice(3), memoryview(b"abc"), lambda: 0, lambda t: t,
        lambda t: (t, 1.0, 0.0), lambda t, k, p: 0.0, lambda t, k, p: np.zeros(6), lambda t, k, p: None, lambda *a: "x",
        lambda *a: 1 / 0, lambda *a: 10**400, lambda *a: Odd(),
    ]  # fmt: skip


VALUES = st.one_of(
    st.sampled_from(range(len(constants()))).map(lambda place: constants()[place]),
    st.sampled_from(NAMES),
    st.floats(width=64),
    st.integers(),
    st.text(max_size=4),
    st.lists(st.one_of(st.floats(width=32), st.none(), st.text(max_size=2)), max_size=4),
    st.recursive(st.integers(-2, 2), lambda inner: st.one_of(st.tuples(inner, inner), st.lists(inner, max_size=3))),
)


def kinds(value: Any, draw: Any) -> Any:
    """Return ``value`` where a type or a law is wanted, or a type or law of odd numbers; None for a refused one."""
    made = draw(
        st.sampled_from(
            ("value", "Revolute", "Prismatic", "Universal", "Spherical", "Floating", "SpringDamper", "TorsionSpring",
             "Motor", "Wrench", "Input", "Sine", "Spline", "Function", "ConstantRate", "SmoothStep")
        )
    )  # fmt: skip
    other = draw(VALUES)
    makers = {
        "value": lambda: value, "Revolute": lambda: rtmbs.Revolute(value), "Prismatic": lambda: rtmbs.Prismatic(value),
        "Universal": lambda: rtmbs.Universal(value, other), "Spherical": rtmbs.Spherical, "Floating": rtmbs.Floating,
        "SpringDamper": lambda: rtmbs.SpringDamper(value, other),
        "TorsionSpring": lambda: rtmbs.TorsionSpring(value, other),
        "Motor": lambda: rtmbs.Motor(value), "Wrench": lambda: rtmbs.Wrench(value, other),
        "Input": lambda: rtmbs.Motor(rtmbs.Input(value)), "Sine": lambda: rtmbs.Sine(value, other),
        "Spline": lambda: rtmbs.Spline(value, other), "Function": lambda: rtmbs.Function(value, other, value),
        "ConstantRate": lambda: rtmbs.ConstantRate(value, other),
        "SmoothStep": lambda: rtmbs.SmoothStep(value, other, 0, 1),
    }  # fmt: skip
    return attempt(makers[made], (), {})


LOOKS = ("shape", "color", "opacity", "edges")
CALLS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "add_body": (("name",), ("mass", "inertia", "center_of_mass", "position", "orientation", *LOOKS)),
    "set_looks": (("ref",), LOOKS),
    "add_joint": (("name", "kind", "ref", "ref"), ("point", "point_a", "point_b", "frame", "cut", "closure")),
    "add_marker": (("name", "ref"), ("point", "frame", "axes")),
    "add_rod": (("name", "pair"), ("length",)),
    "add_force": (("name", "kind"), ("between", "joint", "joints", "body", "point", "parameters", "trace")),
    "add_driver": (("name", "kind"), ("joint", "between")),
    "set_initial": (("ref",), ("position", "rate", "pin", "weight")),
}
SIMULATION = (
    "h", "penalty", "alpha", "tol", "jacobian", "tangent_terms", "max_iterations", "fixed_iterations", "refactor",
    "projection_metric", "project_velocities", "project_accelerations", "hold_energy", "assembly_offset",
    "method", "fused", "threads",
)  # fmt: skip


def sound() -> rtmbs.Model:
    """A model that random calls add to."""
    model = rtmbs.Model("fuzz")
    for name, place in (("a", 0.0), ("b", 1.0)):
        model.add_body(
            name, mass=1.0, inertia=(1.0, 1.0, 1.0), position=(0.0, 0.0, place), center_of_mass=(0.1, 0.2, 0.3)
        )
    model.add_joint("j", rtmbs.Revolute((1.0, 0.0, 0.0)), "ground", "a")
    model.add_joint("k", rtmbs.Cylindrical((0.0, 1.0, 0.0)), "a", "b", point=(0.0, 0.0, 1.0))
    model.add_marker("m", "b", point=(0.0, 0.0, 2.0))
    model.add_marker("n", "ground", point=(1.0, 0.0, 2.0))
    return model


def shape(value: Any, draw: Any) -> Any:
    """Return a shape with odd numbers, with or without a call of its mass; None for a refused one."""
    makers = (rtmbs.Box, rtmbs.Cylinder, rtmbs.Sphere, rtmbs.Bar, rtmbs.Surface, rtmbs.Mesh)
    size = {rtmbs.Box: 1, rtmbs.Sphere: 1, rtmbs.Mesh: 1, rtmbs.Bar: 3}
    maker = draw(st.sampled_from(makers))
    made = attempt(maker, [value, *(draw(VALUES) for _ in range(size.get(maker, 2) - 1))], {})
    if made is not None:
        attempt(made.inertia, (draw(VALUES),), {})
    return made


def argument(kind: str, draw: Any) -> Any:
    """Return a value for one argument, odd more often than not."""
    value = draw(VALUES)
    if kind == "kind":
        return kinds(value, draw)
    if kind == "shape" and draw(st.booleans()):
        return shape(value, draw)
    if kind in ("name", "ref", "joint", "body", "frame") and draw(st.booleans()):
        return draw(st.sampled_from(NAMES))
    if kind in ("pair", "between") and draw(st.booleans()):
        return ("m", "n")
    return value


def play(draw: Any) -> None:
    """Take one sequence: calls of a Model, compile, a Simulation, steps, files; documented errors end a call."""
    model = sound() if draw(st.booleans()) else attempt(rtmbs.Model, (draw(VALUES),), {}) or sound()
    for _ in range(draw(st.integers(1, LONGEST))):
        name = draw(st.sampled_from(sorted(CALLS)))
        places, keys = CALLS[name]
        chosen = draw(st.sets(st.sampled_from(keys), max_size=3)) | ({"mass"} if name == "add_body" else set())
        attempt(
            getattr(model, name),
            [argument(kind, draw) for kind in places],
            {key: argument(key, draw) for key in sorted(chosen)},
        )
    system = attempt(model.compile, (), {}) or sound().compile()
    options = {key: draw(VALUES) for key in sorted(draw(st.sets(st.sampled_from(SIMULATION), max_size=1)))}
    sim = attempt(lambda made, **chosen: Simulation(made, **by_name(**chosen)), (system,), options)
    if sim is None:
        return
    attempt(sim.inputs.__setitem__, (draw(st.sampled_from(sorted(sim.inputs))), draw(VALUES)), {})
    attempt(sim.change, (), {draw(st.sampled_from(SIMULATION)): draw(VALUES)})
    attempt(setattr, (sim, "h", draw(VALUES)), {})
    t_end = draw(VALUES)
    if not long(sim, t_end):
        attempt(sim.run, (t_end,), {"record": rtmbs.Every(1e6)} if draw(st.booleans()) else {"progress": draw(VALUES)})
    attempt(sim.attach, (draw(VALUES), draw(VALUES), draw(VALUES)), {})
    attempt(sim.reaction, (draw(VALUES),), {})
    state = sim.state.copy()
    setattr(state, draw(st.sampled_from(state.__slots__)), draw(VALUES))
    attempt(sim.restore, (state,), {})
    attempt(state.save, ("/dev/null",), {})


def long(sim: Simulation, t_end: Any) -> bool:
    """True for a run that would take more steps than a campaign has time for: it is no error to ask for it."""
    return isinstance(t_end, int | float) and MOST_STEPS * sim.h < t_end < np.inf


DOCUMENTED = (rtmbs.RtmbsError,)


def attempt(call: Any, arguments: Any, named: Any) -> Any:
    """Call, and return None when a documented error comes out."""
    try:
        return call(*arguments, **named)
    except DOCUMENTED:
        return None


def run(cases: int, seed: int) -> Tally:
    """Try ``cases`` sequences from ``seed`` on."""
    tally = Tally()

    @seeded(seed)
    @settings(
        max_examples=cases, deadline=None, database=None, phases=[Phase.generate], derandomize=False,
        suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
    )  # fmt: skip
    @given(st.data())
    def tried(data: Any) -> None:
        if tally.tried >= cases:
            return
        try:
            play(data.draw)
        except Exception as error:  # any error of no documented kind is what is looked for
            if type(error).__module__.startswith("hypothesis"):
                raise
            place = traceback.extract_tb(error.__traceback__)[-1]
            tally.fail(f"case {tally.tried}: {type(error).__name__}: {error}, {place.filename}:{place.lineno}")
        else:
            tally.survive()

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        while tally.tried < cases:
            tried()
    return tally


CAMPAIGN = Campaign(
    name="api_fuzz",
    claim="any Python value in any argument of the Model and of a Simulation raises documented errors only",
    full=5_000,
    bounded=300,
    run=run,
)
