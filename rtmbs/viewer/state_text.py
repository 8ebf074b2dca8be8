"""A state as text, for the clipboard."""

from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.frame import Frame


def state_text(frame: Frame, description: SceneDescription) -> str:
    """Return a state as lines of name and number."""
    lines = [f"model = {description.name}", f"t = {frame.t!r}", f"h = {frame.h!r}"]
    motions = zip(
        description.coordinates, frame.z.tolist(), frame.zd.tolist(), strict=False
    )  # a recorded result has none
    lines += [f"{name} = {value!r}, rate {rate!r}" for name, value, rate in motions]
    lines += [f"{entry.name} = {frame.inputs[entry.place].tolist()!r}" for entry in description.inputs]
    return "\n".join(lines)
