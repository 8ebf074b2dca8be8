"""Ropes of constant length over points of several bodies, made of massless telescopes and a coupler."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.model.checks import Array, Numbers, number
from rtmbs.model.constraints import Coupler
from rtmbs.model.joints import Prismatic, Spherical, Universal
from rtmbs.model.markers import Marker

FLAT = 1e-9  # of the length of a rope: points that leave a line by less span no plane


def lay_rope(model: Any, name: str, points: Sequence[Marker], length: Numbers) -> Coupler:
    """Add the telescopes between neighbouring points, and return the coupler that keeps the sum of their lengths."""
    what = f"rope {name!r}"
    if len(points) < 3:
        raise ModelError(f"{what}: points has {len(points)} markers; it takes 3 or more (two are a rod)")
    ends = [marker.reference() for marker in points]
    spans = np.diff(ends, axis=0)
    sizes = np.linalg.norm(spans, axis=1)
    for first, second, size in zip(points, points[1:], sizes, strict=False):
        if first.body is second.body:
            raise ModelError(
                f"{what}: markers {first.name!r} and {second.name!r} follow each other on body {first.body.name!r}; "
                "leave one out, and take off the length between them"
            )
        if size <= FLAT * sizes.sum():
            raise ModelError(
                f"{what}: markers {first.name!r} and {second.name!r} coincide at the reference pose; their distance "
                "must be above zero there"
            )
    total = float(sizes.sum()) if length is None else number(length, f"{what}: length")
    if total <= 0.0:
        raise ModelError(f"{what}: length is {shown(length)}; it must be above zero")
    normal = normal_of(spans)
    slides = [telescope(model, f"{name} {k + 1}", points[k : k + 2], spans[k], normal) for k in range(len(spans))]
    coupler: Coupler = model.add_coupler(name, [(slide, 1.0) for slide in slides], total - float(sizes.sum()))
    return coupler


def normal_of(spans: Array) -> Array:
    """Return the normal of the plane that spans (k, 3) lie in, or nearly; any normal of a straight rope."""
    return np.asarray(np.linalg.svd(spans)[2][-1])


def telescope(model: Any, name: str, ends: Sequence[Marker], span: Array, normal: Array) -> str:
    """Add two massless bodies that slide in each other from one marker to the next; return the joint of the slide.

    The first axis of the universal joint is the normal of the rope, so that no motion in its plane is singular.
    """
    along = span / np.linalg.norm(span)
    first = normal - (normal @ along) * along
    first /= np.linalg.norm(first)
    places = [marker.reference() for marker in ends]
    sleeve, bar = (model.add_body(f"{name} {part}", mass=0.0, position=places[0]) for part in ("sleeve", "bar"))
    turn = Universal(axis_a=first, axis_b=np.cross(along, first))
    model.add_joint(f"{name} swivel", turn, ends[0].body, sleeve, point=places[0])
    model.add_joint(f"{name} slide", Prismatic(axis=along), sleeve, bar, point=places[0])
    model.add_joint(f"{name} eye", Spherical(), bar, ends[1].body, point=places[1], cut=True)
    return f"{name} slide"
