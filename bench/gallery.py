"""Take the pictures of docs/gallery.md by the examples of apps/gallery, and those of three driven mechanisms.

python -m bench.gallery docs            every picture
python -m bench.gallery docs watt cam   some of them
"""

import importlib
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.measures import driven
from rtmbs.kinematics import Analysis

EXAMPLES = Path(__file__).parents[1] / "apps" / "gallery"
SHARED = "gallery"  # what the examples import; no example itself


def examples() -> list[str]:
    """Return the names of the examples."""
    return sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem != SHARED)


def loaded(name: str) -> Any:
    """Return an example, or what they share, as a module."""
    if str(EXAMPLES) not in sys.path:
        sys.path.insert(0, str(EXAMPLES))
    return importlib.import_module(name)


def cam() -> Any:
    """A cam and its follower."""
    model, contact = driven.cam()
    for k, angle in enumerate(np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)):
        radius = driven.cam_radius(angle)
        model.add_marker(f"rim{k}", "cam", point=(radius * np.cos(angle), radius * np.sin(angle), 0.0))
    model.add_marker("top", "follower", point=(0.0, 2.2, 0.0))
    return loaded(SHARED).Shown(model, Analysis(model, [contact]).run(0.0, 1.5, 0.01), "", 0.0, 1.0, "tip")


def hooke() -> Any:
    """Four shafts joined by Hooke joints."""
    model = driven.hooke_chain()
    for k, body in enumerate(list(model.bodies.values())[1:]):  # a fin on each shaft shows its turn
        model.add_marker(f"fin{k}", body, point=body.position + np.array((0.0, 0.4, 0.0)))
    return loaded(SHARED).Shown(model, Analysis(model).run(0.0, 2.0, 0.01), "", 0.0, 1.0, plane=None)


def arm() -> Any:
    """Three links of which only the tip's x is driven: the motion of least velocity."""
    model = driven.free_arm()
    return loaded(SHARED).Shown(model, Analysis(model).run(0.0, 3.1, 0.01), "", 0.0, 1.0, "link2", plane=None)


def pictures() -> dict[str, Callable[[], Any]]:
    """Return what makes the motion of every picture."""
    made: dict[str, Callable[[], Any]] = {name: partial(motion_of, name) for name in examples()}
    return {**made, "cam": cam, "hooke": hooke, "arm": arm}


def motion_of(name: str) -> Any:
    """Return the motion of an example."""
    return loaded(name).main()


def main(folder: str, *names: str) -> None:
    """Take the pictures of these names, or all."""
    made = pictures()
    for name in names or made:
        path = Path(folder) / f"gallery_{name}.png"
        loaded(SHARED).draw(made[name](), path)
        print(path)


if __name__ == "__main__":
    main(*sys.argv[1:] or ["docs"])
