"""Roads of OpenCRG files (.crg), text and binary, read by the library PyOpenCRG (extra ``crg``)."""

import os
from typing import Any

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.model.checks import switch
from rtmbs.results.tables import needed
from rtmbs.vehicle.roads.surfaces import Friction, Road


class OpenCrgRoad(Road):
    """Road of an OpenCRG file: heights on a grid along a curved reference line, with its slope and banking.

    Heights are bilinear between the points of the grid, as the standard has it, so slopes jump there. Beyond the file
    its border modes hold.

    Parameters
    ----------
    path : str or path
        File (.crg) in a text or a binary format.
    modifiers : bool, default True
        Apply the modifiers of the file. By the standard a file without any is moved: its reference line starts at the
        origin with heading 0. False keeps the coordinates of the file.
    friction : float or function, default 1.0
        Factor on the friction of tyres, or a function of x, y that returns it.

    Raises
    ------
    InputError
        Without the package PyOpenCRG.
    ModelError
        For a file that is missing or damaged.

    Examples
    --------
    >>> road = rtmbs.vehicle.OpenCrgRoad("belgian_block.crg")  # doctest: +SKIP
    >>> road.height(10.0, 0.5)  # doctest: +SKIP
    """

    def __init__(self, path: str | os.PathLike[str], modifiers: bool = True, friction: Friction = 1.0) -> None:
        super().__init__(friction)
        library = needed("pyopencrg", "a road of OpenCRG", "crg")
        self.path = str(path)
        try:
            self._road = library.read(self.path, apply_mods=switch(modifiers, "road: modifiers"))
        except (OSError, ValueError, library.CrgCheckError) as error:
            raise ModelError(f"road: {shown(self.path)} cannot be read: {error}; it must be an OpenCRG file") from None

    def height(self, x: Any, y: Any) -> Any:
        """Return heights.

        Parameters
        ----------
        x : float or ndarray
            Positions (any shape) along x of the file [m].
        y : float or ndarray
            Positions along y of the file [m].

        Returns
        -------
        float or ndarray
            Heights [m].

        Raises
        ------
        ModelError
            Where the file has no height.
        """
        return self._known(self._road.xy_to_z(np.real(x), np.real(y)), x, y)

    def slopes(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Return the slopes dz/dx and dz/dy.

        Parameters
        ----------
        x : float or ndarray
            Positions along x of the file [m].
        y : float or ndarray
            Positions along y of the file [m].

        Returns
        -------
        tuple
            Slopes along x and y.

        Raises
        ------
        ModelError
            Where the file has no height.
        """
        nx, ny, nz = self._road.xy_to_normal(np.real(x), np.real(y))
        self._known(nz, x, y)
        return -np.asarray(nx) / nz, -np.asarray(ny) / nz

    def _known(self, values: Any, x: Any, y: Any) -> Any:
        """Return values; refuse places without a height."""
        lost = np.isnan(values)
        if np.any(lost):
            place = [float(np.broadcast_to(np.real(one), np.shape(values))[lost][0]) for one in (x, y)]
            raise ModelError(
                f"road: {shown(self.path)} has no height at x = {place[0]:g}, y = {place[1]:g}; it must be a place on "
                "the road, under each wheel"
            )
        return values
