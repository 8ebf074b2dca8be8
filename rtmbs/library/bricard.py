"""IFToMM benchmark A04: the rectangular Bricard mechanism, overconstrained: it moves although Gruebler counts none."""

from rtmbs.library.shapes import add_bar
from rtmbs.model import Model, Revolute

AXIAL, TRANSVERSE = 0.02 / 12.0, 1.01 / 12.0  # [kg m^2] a bar of 1 kg, 1 m, square section of 0.1 m

CORNERS = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, -1.0, 0.0), (1.0, -1.0, 1.0), (0.0, -1.0, 1.0), (0.0, 0.0, 1.0))
AXES = ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0))


def bricard() -> Model:
    """Return five rods of 1 m and 1 kg and six revolutes, at rest, gravity 9.81 m/s^2 along -Y.

    Names: ``rod_1`` .. ``rod_5``; joints ``joint_1`` (ground to rod_1 about Y at the origin) .. ``joint_6`` (rod_5 to
    ground). ``joint_4`` is the cut; one of its equations is redundant. Marker ``P3`` stands at the third joint.
    Period 4.991711513690 s; the angle of joint_1 swings over pi.
    """
    model = Model("bricard", gravity=(0.0, -9.81, 0.0))
    for i in range(5):
        add_bar(model, f"rod_{i + 1}", CORNERS[i], CORNERS[i + 1], axial=AXIAL, transverse=TRANSVERSE)
    chain = ["ground", *(f"rod_{i + 1}" for i in range(5)), "ground"]
    for i in range(6):
        model.add_joint(f"joint_{i + 1}", Revolute(axis=AXES[i]), chain[i], chain[i + 1], point=CORNERS[i], cut=i == 3)
    model.add_marker("P3", "rod_2", point=CORNERS[2])
    return model
