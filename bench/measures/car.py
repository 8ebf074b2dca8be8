"""A car for measurements: four double wishbones with springs and tyres, steering held, motors at the rear wheels."""

import rtmbs
from rtmbs.library.force_laws import pacejka_wheel

TYRE = {
    "radius": 0.3, "stiffness": 2e5, "damping": 1e3, "friction": 0.9, "longitudinal": (10.0, 1.6, 0.5),
    "lateral": (8.0, 1.4, -0.5), "slowest": 0.5,
}  # fmt: skip
MASS, WHEELBASE, TRACK = 900.0, 2.5, 1.4


def car() -> rtmbs.Model:
    """Return the car, at 10 m/s; inputs ``drive_2.torque`` and ``drive_3.torque`` [N m]."""
    m = rtmbs.Model("car", gravity=(0, 0, -9.81))
    m.add_body("chassis", mass=MASS, inertia=(300.0, 1100.0, 1200.0), position=(0, 0, 0.45))
    m.add_joint("free", rtmbs.Floating(), m.ground, "chassis", point=(0, 0, 0.45))
    m.set_initial("free", (0, 0, 0, 1, 0, 0, 0), (10.0, 0, 0, 0, 0, 0))
    m.add_marker("road", m.ground, (0, 0, 0))
    for k, (x, side) in enumerate(((0.5, 1), (0.5, -1), (-0.5, 1), (-0.5, -1))):
        add_corner(m, k, x * WHEELBASE, 0.5 * side * TRACK, side)
    return m


def add_corner(m: rtmbs.Model, k: int, x: float, y: float, side: int) -> None:
    """Add a corner: two arms, an upright with a wheel, a tie rod, a spring and a tyre."""
    low, high, inner = 0.2, 0.45, y - 0.4 * side
    for name, z in (("low", low), ("high", high)):
        m.add_body(f"{name}_{k}", mass=4.0, inertia=(0.05, 0.02, 0.05), position=(x, y - 0.2 * side, z))
        m.add_joint(f"{name}_arm_{k}", rtmbs.Revolute((1, 0, 0)), "chassis", f"{name}_{k}", point=(x, inner, z))
    m.add_body(f"upright_{k}", mass=12.0, inertia=(0.3, 0.3, 0.2), position=(x, y, 0.3))
    m.add_joint(f"ball_{k}", rtmbs.Spherical(), f"low_{k}", f"upright_{k}", point=(x, y, low))
    m.add_joint(f"top_{k}", rtmbs.Spherical(), f"upright_{k}", f"high_{k}", point=(x, y, high))
    m.add_marker(f"rack_{k}", "chassis", (x - 0.12, inner, 0.3))
    m.add_marker(f"steer_{k}", f"upright_{k}", (x - 0.12, y, 0.3))
    m.add_rod(f"tie_{k}", (f"rack_{k}", f"steer_{k}"))
    m.add_marker(f"mount_{k}", "chassis", (x, inner + 0.1 * side, 0.7))
    m.add_marker(f"seat_{k}", f"low_{k}", (x, y - 0.15 * side, low))
    spring = rtmbs.SpringDamper(stiffness=35e3, damping=2500.0, length=0.53 + 0.06)
    m.add_force(f"spring_{k}", spring, between=(f"mount_{k}", f"seat_{k}"))
    m.add_body(f"wheel_{k}", mass=15.0, inertia=(0.6, 1.0, 0.6), position=(x, y, 0.3))
    m.add_joint(f"hub_{k}", rtmbs.Revolute((0, 1, 0)), f"upright_{k}", f"wheel_{k}", point=(x, y, 0.3))
    m.set_initial(f"hub_{k}", 0.0, 10.0 / 0.3)
    m.add_marker(f"center_{k}", f"wheel_{k}", (x, y, 0.3))
    m.add_force(f"tyre_{k}", pacejka_wheel, between=("road", f"center_{k}"), parameters=TYRE)
    m.add_force(f"drive_{k}", rtmbs.Motor(rtmbs.Input(0.0)), joint=f"hub_{k}")
