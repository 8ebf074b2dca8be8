"""Inertia of rotors on joint coordinates, from the transmissions of a URDF: gear ratio squared times rotor inertia."""

from rtmbs.formats.xml_tree import Element

RATIOS = ("mechanicalReduction", "drake:gear_ratio", "gear_ratio")
INERTIAS = ("motorInertia", "rotorInertia", "rotor_inertia", "drake:rotor_inertia")


def transmission_inertias(root: Element) -> dict[str, float]:
    """Return the inertia on the coordinate of each joint with a transmission that states one [kg m^2]."""
    found: dict[str, float] = {}
    for transmission in root.all("transmission"):
        joints = [one.attributes.get("name", "").strip() for one in transmission.all("joint")]
        for actuator in transmission.all("actuator"):
            inertia = value_of(transmission, actuator, INERTIAS, 0.0)
            ratio = value_of(transmission, actuator, RATIOS, 1.0) if inertia else 1.0
            for joint in joints:
                if inertia:
                    found[joint] = found.get(joint, 0.0) + ratio * ratio * inertia
    return found


def value_of(transmission: Element, actuator: Element, tags: tuple[str, ...], default: float) -> float:
    """Return the first number under one of the tags, in the actuator or else in its transmission."""
    for owner in (actuator, transmission):
        for tag in tags:
            if (child := owner.first(tag)) is not None:
                return child.number("value") if "value" in child.attributes else child.text_numbers(1)[0]
    return default
