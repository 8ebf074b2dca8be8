"""Characteristic length of a mechanism: the factor between angles and lengths where the two are compared."""

import numpy as np

from rtmbs.model import Model
from rtmbs.system.system import Array

ROUNDING = 1e-9  # of a distance


def characteristic_length(model: Model) -> float:
    """Return the largest distance between the joint points of one moving body [m].

    When no body has two: the largest distance from a joint point to a mass centre; then the largest radius of gyration;
    then 1.
    """
    points = joint_points(model)
    widest = max((spread(places) for places in points.values()), default=0.0)
    if widest > 0.0:
        return widest
    bodies = model.bodies
    arms = [float(np.linalg.norm(place - bodies[name].center_of_mass)) for name in points for place in points[name]]
    if max(arms, default=0.0) > 0.0:
        return max(arms)
    heavy = [body for body in bodies.values() if body.mass > 0.0]
    radii = [float(np.sqrt(np.max(np.diag(body.inertia)) / body.mass)) for body in heavy]
    return max(radii, default=0.0) or 1.0


def joint_points(model: Model) -> dict[str, list[Array]]:
    """Return the points of joints and rods on every moving body, in its axes [m]."""
    points: dict[str, list[Array]] = {name: [] for name in model.bodies}
    for joint in model.joints.values():
        points[joint.a.name].append(joint.point_a)
        points[joint.b.name].append(joint.point_b)
    for rod in model.rods.values():
        for marker in rod.between:
            points[marker.body.name].append(marker.point)
    del points[model.ground.name]
    return points


def spread(places: list[Array]) -> float:
    """Return the largest distance between any two points.

    Two points are no further apart than their radii about the middle together, so most pairs are never looked at.
    """
    if len(places) < 2:
        return 0.0
    cloud = np.unique(np.array(places), axis=0)
    radius = np.linalg.norm(cloud - cloud.mean(axis=0), axis=1)
    outer = np.argsort(-radius, kind="stable")
    cloud, radius, widest = cloud[outer], radius[outer], 0.0
    for k, point in enumerate(cloud):
        if 2.0 * radius[k] < widest * (1.0 - ROUNDING):
            break
        widest = max(widest, float(np.max(np.linalg.norm(cloud[k:] - point, axis=1))))
    return widest
