"""Draw the mechanisms of the library, each as a window first shows it, on one sheet.

python -m bench.library_sheet docs    writes docs/library.png
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.cookbook import HEIGHT, WIDTH, sheet
from rtmbs import Simulation, library
from rtmbs.viewer.film import FilmOptions, film_simulation
from rtmbs.viewer.scene.camera import Camera, common_axis, ground_axes
from rtmbs.viewer.session.worker import ManualConnection


def first_view(sim: Simulation) -> str:
    """Return the view in which a window opens a mechanism: along the common axis of its joints, or from a corner."""
    connection = ManualConnection(sim)
    connection.should_step()
    description, frame = connection.describe(), connection.latest()
    assert frame is not None
    camera = Camera(ground=ground_axes(description.gravity))
    if (axis := common_axis(description, frame.A)) is not None:
        camera.look_along(axis)
    return f"{camera.azimuth:.6f},{camera.elevation:.6f}"


def picture(name: str, folder: Path) -> Path:
    """Return the picture of a mechanism at its start."""
    sim, path = Simulation(library.build(name).compile()), folder / f"{name}.png"
    options = FilmOptions(frames=1, width=WIDTH, height=HEIGHT, scales=False, camera=first_view(sim))
    film_simulation(sim, path, options)
    return path


def main() -> None:
    """Draw and write."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "docs", "library.png")
    with TemporaryDirectory() as folder:
        sheet([picture(name, Path(folder)) for name in sorted(library.MECHANISMS)], target)
    print(target)


if __name__ == "__main__":
    main()
