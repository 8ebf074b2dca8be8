"""Driven mechanisms beside their singular poses, against closed forms: one branch, whatever the interval.

A mechanism comes near a pose at which two of its branches meet, or through it, or is out of reach there. Lengths differ
by ``eps`` of those of the singular mechanism. Kinds: slider-cranks, one or two on a crank; four-bars near change
points, parallelograms and antiparallelograms among them; RSSP and RSSR on skew axes. Units, starts and intervals are
random.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.spatial.transform import Rotation

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from rtmbs.kinematics import Analysis, MotionError
from rtmbs.kinematics.design import FourBar
from rtmbs.model import ConstantRate, Prismatic, Revolute, Sine

Array = NDArray[np.float64]

EXACT = 0.0  # eps of a mechanism that passes singular poses
LIMIT = 1e-6  # of its size: largest error of a position, and of an angle [rad]
UNDECIDED = 3e-8  # eps up to which either branch is right, if the report says so
LOOPS = ([3.0, 2.0, 4.0, 3.0], [5.0, 3.0, 6.0, 4.0], [4.0, 2.0, 4.0, 2.0], [5.0, 2.0, 4.0, 3.0], [7.0, 3.0, 3.0, 7.0])
TURNS = 1.3  # of the crank


class Case(NamedTuple):
    """A mechanism and its motion."""

    what: str
    eps: float
    model: rtmbs.Model
    channel: str
    reference: Callable[[Array], Array]  # of the channel by times; it wraps where it is an angle
    size: float  # of a position [m], 1 for an angle
    angle: bool


class Drive(NamedTuple):
    """The angle of a crank over time."""

    start: float  # [rad]
    rate: float  # [rad/s]
    swing: float  # amplitude [rad] of a crank that swings; 0 for one that turns

    @property
    def profile(self) -> object:
        """Profile of the driver: the change of the angle."""
        return Sine(self.swing, self.rate / self.swing) if self.swing else ConstantRate(self.rate)

    def __call__(self, t: Array) -> Array:
        """Return the angle."""
        turned = self.swing * np.sin(self.rate / self.swing * t) if self.swing else self.rate * t
        return np.asarray(self.start + turned)


def slider_cranks(rng: np.random.Generator, eps: float, unit: float) -> Case:
    """Return a crank of length 1 with one slider, or two that meet their singular poses together."""
    drive, l = driven(rng), 1.0 + eps
    count, side = int(rng.integers(1, 3)), float(rng.choice([1.0, -1.0]))
    tilt = Rotation.random(random_state=int(rng.integers(1 << 30)))
    model = rtmbs.Model("slider-cranks", gravity=(0.0, 0.0, 0.0))
    point = lambda x, y: tilt.apply([x * unit, y * unit, 0.0])  # noqa: E731
    z = tuple(tilt.apply([0.0, 0.0, 1.0]))
    a = drive.start
    model.add_body("crank", mass=0.0, position=point(0.0, 0.0))
    model.add_joint("A", Revolute(axis=z), "ground", "crank", point=point(0.0, 0.0))

    def slider(angle: Array, side: float) -> Array:
        off = np.sqrt((l - np.sin(angle)) * (l + np.sin(angle)))
        return np.cos(angle) + side * (off if eps else np.cos(angle) * np.sign(np.cos(a)))

    for k in range(count):
        x = float(slider(np.array(a), side if k == 0 else -side))
        model.add_body(f"rod{k}", mass=0.0, position=point(np.cos(a), np.sin(a)))
        model.add_body(f"slider{k}", mass=0.0, position=point(x, 0.0))
        model.add_joint(f"B{k}", Revolute(axis=z), "crank", f"rod{k}", point=point(np.cos(a), np.sin(a)))
        model.add_joint(f"C{k}", Revolute(axis=z), f"rod{k}", f"slider{k}", point=point(x, 0.0))
        rail = Prismatic(axis=tuple(tilt.apply([1.0, 0.0, 0.0])))
        model.add_joint(f"P{k}", rail, "ground", f"slider{k}", point=point(x, 0.0))
    model.add_driver("drive", drive.profile, joint="A")
    x0, what = float(slider(np.array(a), side)), f"{count} slider-cranks"
    return Case(what, eps, model, "P0.displacement", lambda t: unit * (slider(drive(t), side) - x0), unit, False)


def four_bar(rng: np.random.Generator, eps: float, unit: float) -> Case:
    """Return a four-bar whose crank or ground link differs from that of a change point."""
    lengths, drive = np.array(LOOPS[rng.integers(len(LOOPS))]) * unit, driven(rng)._replace(swing=0.0)
    lengths[1] *= 1.0 - eps
    bar = FourBar(*lengths, branch=int(rng.choice([1, -1])))
    model = bar.model(drive.rate, drive.start)
    first = bar.motion(np.array([drive.start])).rocker[0]
    reference = lambda t: bar.motion(drive(t)).rocker - first  # noqa: E731
    return Case(f"four-bar {np.round(lengths / unit, 6)}", eps, model, "D.angle", reference, 1.0, True)


class Spatial(NamedTuple):
    """An RSSP or an RSSR on skew axes, of a crank of length 1 about the origin.

    The pin of the crank stands at P(theta), and d = P - o in the axes of the last body. A slider stands at o + x e with
    x = d_e + side sqrt(l^2 - d_n^2 - d_z^2). The pin of a rocker stands at o + r (cos u e + sin u n), where
    |d|^2 + r^2 - l^2 = 2 r (d_e cos u + d_n sin u), so that u = atan2(d_n, d_e) + side arccos(...).
    """

    crank: Array  # (3, 3) axes, the third is that of its joint
    frame: Array  # (3, 3) axes e, n, z of the last body
    o: Array  # (3,) a point of the slider's line, or on the rocker's axis
    r: float  # of the rocker, 0 for a slider
    side: float

    def pin(self, angle: Array) -> Array:
        """Return the pin of the crank (..., 3)."""
        return np.asarray(
            np.multiply.outer(np.cos(angle), self.crank[0]) + np.multiply.outer(np.sin(angle), self.crank[1])
        )

    def asked(self, angle: Array) -> Array:
        """Return the least rod that reaches."""
        d = (self.pin(angle) - self.o) @ self.frame.T
        if not self.r:
            return np.asarray(np.hypot(d[..., 1], d[..., 2]))
        return np.asarray(np.hypot(d[..., 2], np.hypot(d[..., 0], d[..., 1]) - self.r))

    def answer(self, angle: Array, l: float) -> Array:
        """Return the place of the slider or the angle of the rocker with a rod of length l; nan out of reach."""
        d = (self.pin(angle) - self.o) @ self.frame.T
        with np.errstate(invalid="ignore"):
            if not self.r:
                return np.asarray(d[..., 0] + self.side * np.sqrt(l * l - d[..., 1] ** 2 - d[..., 2] ** 2))
            flat = np.hypot(d[..., 0], d[..., 1])
            share = (np.sum(d * d, axis=-1) + self.r**2 - l * l) / (2.0 * self.r * flat)
            return np.asarray(np.arctan2(d[..., 1], d[..., 0]) + self.side * np.arccos(share))


def spatial(rng: np.random.Generator, eps: float, unit: float) -> Case:
    """Return an RSSP or an RSSR whose rod is eps longer than what the farthest pose asks for."""
    angles = np.linspace(0.0, 2.0 * np.pi, 2001)
    while True:
        drive = driven(rng)
        crank, frame = (Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix() for _ in range(2))
        o, r, rocks = rng.normal(size=3) * 0.6, float(rng.uniform(1.2, 2.0)), bool(rng.random() < 0.5)
        one = Spatial(crank, frame, o, r if rocks else 0.0, float(rng.choice([1.0, -1.0])))
        best = angles[np.argmax(one.asked(angles))]
        l = farthest(one, best) * (1.0 + eps)
        if eps > 0.0 and not np.all(np.isfinite(one.answer(angles, l))):
            continue  # the rod is too long for another pose
        start = np.array(drive.start)
        if abs(np.angle(np.exp(1j * (start - best)))) > 0.2 and np.isfinite(one.answer(start, l)):
            break
    first = float(one.answer(start, l))
    model = spatial_model(one, drive, first, unit, spins=bool(rng.random() < 0.5))
    what, channel, size = ("RSSR", "D.angle", 1.0) if rocks else ("RSSP", "D.displacement", unit)
    return Case(what, eps, model, channel, lambda t: size * (one.answer(drive(t), l) - first), size, rocks)


def farthest(one: Spatial, best: float) -> float:
    """Return the rod that the farthest pose near a crank angle asks for."""
    found = minimize_scalar(
        lambda u: -float(one.asked(np.array(u))), bounds=(best - 0.01, best + 0.01), method="bounded",
        options={"xatol": 1e-13},
    )  # fmt: skip
    return -float(found.fun)


def spatial_model(one: Spatial, drive: Drive, first: float, unit: float, spins: bool) -> rtmbs.Model:
    """Return the Model; its rod is a body that spins about itself, or a distance."""
    model = rtmbs.Model("spatial", gravity=(0.0, 0.0, 0.0))
    e, n, z = one.frame
    pin, end = one.pin(np.array(drive.start)) * unit, one.o + first * e
    if one.r:
        end = one.o + one.r * (np.cos(first) * e + np.sin(first) * n)
    model.add_body("crank", mass=0.0, position=pin)
    model.add_body("last", mass=0.0, position=unit * end)
    model.add_joint("A", Revolute(axis=tuple(one.crank[2])), "ground", "crank", point=(0.0, 0.0, 0.0))
    kind = Revolute(axis=tuple(z)) if one.r else Prismatic(axis=tuple(e))
    model.add_joint("D", kind, "ground", "last", point=tuple(unit * one.o))
    if spins:
        model.add_body("rod", mass=0.0, position=pin)
        model.add_joint("B", rtmbs.Spherical(), "crank", "rod", point=pin)
        model.add_joint("C", rtmbs.Spherical(), "rod", "last", point=unit * end)
    else:
        model.add_marker("p", "crank", point=pin)
        model.add_marker("s", "last", point=unit * end)
        model.add_rod("rod", ("p", "s"))
    model.add_driver("drive", drive.profile, joint="A")
    return model


def driven(rng: np.random.Generator) -> Drive:
    """Return a crank that turns, or swings by more than half a turn; it does not begin near a singular pose."""
    quarter = 0.5 * np.pi * rng.integers(4)
    start = float(quarter + rng.uniform(0.15, 1.4))
    rate = 2.0 * np.pi * float(rng.choice([1.0, -1.0]))
    return Drive(start, rate, 0.0 if rng.random() < 0.7 else float(rng.uniform(2.0, 4.0)))


def drawn(rng: np.random.Generator) -> Case:
    """Return the mechanism of a seed."""
    unit, share = 10.0 ** rng.uniform(-6.0, 3.0), rng.random()
    kind = (slider_cranks, four_bar, spatial)[rng.integers(3)]
    if kind is not spatial and share < 0.15:
        return kind(rng, EXACT, unit)
    eps = 10.0 ** rng.uniform(-7.0, -2.0)
    if kind is not four_bar and share < 0.3:
        eps = -max(eps, 3e-6)
    return kind(rng, eps, unit)


def judged(seed: int, tally: Tally) -> str:
    """Return what is wrong with the motion of one mechanism."""
    rng = np.random.default_rng((seed, 34))
    case = drawn(rng)
    t = float(rng.uniform(0.003, 0.03)) * np.arange(1000)
    t = t[t <= TURNS]
    told = f"{case.what}, eps {case.eps:.2g}, interval {t[1]:.4g} s"
    with np.errstate(invalid="ignore"):
        wanted = case.reference(t)
    if case.eps < 0.0:
        wanted = None if lost(case, t) else wanted
    try:
        motion = Analysis(case.model).run_at(t)
    except MotionError as error:
        return "" if wanted is None else f"{told}: {error}"
    if wanted is None:
        return f"{told}: the motion goes on where no pose is"
    apart = motion[case.channel] - wanted
    if case.angle:
        apart = np.angle(np.exp(1j * apart))
    error = float(np.max(np.abs(apart))) / case.size
    report = motion.report
    if case.eps == EXACT and not (report.singular or report.notes):
        return f"{told}: a singular pose is not in the report"
    if error > LIMIT and abs(case.eps) <= UNDECIDED and report.singular:
        return ""
    if case.eps > UNDECIDED and report.singular:
        return f"{told}: {report.singular[0]}, but there is none"
    tally.largest("error, in sizes or rad", error)
    return "" if error <= LIMIT else f"{told}: off by {error:.1e}"


def lost(case: Case, t: Array) -> bool:
    """Return whether the mechanism comes to a pose out of reach before the last time."""
    with np.errstate(invalid="ignore"):
        return bool(np.any(~np.isfinite(case.reference(np.linspace(t[0], t[-1], 400_000)))))


def run(cases: int, seed: int) -> Tally:
    """Try mechanisms."""
    return each(judged, cases, seed)


CAMPAIGN = Campaign(
    name="near singular poses",
    claim="a mechanism near a singular pose stays on its branch, whatever the interval",
    full=200,
    bounded=25,
    run=run,
)
