"""Take the pictures of docs/gallery.md by the examples of apps/gallery, and those of three driven mechanisms.

python -m bench.gallery docs            every picture, and what a page needs to play its motion
python -m bench.gallery docs watt cam   some of them
"""

import copy
import importlib
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.measures import driven
from rtmbs.errors import RtmbsError
from rtmbs.kinematics import Analysis
from rtmbs.model import Floating, Model
from rtmbs.viewer.session.commands import SPEEDS
from rtmbs.viewer.session.connect import playback
from rtmbs.viewer.session.playback import PlaybackConnection
from rtmbs.viewer.web.content import PageOptions, content_text
from rtmbs.viewer.web.page import write_page

EXAMPLES = Path(__file__).parents[1] / "apps" / "gallery"
SHARED = "gallery"  # what the examples import; no example itself
PAGES = "gallery"  # folder of what the pages hold
SHORTEST = 3.0  # [s] of a replay at least


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


def play(shown: Any, path: Path) -> None:
    """Write what the page of a motion holds; ``docs/site/pages.py`` makes the pages."""
    view = {None: "isometric", (0, 1): "top", (1, 2): "front", (0, 2): "side"}[shown.plane]
    traces = (shown.way,) if shown.way else ()
    length = float(np.ptp(shown.result.t))
    speed = max((factor for factor in SPEEDS if length / factor >= SHORTEST), default=SPEEDS[0])
    paging = PageOptions(speed=min(speed, 1.0), camera=view, traces=traces, playing=True)
    write_page(connection_of(shown), path, paging, content_text)


def connection_of(shown: Any) -> PlaybackConnection:
    """Return the motion with the joints of its model, freed of what only a kinematic analysis takes."""
    try:
        return playback(shown.result, shown.model)
    except RtmbsError:
        return playback(shown.result, freed(shown.model))


def freed(model: Model) -> Model:
    """Return a copy that a System can be compiled of: every body has a mass, and drivers are rods or nothing."""
    free = copy.deepcopy(model)
    for name, body in list(free.bodies.items())[1:]:
        for what, value in (("mass", 1.0), ("inertia", 1e-3 * np.eye(3))):
            object.__setattr__(body, what, value)  # joints know this very body, and the copy is nobody else's
        if not any(body in (joint.a, joint.b) for joint in free.joints.values()):
            free.add_joint(f"{name}.free", Floating(), "ground", body)
    for name, driver in list(free.drivers.items()):
        if not driver.between:
            del free.drivers[name]
    return free


def main(folder: str, *names: str) -> None:
    """Take the pictures of these names, or all."""
    made = pictures()
    (Path(folder) / PAGES).mkdir(exist_ok=True)
    for name in names or made:
        shown, path = made[name](), Path(folder) / f"gallery_{name}.png"
        loaded(SHARED).draw(shown, path)
        page = Path(folder) / PAGES / f"{name}.json"
        play(shown, page)
        print(path, page)


if __name__ == "__main__":
    main(*sys.argv[1:] or ["docs"])
