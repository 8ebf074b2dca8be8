"""Time of a step with contacts beside MuJoCo: a biped that stands on a plane, and balls in a funnel.

    python -m bench.contact_peers [biped] [funnel]

Both programs have the same masses, joints, springs, shapes and step. The stiffness of MuJoCo's contacts is that at
which feet and balls sink in as far as those of rtmbs. Times are processor times, taken in turns in one process. MuJoCo
needs ``pip install mujoco``.
"""

import sys
import time
from collections.abc import Callable
from itertools import combinations

import numpy as np

import rtmbs
from rtmbs import contact

G, H, STEPS, TURNS = 9.81, 1e-3, 500, 5
LEG, FOOT, FOOT_PLACE = 0.4, (0.2, 0.1, 0.04), (0.04, 0.0, -0.02)  # [m]
HOLD, DAMP = 2000.0, 40.0  # [N m/rad], [N m s/rad] of the joints of the legs
SPRING, BALL = 1e5, 0.05  # [N/m] of a corner or ball; radius [m]
WALLS = [(np.cos(a), np.sin(a), 1.0) for a in np.pi * np.array((0.0, 0.5, 1.0, 1.5))]  # normals of a funnel


def biped() -> tuple[rtmbs.Model, str]:
    """Return a biped with six joints that springs hold, as a Model and in MJCF."""
    model, top = rtmbs.Model("biped", gravity=(0, 0, -G)), 2 * LEG + FOOT[2]
    model.add_body("trunk", mass=30.0, center_of_mass=(0.03, 0, 0.2), inertia=(1.0, 1.0, 0.5), position=(0, 0, top))
    model.add_joint("free", rtmbs.Floating(), "ground", "trunk", point=(0, 0, top))
    turn, legs = rtmbs.Revolute(axis=(0, 1, 0)), ""
    for side, y in (("left", 0.1), ("right", -0.1)):
        before, z, text, ends = "trunk", top, "", ""
        for part, mass, drop in (("thigh", 5.0, 0.0), ("shank", 3.0, LEG), ("foot", 1.0, LEG)):
            z, name, foot = z - drop, f"{side} {part}", part == "foot"
            middle = FOOT_PLACE if foot else (0, 0, -LEG / 2)
            model.add_body(
                name, mass=mass, center_of_mass=middle, inertia=(0.05, 0.05, 0.02), position=(0, y, z),
                shape=rtmbs.Box(FOOT, center=FOOT_PLACE) if foot else None,
            )  # fmt: skip
            model.add_joint(f"{name} pin", turn, before, name, point=(0, y, z))
            model.add_force(f"{name} spring", rtmbs.TorsionSpring(HOLD, DAMP), joint=f"{name} pin")
            place = (0, y, 0) if part == "thigh" else (0, 0, -drop)
            inertial = f'<inertial mass="{mass}" pos="{numbers(middle)}" diaginertia="0.05 0.05 0.02"/>'
            text += (
                f'<body pos="{numbers(place)}">{inertial}'
                f'<joint type="hinge" axis="0 1 0" stiffness="{HOLD}" damping="{DAMP}"/>'
            )
            ends += "</body>"
            before = name
        text += f'<geom type="box" size="{numbers(0.5 * np.array(FOOT))}" pos="{numbers(FOOT_PLACE)}"/>'
        legs += text + ends
        model.add_contact(
            f"{side} sole", ("ground", contact.Plane()), f"{side} foot", stiffness=SPRING, dissipation=2.0, friction=0.8
        )
    inertial = '<inertial mass="30" pos="0.03 0 0.2" diaginertia="1 1 0.5"/>'
    bodies = f'<geom type="plane" size="5 5 1"/><body pos="0 0 {top}"><freejoint/>{inertial}{legs}</body>'
    return model, bodies


def funnel(count: int) -> tuple[rtmbs.Model, str]:
    """Return balls above a funnel of four planes, as a Model with every pair of them declared, and in MJCF."""
    model, bodies = rtmbs.Model("funnel", gravity=(0, 0, -G)), ""
    for normal in WALLS:
        bodies += f'<geom type="plane" size="5 5 1" zaxis="{numbers(normal)}"/>'
    law = {"stiffness": SPRING, "exponent": 1.0, "dissipation": 2.0, "friction": 0.3}
    for k in range(count):
        place = (0.06 * np.cos(2.4 * k), 0.06 * np.sin(2.4 * k), 0.25 + 0.11 * k)
        inertia = 0.4 * 0.5 * BALL**2
        model.add_body(f"b{k}", mass=0.5, inertia=(inertia,) * 3, position=place, shape=rtmbs.Sphere(BALL))
        model.add_joint(f"free {k}", rtmbs.Floating(), "ground", f"b{k}", point=place)
        for j, normal in enumerate(WALLS):
            model.add_contact(f"wall {k} {j}", ("ground", contact.Plane(normal=normal)), f"b{k}", **law)  # type: ignore[arg-type]
        bodies += f'<body pos="{numbers(place)}"><freejoint/><geom type="sphere" size="{BALL}" mass="0.5"/></body>'
    for one, other in combinations(range(count), 2):
        model.add_contact(f"pair {one} {other}", f"b{one}", f"b{other}", **law)  # type: ignore[arg-type]
    return model, bodies


def numbers(values: object) -> str:
    """Return numbers with blanks between them."""
    return " ".join(f"{value:g}" for value in np.ravel(values))


def mujoco_steps(
    bodies: str, stiffness: float, friction: float, solver: str = "Newton"
) -> tuple[Callable[[int], None], Callable[[], float], int]:
    """Return a function that takes steps of MuJoCo, one for its mean penetration [m], and its degrees of freedom."""
    import mujoco

    law = f'solref="{-stiffness} {-np.sqrt(stiffness)}" friction="{friction} 0 0" condim="3"'
    text = (
        f'<mujoco><size memory="1G"/><option timestep="{H}" gravity="0 0 {-G}" integrator="implicitfast" '
        f'solver="{solver}"/><default><geom {law}/></default><worldbody>{bodies}</worldbody></mujoco>'
    )
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)

    def steps(count: int) -> None:
        for _ in range(count):
            mujoco.mj_step(model, data)

    def deep() -> float:
        depths = -np.minimum(data.contact.dist, 0.0)
        return float(np.mean(depths[depths > 0.0])) if np.any(depths > 0.0) else 0.0

    return steps, deep, int(model.nv)


def compared(name: str, model: rtmbs.Model, bodies: str, friction: float) -> str:
    """Return a row: degrees of freedom, penetrations [m] and processor time of a step [us] of both programs."""
    sim = rtmbs.Simulation(model.compile(), H, method=rtmbs.TRBDF2())
    sim.run(2.0, record=rtmbs.Every(0.5))
    touching = [sim[f"{force}.penetration"] for force, info in sim.system.forces.items() if info.contact]
    own = float(np.mean([one for one in touching if one > 0.0]))
    stiffness = G / own
    for _ in range(12):  # until MuJoCo's contacts are as deep
        steps, deep, freedom = mujoco_steps(bodies, stiffness, friction)
        steps(2000)
        share = deep() / own
        if abs(share - 1.0) < 0.02 or not share:
            break
        stiffness *= share
    spent: list[list[float]] = [[], []]
    for _ in range(TURNS):
        first = time.process_time()
        sim.run(sim.t + STEPS * H, record=rtmbs.Every(STEPS * H))
        second = time.process_time()
        steps(STEPS)
        spent[0].append((second - first) / STEPS)
        spent[1].append((time.process_time() - second) / STEPS)
    rtmbs_us, mujoco_us = (1e6 * float(np.median(one)) for one in spent)
    return (
        f"| {name} | {freedom} | {len(touching)} | {own:.1e} | {deep():.1e} | {rtmbs_us:.0f} | {mujoco_us:.0f} | "
        f"{rtmbs_us / mujoco_us:.1f} |"
    )


def main(arguments: list[str]) -> int:
    """Print the table of the cases named, of all unless any is."""
    print(
        "| case | freedoms | points declared | depth rtmbs [m] | depth MuJoCo [m] | rtmbs [us] | MuJoCo [us] | ratio |"
    )
    print("|---|---|---|---|---|---|---|---|")
    if not arguments or "biped" in arguments:
        print(compared("biped", *biped(), 0.8), flush=True)
    if not arguments or "funnel" in arguments:
        for count in (4, 8):
            print(compared(f"{count} balls in a funnel", *funnel(count), 0.3), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
