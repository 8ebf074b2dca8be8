"""Compliance rig: forces at the wheels of an axle with the chassis held, by statics with bushings and springs.

At each force the axle is in equilibrium under constant wheel loads. Derivatives by the force are those of the linear
equations there, K dq = Q_u du, and the twist of a wheel is its Jacobian times dq.
"""

from copy import copy
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rtmbs.model import Fixed
from rtmbs.model.checks import Array
from rtmbs.model.forces import Kinematics
from rtmbs.studies.analysis.equilibrium import equilibrium
from rtmbs.studies.analysis.linearisation import linearise
from rtmbs.vehicle.axle import CHASSIS
from rtmbs.vehicle.rest import carrying
from rtmbs.vehicle.rig_curves import channels

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car

FORCES = {"longitudinal": "force_x", "lateral": "force_y", "aligning": "moment_z"}  # inputs of a pad by motion
RIGHT = {"parallel": 1.0, "opposite": -1.0, "left": 0.0}  # force on the right wheel over that on the left one
Phase = Literal["parallel", "opposite", "left"]


class PadLaw:
    """Forces of a wheel pad in the lowest point of a wheel that does not turn, and the load.

    Parameters
    ----------
    radius : float
        Loaded radius of the wheel [m].
    at_centre : bool
        The longitudinal force acts at the wheel centre, as that of a drive shaft, and not in the lowest point.
    """

    def __init__(self, radius: float, at_centre: bool) -> None:
        self.radius, self.at_centre = radius, at_centre

    def __call__(self, t: float, kinematics: Kinematics, parameters: Any) -> Any:
        """Return force and moment about the wheel centre in axes of the road."""
        n = kinematics.R[:, 1]
        flat = np.sqrt(n[0] * n[0] + n[1] * n[1])
        x, y, z = self.radius * n[2] / flat * n[0], self.radius * n[2] / flat * n[1], -self.radius * flat
        Fx, Fy, Fz = parameters["force_x"], parameters["force_y"], parameters["load"]
        Mx, My, Mz = y * Fz - z * Fy, -x * Fz, x * Fy + parameters["moment_z"]
        if not self.at_centre:
            My, Mz = My + z * Fx, Mz - y * Fx
        return np.stack((Fx, Fy, Fz)), np.stack((Mx, My, Mz))


def forced_runs(
    car: "Car", axle: str, motion: str, points: Array, *, phase: Phase, load: float, radius: float, at_centre: bool
) -> list[dict[str, Array]]:
    """Return the channels of both halves of the points, with derivatives by the force in place of velocities.

    Parameters
    ----------
    car : Car
        Car with its springs and bushings.
    axle : str
        Axle that the forces act on: "front" or "rear".
    motion : str
        "longitudinal", "lateral" or "aligning".
    points : ndarray
        Increasing forces or moments of the left wheel (k,) with 0 among them [N, N m].
    phase : str
        "parallel", "opposite" or "left".
    load : float
        Load of each wheel of the axle [N].
    radius : float
        Loaded radius [m].
    at_centre : bool
        Longitudinal forces act at the wheel centres.

    Returns
    -------
    list of dict
        Channels (k, 3) or (k, 4) by name, those of points up to 0 first.
    """
    model = padded_model(car, axle, load, radius, at_centre)
    rest = equilibrium(model.compile()).simulation
    names = channels(car, axle)
    ways = {f"pad_{axle[0]}l.{FORCES[motion]}": 1.0, f"pad_{axle[0]}r.{FORCES[motion]}": RIGHT[phase]}
    halves: list[dict[str, Array]] = []
    for wanted in (points[points <= 0.0][::-1], points[points > 0.0]):
        sim, found = copy(rest), dict[str, list[Any]]()
        for value in wanted.tolist():
            for name, share in ways.items():
                sim.inputs[name] = share * value
            sim = equilibrium(sim).simulation
            for name, one in at_point(sim, names, ways).items():
                found.setdefault(name, []).append(one)
        order = slice(None, None, -1) if len(halves) == 0 else slice(None)
        halves.append({name: np.array(one)[order] for name, one in found.items()})
    return halves


def at_point(sim: Any, names: list[str], ways: dict[str, float]) -> dict[str, Any]:
    """Return channels of an equilibrium; a velocity is the derivative of its position by the force."""
    rates = [name for name in names if name.endswith("velocity")]
    lin = linearise(sim, inputs=list(ways), outputs=rates)
    f = len(lin.coordinates)
    moved = np.linalg.solve(lin.stiffness, lin.forces @ np.array(list(ways.values())))
    twists = lin.C[:, f : 2 * f] @ moved
    found = {name: np.array(sim[name]) for name in names if name not in rates}
    return found | {name: twists[3 * k : 3 * k + 3] for k, name in enumerate(rates)}


def padded_model(car: "Car", axle: str, load: float, radius: float, at_centre: bool) -> Any:
    """Return the car with its chassis held at design, and pads with loads in place of the tyres."""
    model = carrying(car.changed(steer=0.0))
    del model.joints["chassis_pose"], model.initials["chassis_pose"]
    model.add_joint("held", Fixed(), model.ground, CHASSIS, point=model.bodies[CHASSIS].position)
    for corner in car.tyres:
        own = corner[0] == axle[0]
        del model.forces[f"tyre_{corner}"]
        between = model.add_marker(f"pad_{corner}", model.ground, (0.0, 0.0, 0.0)), f"tyre_{corner}.centre"
        given = {"load": load if own else car.tyres[corner].nominal_load, "force_x": 0.0, "force_y": 0.0}
        law = PadLaw(radius, at_centre)
        model.add_force(f"pad_{corner}", law, between=between, parameters=given | {"moment_z": 0.0})
    return model
