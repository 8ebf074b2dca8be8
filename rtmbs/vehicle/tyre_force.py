"""A tyre as a force of a Model: one contact point on a plane road, with deflections as states of the force law.

Contact of a disc with a plane: with the spin axis n (unit, left) and the road normal z, x_W = (n x z) / |n x z|,
y_W = z x x_W. The contact point lies in the wheel plane below the centre. The deflection is rho = R0 - h / cos(camber)
with the height h of the centre, and the vertical force (c rho + d rhod) / cos(camber), never below zero, which is the
force of the energy c rho^2 / 2. The damper fades below a deflection of 5 mm, which makes lift-off smooth.
"""

from typing import Any, Literal, NamedTuple

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.model import Force, Model
from rtmbs.model.body import Body, Marker
from rtmbs.model.checks import Numbers, direction, number, numbers, perpendiculars, switch
from rtmbs.model.forces import Kinematics
from rtmbs.vehicle.magic_formula import MagicFormula
from rtmbs.vehicle.tyre import (
    Rolling,
    TMeasy,
    Tyre,
    TyreForces,
    TyreInput,
    at_least,
    at_most,
    magnitude,
    saturated,
    step,
)

DAMPED_FROM = 5e-3  # [m] deflection from which the vertical damper works fully
SHORTEST = 0.02  # [m] relaxation length of a wheel with little load
DAMPING_AT_REST = 770.0  # [N s/m] tangential damping below the low speed (Besselink)
BEYOND_PEAK = 3.0  # at rest: deflection at which a sliding tyre's spring stops growing, over that of the peak force
POWER = 6  # how sharply it stops
SlipPoint = Literal["contact", "centre"]
SLIP_POINTS = ("contact", "centre")
SLIP_STATES = ("slip_x", "slip_y")  # deflections of the contact [m]


class Contact(NamedTuple):
    """Contact of a wheel with the road: geometry, load and velocities in the axes W of the contact point."""

    cos: Any  # x_W = (cos, sin, 0), y_W = (-sin, cos, 0) in axes of the road
    sin: Any
    side: Any  # from the wheel centre to the contact point along y_W; along x_W there is nothing [m]
    height: Any  # of the wheel centre over the road [m]
    camber: Any  # [rad]
    loaded_radius: Any  # [m]
    load: Any  # [N]
    speed: Any  # Vcx [m/s]
    across: Any  # Vcy [m/s]
    spin: Any  # about the spin axis [rad/s]


def contact_of(tyre: Tyre, kinematics: Kinematics, slip_point: SlipPoint = "contact") -> Contact:
    """Return the contact of a wheel whose marker has the spin axis, left, as its y axis.

    The spin is the angular velocity about the spin axis, so the wheel carrier counts as one that does not turn about
    that axis. Its other angular velocity moves the contact point by (0, h wx, s wx) in W axes, with the angular
    velocity wx about x_W and the contact point at (0, s, -h) from the centre. ``slip_point`` "centre" takes the
    velocity of the wheel centre for the slip.
    """
    n, v, w = kinematics.R[:, 1], kinematics.v, kinematics.w
    flat = np.sqrt(n[0] * n[0] + n[1] * n[1] + 1e-30)  # cosine of the camber; n[2] is its sine
    cos, sin = n[1] / flat, -n[0] / flat
    height = kinematics.r[2]
    loaded = height / flat
    side = loaded * n[2]
    turning = cos * w[0] + sin * w[1]
    spin = n[0] * w[0] + n[1] * w[1] + n[2] * w[2]
    rho, rate = tyre.free_radius - loaded, -(v[2] + turning * side) / flat
    damped = tyre.vertical_damping * step(rho / DAMPED_FROM) * rate
    load = at_least((tyre.vertical_stiffness * rho + damped) / flat, 0.0)
    across = cos * v[1] - sin * v[0]
    if slip_point == "contact":
        across = across + turning * height
    return Contact(cos, sin, side, height, np.arctan(n[2] / flat), loaded, load, cos * v[0] + sin * v[1], across, spin)


class TyreLaw:
    """Force law of a tyre between a marker of the road (z axis: its normal) and one of the wheel.

    The marker of the wheel is its centre, and its y axis the spin axis, left. ``add_tyre`` makes the law and that
    marker.

    Parameters
    ----------
    tyre : Tyre
        Tyre model.
    transient : bool, default True
        With it, deflections of the contact are states; without, forces are those of steady slip at every instant.
    slip_point : {'contact', 'centre'}, default 'contact'
        Point of the velocity in the slip: contact point or wheel centre.
    """

    def __init__(self, tyre: Tyre, transient: bool = True, slip_point: SlipPoint = "contact") -> None:
        self.tyre, self.transient, self.slip_point = tyre, transient, slip_point
        if transient:
            Kx, Ky = tyre.stiffnesses(tyre.nominal_load)
            Dx, Dy = tyre.peaks(tyre.nominal_load)
            self.damping = DAMPING_AT_REST / Kx, DAMPING_AT_REST / Ky  # [s/m]
            self.bounds = BEYOND_PEAK * Dx / Kx, BEYOND_PEAK * Dy / Ky

    def __call__(self, t: float, kinematics: Kinematics, parameters: Any, states: Any = None) -> Any:
        """Return force and moment on the wheel at its centre in road axes, and the rates of the deflections."""
        if "plane" in parameters:
            turn, local = on_plane(kinematics, parameters["plane"])
            found = self.on_flat(local, parameters, states)
            (force, torque), *rates = found if self.transient else (found,)
            wrench_back = turn @ force, turn @ torque
            return (wrench_back, *rates) if self.transient else wrench_back
        return self.on_flat(kinematics, parameters, states)

    def on_flat(self, kinematics: Kinematics, parameters: Any, states: Any) -> Any:
        """Return what the law returns for kinematics in axes of a plane road with z = 0.

        Parameters
        ----------
        kinematics : Kinematics
            Motion of the wheel's marker relative to the road.
        parameters : Mapping
            Parameters of the law.
        states : Mapping or None
            Deflections of a transient tyre.

        Returns
        -------
        tuple
            Force and moment at the wheel centre, with the rates of the deflections behind them for a transient tyre.
        """
        contact = contact_of(self.tyre, kinematics, self.slip_point)
        at, rolling = self.input_of(contact, parameters["friction"])
        if "side" in parameters:
            at = at._replace(side=parameters["side"])
        if not self.transient:
            slip, tangent = self.tyre.steady_slip(rolling)
            return wrench(contact, self.tyre.forces(at._replace(slip=slip, slip_angle=np.arctan(tangent))))
        deflections = states[SLIP_STATES[0]], states[SLIP_STATES[1]]
        if isinstance(self.tyre, TMeasy):
            forces, rates = self.tyre.deflected(at, rolling, *deflections)
        else:
            forces, rates = self.relaxed(at, rolling, *deflections)
        return wrench(contact, forces), np.stack(rates)

    def input_of(self, contact: Contact, friction: Any) -> tuple[TyreInput, Rolling]:
        """Return the input of the tyre without slip, and the velocities that the slip follows from.

        Parameters
        ----------
        contact : Contact
            Contact of the wheel with the road.
        friction : float
            Factor of the road on the friction of the tyre.

        Returns
        -------
        tuple[TyreInput, Rolling]
            Input with slips of zero, and velocities in W axes [m/s].
        """
        tyre = self.tyre
        speed = contact.speed
        load = at_most(contact.load, tyre.largest_load)
        camber = at_most(at_least(contact.camber, tyre.camber_range[0]), tyre.camber_range[1])
        rolls = tyre.effective_radius(load, contact.loaded_radius) * contact.spin
        forward = saturated(speed / tyre.low_speed)
        at = TyreInput(load, 0.0 * load, 0.0 * load, camber, speed, friction, forward * forward, forward)
        return at, Rolling(speed, speed - rolls, contact.across, rolls)

    def relaxed(self, at: TyreInput, rolling: Rolling, u: Any, v: Any) -> tuple[TyreForces, tuple[Any, Any]]:
        """Return force, moment and the rates of the deflections ``u``, ``v`` of the contact (Pacejka).

        sigma du/dt + abs(Vcx) u = -sigma Vsx, slip = u / sigma; likewise tan(slip_angle) = v / sigma. At rest the tyre
        is a spring: it holds without creep. Below the low speed a damper works beside it, and a deflection beyond that
        of the peak force stops growing.

        Parameters
        ----------
        at : TyreInput
            Load, camber, speed and friction of the wheel; its slips are not used.
        rolling : Rolling
            Velocities of the wheel in W axes.
        u : float
            Longitudinal deflection [m].
        v : float
            Lateral deflection [m].

        Returns
        -------
        tuple
            TyreForces [N, N m] and the pair of rates du/dt, dv/dt [m/s].
        """
        lengths = self.tyre.relaxation_lengths(at.load, at.camber)
        speed, resting = magnitude(rolling.speed), 1.0 - at.fade
        slips, rates = [], []
        ways = ((u, -rolling.slides_x), (v, rolling.slides_y))
        for (deflection, slides), length, damping, bound in zip(ways, lengths, self.damping, self.bounds, strict=True):
            sigma = at_least(length + 0.0 * at.load, SHORTEST)
            slip = deflection / sigma
            held = resting * magnitude(slides) * (slip / (bound * at.friction)) ** (POWER - 1)
            slips.append(slip + resting * damping * slides)
            rates.append(slides - speed * slip - held)
        forces = self.tyre.forces(at._replace(slip=slips[0], slip_angle=np.arctan(slips[1])))
        return forces, (rates[0], rates[1])


def on_plane(kinematics: Kinematics, plane: Any) -> tuple[Any, Kinematics]:
    """Return the axes (3, 3) of the plane z = c + a x + b y, and the kinematics in these axes.

    ``plane`` is (c, a, b) in axes of the road's marker. The axes are x' along (1, 0, a), z' the normal.
    """
    c, a, b = plane[0], plane[1], plane[2]
    along, normal = np.sqrt(1.0 + a * a), np.sqrt(1.0 + a * a + b * b)
    x = np.stack((1.0 / along, 0.0 * a, a / along))
    z = np.stack((-a / normal, -b / normal, 1.0 / normal))
    y = np.stack((z[1] * x[2] - z[2] * x[1], z[2] * x[0] - z[0] * x[2], z[0] * x[1] - z[1] * x[0]))
    back, r = np.stack((x, y, z)), kinematics.r - np.stack((0.0 * c, 0.0 * c, c))
    local = Kinematics(back @ r, back @ kinematics.R, back @ kinematics.v, back @ kinematics.w)
    return np.stack((x, y, z), axis=1), local


def wrench(contact: Contact, forces: TyreForces) -> tuple[Any, Any]:
    """Return force and moment about the wheel centre of forces in the contact point, in axes of the road."""
    c, s, Fx, Fy, Fz = contact.cos, contact.sin, forces.Fx, forces.Fy, contact.load
    Mx = forces.Mx + contact.side * Fz + contact.height * Fy
    My = forces.My - contact.height * Fx
    Mz = forces.Mz - contact.side * Fx
    return np.stack((c * Fx - s * Fy, s * Fx + c * Fy, Fz)), np.stack((c * Mx - s * My, s * Mx + c * My, Mz))


def add_tyre(
    model: Model,
    name: str,
    tyre: Tyre,
    wheel: Body | str,
    *,
    centre: Numbers,
    axis: Numbers = (0.0, 1.0, 0.0),
    road: Marker | str,
    friction: Numbers = 1.0,
    transient: bool = True,
    slip_point: SlipPoint = "contact",
    uneven: bool = False,
) -> Force:
    """Add a tyre to a Model: a force law between a plane road and a wheel.

    Parameters
    ----------
    model : Model
        Model that gets the force ``name`` and the marker ``name.centre``.
    name : str
        Name of the force. Its channels ``name.force`` [N] and ``name.torque`` [N m] are in axes of the road.
    tyre : Tyre
        MagicFormula, TMeasy, FialaTyre, BrushTyre or a class of your own.
    wheel : Body or str
        Body that spins.
    centre : Numbers
        Wheel centre (3,) at the reference pose, world axes [m].
    axis : Numbers
        Spin axis (3,) at the reference pose, world axes, pointing left on both sides of the car.
    road : Marker or str
        Marker with its point on the road and the normal of the road, up, as its z axis.
    friction : float
        Factor of the road on the friction of the tyre; the input ``name.friction`` changes it.
    transient : bool
        With it, deflections of the contact are states of the force, ``name.slip_x`` and ``name.slip_y`` [m]: slip
        builds up over relaxation lengths, and a wheel at rest holds without creep. Without, forces follow the steady
        slip at once.
    slip_point : str
        "contact" takes the velocity of the contact point for the slip, as a point of the wheel carrier; "centre" that
        of the wheel centre, which leaves out the rolling of the carrier.
    uneven : bool
        With it the input ``name.plane`` is the local plane z = c + a x + b y of the road under this wheel, (c, a, b) in
        axes of the road's marker; ``rtmbs.vehicle.RoadUnderWheels`` sets it before each step.

    Returns
    -------
    Force
        Force law between the road and the wheel. A Magic Formula tyre has the input ``name.side`` too: 1 on the side of
        the car that its data belong to, -1 on the other one.

    Raises
    ------
    ModelError
        For an object that is no tyre and for values out of range.
    """
    what = f"tyre {name!r}"
    if not isinstance(tyre, Tyre):
        raise ModelError(f"{what}: {shown(tyre)} is no tyre; it must be a MagicFormula, TMeasy, FialaTyre or BrushTyre")
    if not tyre.vertical_stiffness > 0.0:
        raise ModelError(f"{what}: its vertical stiffness is {tyre.vertical_stiffness:g}; it must be above zero")
    transient, factor = switch(transient, f"{what}: transient"), number(friction, f"{what}: friction")
    if factor <= 0.0:
        raise ModelError(f"{what}: friction is {factor:g}; it must be above zero")
    if transient and not all(np.all(length > 0.0) for length in tyre.relaxation_lengths(tyre.nominal_load)):
        raise ModelError(f"{what}: the tyre has no relaxation lengths; give PTX1 and PTY1, or transient=False")
    if slip_point not in SLIP_POINTS:
        raise ModelError(f"{what}: slip_point is {shown(slip_point)}; it must be one of {', '.join(SLIP_POINTS)}")
    y = direction(axis, f"{what}: axis")
    x, z = perpendiculars(y)  # z, x, y right-handed
    place = numbers(centre, f"{what}: centre", (3,))
    marker = model.add_marker(f"{name}.centre", wheel, place, axes=np.stack((z, y, x), axis=1))
    states = dict.fromkeys(SLIP_STATES, 0.0) if transient else None
    units = dict.fromkeys(SLIP_STATES, "m") if transient else None
    parameters: dict[str, Any] = {"friction": factor}
    if switch(uneven, f"{what}: uneven"):
        parameters["plane"] = (0.0, 0.0, 0.0)
    if isinstance(tyre, MagicFormula):  # one program for both sides: a sign is a parameter, no other structure
        parameters["side"] = -1.0 if tyre.mirrored else 1.0
        tyre = tyre.other_side() if tyre.mirrored else tyre
    law = TyreLaw(tyre, transient, slip_point)
    return model.add_force(name, law, between=(road, marker), parameters=parameters, states=states, units=units)
