"""The table of channels: `python -m bench.channels [--write]` asks one element of every kind for what it offers."""

import numpy as np

import rtmbs
from bench.documents import DOCS, table, told
from rtmbs.model.joints import JOINT_TYPES
from rtmbs.results.catalogue import offered
from rtmbs.results.samples import Evaluation, one_sample

NAME, PAGE = "python -m bench.channels", DOCS / "channels.md"
HEADS = {
    "time": "Time",
    "body": "Bodies",
    "marker": "Markers",
    "joint": "Joints, rods and constraints",
    "coupler": "Couplers",
    "driver": "Drivers",
    "force": "Forces",
    "energy": "Energies",
    "momentum": "Momenta and mass centre",
}
PUBLIC = {name: kind for name, kind in JOINT_TYPES.items() if name in rtmbs.__all__}
TRIAD = np.eye(3)[:, [2, 0, 1]]


def body(model: rtmbs.Model, name: str, x: float) -> rtmbs.model.Body:
    """Add a body of 1 kg."""
    return model.add_body(name, mass=1.0, inertia=(0.1, 0.1, 0.1), position=(x, 0.0, 0.0))


def showcase() -> tuple[rtmbs.Model, dict[str, str]]:
    """Return a model with an element of every kind, and for each name how the table calls the element."""
    model, words = rtmbs.Model("channels"), {}
    for k, (kind, make) in enumerate(PUBLIC.items()):
        for cut in (False, True):
            name = f"cut {kind.lower()}" if cut else kind.lower()
            here = body(model, f"{name} body", float(k))
            if cut:
                model.add_joint(f"{name} tree", rtmbs.Floating(), model.ground, here)
            if not (cut and kind == "Floating"):
                model.add_joint(name, make.example(TRIAD), model.ground, here, cut=cut)
            words |= {name: f"{kind}, cut" if cut else kind, f"{name} tree": "", here.name: ""}
    first, last = (body(model, name, x) for name, x in (("BODY", 20.0), ("other", 21.0)))
    words |= {"BODY": "body", "other": ""}
    model.add_joint("hinge", rtmbs.Revolute((1, 0, 0)), model.ground, first)
    model.add_joint("slide", rtmbs.Prismatic((0, 1, 0)), model.ground, last)
    words |= {"hinge": "", "slide": ""}
    ends = model.add_marker("MARKER", first, (0.1, 0.2, 0.0)), model.add_marker("end", last, (0.0, 0.5, 0.0))
    words |= {"MARKER": "marker", "end": ""}
    model.add_gear("GEAR", "hinge", ("cylindrical", "angle"), 2.0)
    model.add_rod("ROD", between=ends)
    free = model.add_marker("free", "floating body"), model.add_marker("origin", model.ground)
    model.add_constraint("CONSTRAINT", lambda t, pose, p: pose.r[0] + 6.0, between=free)
    model.add_constraint("CONDITION", lambda t, pose, p: pose.z[0], joints=[("cylindrical", "displacement")])
    words |= {"GEAR": "gear, screw, rack, differential", "ROD": "rod", "CONSTRAINT": "constraint between markers"}
    words |= {"CONDITION": "constraint on coordinates", "free": "", "origin": ""}
    words |= add_contacts(model) | add_drivers(model, ends) | add_forces(model, ends)
    return model, words


def add_contacts(model: rtmbs.Model) -> dict[str, str]:
    """Add a ball that rolls, with a blade."""
    ball = body(model, "ball", 22.0)
    model.add_joint("roller", rtmbs.Floating(), model.ground, ball, point=(22.0, 0.0, 0.0))
    center = model.add_marker("center", ball, (22.0, 0.0, 0.0))
    model.add_rolling("ROLLING", center, model.add_marker("floor", model.ground, (0.0, 0.0, -0.5)), 0.5, crown=0.5)
    model.add_knife_edge("EDGE", center)
    hidden = dict.fromkeys(("ball", "roller", "center", "floor"), "")
    return {"ROLLING": "rolling contact", "EDGE": "knife edge", **hidden}


def add_drivers(model: rtmbs.Model, ends: tuple[rtmbs.model.Marker, rtmbs.model.Marker]) -> dict[str, str]:
    """Add drivers."""
    model.add_driver("DRIVER", rtmbs.Input(), joint="revolute")
    return {"DRIVER": "driver of a coordinate"}


def add_forces(model: rtmbs.Model, ends: tuple[rtmbs.model.Marker, rtmbs.model.Marker]) -> dict[str, str]:
    """Add a force of every kind."""
    model.add_force("SPRING", rtmbs.SpringDamper(1.0, 1.0), between=ends)
    model.add_force("BUSHING", rtmbs.Bushing(np.eye(6), np.eye(6)), between=ends)
    model.add_force("TORSION", rtmbs.TorsionSpring(1.0), joint="hinge")
    model.add_force("MOTOR", rtmbs.Motor(1.0), joint="hinge")
    model.add_force("WRENCH", rtmbs.Wrench(force=(1.0, 0.0, 0.0)), body="BODY")
    model.add_force("LAW", lambda t, k, p, s: (-s["q"], k.z - s["q"]), joint="hinge", states={"q": 0.0})
    sides = ((model.ground, rtmbs.contact.Plane()), ("BODY", rtmbs.Sphere(0.1)))
    model.add_contact("TOUCH", *sides, stiffness=1e5, friction=0.5)
    model.add_rigid_contact("RIGID", (model.ground, rtmbs.contact.Plane((0.0, 0.0, -9.0))), sides[1])
    return {
        "TOUCH": "contact of shapes", "TOUCH.a": "", "TOUCH.b": "",
        "RIGID": "rigid contact", "RIGID.a": "", "RIGID.b": "",
        "SPRING": "SpringDamper", "BUSHING": "Bushing", "TORSION": "TorsionSpring", "MOTOR": "Motor",
        "WRENCH": "Wrench", "LAW": "force law with a state q",
    }  # fmt: skip


def rows() -> dict[str, list[list[str]]]:
    """Return the rows of the tables, by kind of element."""
    model, words = showcase()
    system = model.compile()
    sim = rtmbs.Simulation(system, h=1e-3)
    resampled = Evaluation(system, sim.equations.tables, one_sample(sim.state)._replace(doubtful=np.zeros(1)))
    found: dict[str, dict[tuple[str, ...], list[str]]] = {}
    for kind, name, source in offered(system, resampled):
        element = max((word for word in words if name.startswith(f"{word}.")), key=len, default="")
        if words.get(element, "-") == "":
            continue
        what, channel = words.get(element, "the mechanism"), name.removeprefix(f"{element}.")
        if channel.startswith("violation_"):  # said once for all
            continue
        axes = "second body" if source.frame.endswith(" body") else source.frame
        row = (channel, ", ".join(source.axes) or "a number", source.unit or "1", axes)
        elements = found.setdefault(kind, {}).setdefault(row, [])
        if what not in elements:
            elements.append(what)
    return {kind: [[f"`{row[0]}`", told_of(who), *row[1:]] for row, who in by.items()] for kind, by in found.items()}


def told_of(elements: list[str]) -> str:
    """Return the elements in short: a type stands for itself and for its cut joints."""
    short = [name for name in elements if name.removesuffix(", cut") not in elements or not name.endswith(", cut")]
    if set(short) >= PUBLIC.keys():
        short = ["every joint", *(name for name in short if name not in PUBLIC)]
    return "; ".join(short)


def text() -> str:
    """Return the tables in Markdown."""
    found = rows()
    parts = []
    for kind, head in HEADS.items():
        if kind in found:
            parts += [f"## {head}", table(["channel", "of", "numbers", "unit", "axes of"], found[kind])]
    return "\n\n".join(parts)


if __name__ == "__main__":
    told(text(), PAGE, NAME)
