"""Draw the mechanisms of the library, each as a window first shows it, on one sheet.

python -m bench.library_sheet docs    writes docs/library.png
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.cookbook import HEIGHT, WIDTH, sheet
from rtmbs import Simulation, library
from rtmbs.viewer.film import FilmOptions, film_simulation


def picture(name: str, folder: Path) -> Path:
    """Return the picture of a mechanism at its start."""
    sim, path = Simulation(library.build(name).compile()), folder / f"{name}.png"
    options = FilmOptions(frames=1, width=WIDTH, height=HEIGHT, scales=False)
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
