"""Random mechanisms with equations of their own: trees, loops, rotors, balls, floating bodies, springs.

``drawn`` builds the model and the reference side by side; only the consistent start is taken from rtmbs.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import rtmbs
from bench.campaigns.own_planar import GROUND, Planar
from bench.campaigns.own_spatial import OneBody, matrix

Array = NDArray[np.float64]
Exact = dict[str, tuple[Array, Array]]  # body: places (k, 3), rotations (k, 3, 3)

KINDS = ("rotor", "chain", "crank_rocker", "slider_crank", "planar", "ball", "floating")
Z = (0.0, 0.0, 1.0)


@dataclass
class Case:
    """A mechanism and its exact motion."""

    kind: str
    model: rtmbs.Model
    exact: Callable[[rtmbs.Simulation, Array, float], Exact]  # from where a Simulation stands, at times, with rtol
    rate: float  # of its fastest part at the start [rad/s]


def drawn(rng: np.random.Generator, kind: str, rate: float, g: float = 9.81) -> Case:
    """Return a random mechanism of a ``kind`` whose driven part starts with ``rate`` [rad/s]."""
    return spatial(rng, kind, rate, g) if kind in ("ball", "floating") else planar(rng, kind, rate, g)


# ---- in the plane ---------------------------------------------------------------------------------------------------


class Both:
    """A planar model and its own equations, built together."""

    def __init__(self, name: str, g: float) -> None:
        self.model = rtmbs.Model(name, gravity=(0.0, -g, 0.0))
        self.own, self.places = Planar(gravity=g), list[Array]()

    def body(self, mass: float, inertia: float, place: Array) -> int:
        k = len(self.places)
        self.model.add_body(f"b{k}", mass=mass, inertia=(inertia, inertia, inertia), position=(place[0], place[1], 0.0))
        self.own.mass.append(mass)
        self.own.inertia.append(inertia)
        self.places.append(place)
        return k

    def name(self, body: int) -> str:
        return "ground" if body == GROUND else f"b{body}"

    def local(self, body: int, point: Array) -> Array:
        return point if body == GROUND else point - self.places[body]

    def pin(self, name: str, a: int, b: int, point: Array, cut: bool = False) -> None:
        self.model.add_joint(name, rtmbs.Revolute(axis=Z), self.name(a), self.name(b), point=(*point, 0.0), cut=cut)
        self.own.pins.append((a, self.local(a, point), b, self.local(b, point)))

    def spring(self, a: int, at: Array, b: int, bt: Array, k: float, c: float, length: float) -> None:
        number = len(self.own.springs)
        for side, body, point in (("a", a, at), ("b", b, bt)):
            self.model.add_marker(f"end_{side}{number}", self.name(body), (*point, 0.0))
        law = rtmbs.SpringDamper(stiffness=k, damping=c, length=length)
        self.model.add_force(f"spring{number}", law, between=(f"end_a{number}", f"end_b{number}"))
        self.own.springs.append((a, self.local(a, at), b, self.local(b, bt), k, c, length))

    def begin(self, sim: rtmbs.Simulation) -> tuple[Array, Array]:
        """Return coordinates and rates of the equations where a Simulation stands."""
        q, v = np.zeros((2, 3 * len(self.places)))
        for k in range(len(self.places)):
            name = f"b{k}"
            turn = sim[f"{name}.orientation"]
            q[3 * k : 3 * k + 3] = *sim[f"{name}.position"][:2], 2.0 * np.arctan2(turn[3], turn[0])
            v[3 * k : 3 * k + 3] = *sim[f"{name}.velocity"][:2], sim[f"{name}.angular_velocity"][2]
        return q, v

    def motion(self, sim: rtmbs.Simulation, times: Array, rtol: float, longest: float) -> dict[str, Array]:
        """Return the channels of places, velocities and accelerations (k, 3) at ``times``."""
        found = self.own.motion(*self.begin(sim), times, rtol, longest)
        seconds = np.array([self.own.acceleration(float(t), *one) for t, one in zip(times, found, strict=True)])
        out = {}
        for k in range(len(self.places)):
            for name, values in (("position", found[:, 0]), ("velocity", found[:, 1]), ("acceleration", seconds)):
                out[f"b{k}.{name}"] = np.column_stack((values[:, 3 * k : 3 * k + 2], np.zeros(len(times))))
        return out

    def pulls(self, sim: rtmbs.Simulation, times: Array, rtol: float) -> Array:
        """Return the forces (k, pins, 2) of every pin on its body b at ``times``."""
        found = self.own.motion(*self.begin(sim), times, rtol)
        pulls = [self.own.solution(float(t), *one)[1] for t, one in zip(times, found, strict=True)]
        return np.array(pulls)[:, : 2 * len(self.own.pins)].reshape(len(times), -1, 2)

    def exact(self, sim: rtmbs.Simulation, times: Array, rtol: float) -> Exact:
        """Return places and rotations at ``times``."""
        found = self.own.motion(*self.begin(sim), times, rtol)[:, 0]
        out = {}
        for k in range(len(self.places)):
            x, y, phi = found[:, 3 * k : 3 * k + 3].T
            o, i, c, s = np.zeros_like(x), np.ones_like(x), np.cos(phi), np.sin(phi)
            R = np.array([[c, -s, o], [s, c, o], [o, o, i]]).transpose(2, 0, 1)
            out[f"b{k}"] = np.array([x, y, o]).T, R
        return out


def planar(rng: np.random.Generator, kind: str, rate: float, g: float) -> Case:
    """Return a random planar mechanism."""
    both = planar_model(rng, kind, rate, g)
    return Case(kind, both.model, both.exact, rate)


def planar_model(rng: np.random.Generator, kind: str, rate: float, g: float) -> Both:
    """Return a random planar mechanism; masses, lengths, eccentricities and a spring are drawn."""
    both = Both(kind, g)
    {"rotor": chain, "chain": chain, "crank_rocker": four_bar, "slider_crank": slider, "planar": plate}[kind](
        both, rng, rate, kind
    )
    if rng.random() < 0.5:
        last = len(both.places) - 1
        at = both.places[last] + rng.uniform(-0.3, 0.3, 2)
        ground = both.places[last] + rng.uniform(0.5, 1.5) * direction(rng)
        stiff = both.own.mass[last] * (rate * 10.0 ** rng.uniform(-2.0, -0.3)) ** 2
        damping = float(rng.uniform(0.0, 0.1)) * np.sqrt(stiff * both.own.mass[last])
        both.spring(GROUND, ground, last, at, stiff, damping, float(rng.uniform(0.2, 1.5)))
    return both


def direction(rng: np.random.Generator) -> Array:
    """Return a random unit vector in the plane."""
    angle = rng.uniform(0.0, 2.0 * np.pi)
    return np.array([np.cos(angle), np.sin(angle)])


def mass_of(rng: np.random.Generator) -> tuple[float, float]:
    """Return a mass [kg] and an inertia [kg m^2] of it."""
    mass = float(10.0 ** rng.uniform(-1.0, 1.0))
    return mass, mass * float(rng.uniform(0.02, 0.3))


def chain(both: Both, rng: np.random.Generator, rate: float, kind: str) -> None:
    """Add one body on a pin, or two or three in a row, mass centres off the line of pins."""
    end, before = np.zeros(2), GROUND
    for k in range(1 if kind == "rotor" else int(rng.integers(2, 4))):
        along = direction(rng)
        body = both.body(*mass_of(rng), end + 0.5 * along + rng.uniform(-0.3, 0.3, 2))
        both.pin(f"j{k}", before, body, end)
        turning = rate if k == 0 else rate * float(rng.uniform(-1.0, 1.0))
        both.model.set_initial(f"j{k}", rate=turning)
        before, end = body, end + along


def four_bar(both: Both, rng: np.random.Generator, rate: float, kind: str) -> None:
    """Add a crank that can turn all the way round, a coupler and a rocker."""
    crank, ground = float(rng.uniform(0.2, 0.35)), float(rng.uniform(0.9, 1.1))
    coupler, rocker = float(rng.uniform(0.9, 1.1)), float(rng.uniform(0.75, 0.95))
    angle = float(rng.uniform(0.0, 2.0 * np.pi))
    a, o = crank * np.array([np.cos(angle), np.sin(angle)]), np.array([ground, 0.0])
    d = np.linalg.norm(o - a)
    x = (coupler**2 - rocker**2 + d * d) / (2.0 * d)
    along = (o - a) / d
    b = a + x * along + np.sqrt(coupler**2 - x * x) * np.array([-along[1], along[0]])
    ends = [(np.zeros(2), a), (a, b), (b, o)]
    bodies = [both.body(*mass_of(rng), 0.5 * (p + q) + rng.uniform(-0.1, 0.1, 2)) for p, q in ends]
    both.pin("j0", GROUND, bodies[0], np.zeros(2))
    both.pin("j1", bodies[0], bodies[1], a)
    both.pin("j2", bodies[1], bodies[2], b)
    both.pin("j3", GROUND, bodies[2], o, cut=True)
    both.model.set_initial("j0", rate=rate)


def slider(both: Both, rng: np.random.Generator, rate: float, kind: str) -> None:
    """Add a crank, a rod and a slider on ground."""
    crank, rod, angle = float(rng.uniform(0.2, 0.4)), float(rng.uniform(0.8, 1.2)), float(rng.uniform(0.0, 2.0 * np.pi))
    a = crank * np.array([np.cos(angle), np.sin(angle)])
    b = np.array([a[0] + np.sqrt(rod**2 - a[1] ** 2), 0.0])
    one, two = (both.body(*mass_of(rng), 0.5 * (p + q) + rng.uniform(-0.1, 0.1, 2)) for p, q in (
        (np.zeros(2), a), (a, b)))  # fmt: skip
    three = both.body(*mass_of(rng), b)
    both.pin("j0", GROUND, one, np.zeros(2))
    both.pin("j1", one, two, a)
    both.pin("j2", two, three, b, cut=True)
    both.model.add_joint("rail", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", f"b{three}", point=(*b, 0.0))
    both.own.rails.append(three)
    both.model.set_initial("j0", rate=rate)


def plate(both: Both, rng: np.random.Generator, rate: float, kind: str) -> None:
    """Add a body that moves freely in the plane."""
    body = both.body(*mass_of(rng), rng.uniform(-0.5, 0.5, 2))
    both.model.add_joint("j0", rtmbs.Planar(normal=Z), "ground", f"b{body}", point=(*both.places[body], 0.0))
    both.model.set_initial("j0", rate=(0.0, 0.0, rate))
    ground = both.places[body] + direction(rng)
    both.spring(GROUND, ground, body, both.places[body] + 0.3 * direction(rng), both.own.mass[body] * (
        0.2 * rate) ** 2, 0.0, 0.8)  # fmt: skip


# ---- in space -------------------------------------------------------------------------------------------------------


def spatial(rng: np.random.Generator, kind: str, rate: float, g: float) -> Case:
    """Return one body on a ball joint at the origin, or free."""
    mass = float(10.0 ** rng.uniform(-1.0, 1.0))
    inertia = mass * rng.uniform(0.06, 0.11, 3)  # of a real body: the sum of two exceeds the third
    place = rng.uniform(-0.4, 0.4, 3)
    own = OneBody(mass, inertia, -place if kind == "ball" else None, None, g)
    model = rtmbs.Model(kind, gravity=(0.0, 0.0, -g))
    model.add_body("b0", mass=mass, inertia=tuple(inertia), position=tuple(place))
    ball = kind == "ball"
    joint = rtmbs.Spherical() if ball else rtmbs.Floating()
    model.add_joint("j0", joint, "ground", "b0", point=(0.0, 0.0, 0.0) if ball else tuple(place))
    spin = rng.normal(size=3)
    spin *= rate / np.linalg.norm(spin)
    model.set_initial("j0", rate=tuple(spin) if ball else (0.0, 0.0, 0.0, *spin))
    if rng.random() < 0.6:
        local, far = rng.uniform(-0.3, 0.3, 3), rng.normal(size=3)
        ground = place + far / np.linalg.norm(far)
        k, length = mass * (rate * 10.0 ** rng.uniform(-2.0, -0.3)) ** 2, float(rng.uniform(0.3, 1.2))
        model.add_marker("a", "ground", tuple(ground))
        model.add_marker("b", "b0", tuple(place + local))
        model.add_force("spring", rtmbs.SpringDamper(stiffness=k, damping=0.0, length=length), between=("a", "b"))
        own.spring = (local, ground, k, length)

    def exact(sim: rtmbs.Simulation, times: Array, rtol: float) -> Exact:
        q = np.asarray(sim["b0.orientation"])
        w = matrix(q).T @ sim["b0.angular_velocity"]
        r, R = own.motion(q, w, np.asarray(sim["b0.position"]), np.asarray(sim["b0.velocity"]), times, rtol)
        return {"b0": (r, R)}

    return Case(kind, model, exact, rate)


def error_of(result: rtmbs.Result, exact: Exact, length: float, last: slice = slice(None)) -> float:
    """Return the largest error of places [length] and rotations [rad] at the ``last`` samples of a result."""
    worst = 0.0
    for name, (r, R) in exact.items():
        worst = max(worst, float(np.abs(result[f"{name}.position"][last] - r).max()) / length)
        own = np.array([matrix(q) for q in result[f"{name}.orientation"][last]])
        worst = max(worst, float(np.linalg.norm(own - R, axis=(1, 2)).max()) / np.sqrt(2.0))
    return worst
