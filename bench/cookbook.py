"""Draw the mechanisms of the cookbook, each at the start of its motion, on one sheet.

python -m bench.cookbook docs    writes docs/cookbook.png
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rtmbs import language
from rtmbs.kinematics import Analysis
from rtmbs.viewer.film import FilmOptions, film_result

FOLDER = Path(__file__).parents[1] / "docs" / "gallery" / "cookbook"
COLUMNS, WIDTH, HEIGHT = 6, 320, 240  # of the sheet; pixels of a picture
COLORS = 128  # of the palette


def picture(file: Path, folder: Path) -> Path:
    """Return the picture of a mechanism at the start of its motion."""
    document, path = language.read(file), folder / f"{file.stem}.png"
    analysis = document.analysis
    motion = Analysis(document.model, document.constraints).run(analysis.t0, analysis.t1, analysis.dt)
    film_result(motion, path, FilmOptions(frames=1, width=WIDTH, height=HEIGHT, scales=False), document.model, None)
    return path


def sheet(pictures: list[Path], target: Path) -> None:
    """Write all pictures with their names on one sheet."""
    from rtmbs.results.tables import needed

    needed("matplotlib", "python -m bench.cookbook", "plot").use("agg")
    import matplotlib.pyplot as plt

    rows = -(-len(pictures) // COLUMNS)
    figure, axes = plt.subplots(rows, COLUMNS, figsize=(2.5 * COLUMNS, 2.05 * rows), layout="constrained")
    cells: list[Any] = list(axes.ravel())
    for axis in cells:
        axis.axis("off")
    for axis, path in zip(cells, pictures, strict=False):
        axis.imshow(plt.imread(path))
        axis.set_title(path.stem.replace("_", " "), fontsize=10)
    figure.savefig(target, dpi=80)
    few_colors(target)


def few_colors(path: Path) -> None:
    """Write a picture again with a palette, in a fraction of the bytes."""
    from PIL import Image

    Image.open(path).convert("RGB").quantize(COLORS).save(path, optimize=True)


def main() -> None:
    """Draw and write."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "docs", "cookbook.png")
    with TemporaryDirectory() as folder:
        sheet([picture(file, Path(folder)) for file in sorted(FOLDER.glob("*.mks"))], target)
    print(target)


if __name__ == "__main__":
    main()
