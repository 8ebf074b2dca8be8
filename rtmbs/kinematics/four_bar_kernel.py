"""Positions of many four-bars at many crank angles, in one compiled call."""

import numpy as np

from rtmbs.jit.compiled import kernel


@kernel
def four_bar_positions(lengths, points, angles, branch, coupler, rocker, transmission, x, y):
    """Fill coupler and rocker angle, transmission angle [rad] and coupler point [m] (N, S) each; nan where none closes.

    lengths (N, 4): ground, crank, coupler, rocker [m]; points (N, 2) along and across the coupler from the crank pin;
    angles (S,) of the crank from the line of the ground pivots; branch (N,): 1 or -1, the side of the coupler's end.
    """
    for i in range(lengths.shape[0]):
        g, a, b, c = lengths[i, 0], lengths[i, 1], lengths[i, 2], lengths[i, 3]
        for k in range(len(angles)):
            bx, by = a * np.cos(angles[k]), a * np.sin(angles[k])
            dx, dy = g - bx, -by
            square = dx * dx + dy * dy
            cosine = (b * b + square - c * c) / (2.0 * b * np.sqrt(square))
            if not abs(cosine) <= 1.0:
                coupler[i, k] = rocker[i, k] = transmission[i, k] = x[i, k] = y[i, k] = np.nan
                continue
            theta = np.arctan2(dy, dx) + branch[i] * np.arccos(cosine)
            ct, st = np.cos(theta), np.sin(theta)
            coupler[i, k] = np.arctan2(st, ct)
            rocker[i, k] = np.arctan2(by + b * st, bx + b * ct - g)
            transmission[i, k] = np.arccos(min(max((b * b + c * c - square) / (2.0 * b * c), -1.0), 1.0))
            u, v = points[i, 0], points[i, 1]
            x[i, k] = bx + u * ct - v * st
            y[i, k] = by + u * st + v * ct
