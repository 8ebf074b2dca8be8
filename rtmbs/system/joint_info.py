"""What the channels of a result know of a joint, whether a tree walks it or not."""

import numpy as np

from rtmbs.model import Joint
from rtmbs.system.system import JointInfo


def joint_info(
    joint: Joint,
    *,
    in_tree: bool = False,
    auxiliary: bool = False,
    dofs: tuple[int, ...] = (-1,),
    reversed: bool = False,
    closure: int = -1,
) -> JointInfo:
    """Return what is known of a joint; without the other arguments, of one that no tree walks."""
    axes = [joint.axes_b.T @ one.axis if one.kind == "rotation" else one.axis for one in joint.type.dofs()]
    return JointInfo(
        name=joint.name,
        type=type(joint.type).__name__,
        a=joint.a.name,
        b=joint.b.name,
        in_tree=in_tree,
        auxiliary=auxiliary,
        dofs=dofs,
        reversed=reversed,
        closure=closure,
        coordinates=joint.type.coordinates,
        units=joint.type.units(),
        point_a=joint.point_a,
        point_b=joint.point_b,
        axes_a=np.reshape([joint.axes_a @ axis for axis in axes], (-1, 3)),
        axes_b=np.reshape([joint.axes_b @ axis for axis in axes], (-1, 3)),
        frame_a=joint.axes_a,
        frame_b=joint.axes_b,
        kind=joint.type,
    )
