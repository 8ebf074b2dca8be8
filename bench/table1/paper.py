"""Table 1 of the paper: multiple four-bars, 1 s in 200 steps, on an Intel i7-870 (2.93 GHz) in C++ with ADOL-C."""

from typing import NamedTuple


class Printed(NamedTuple):
    """One row of the paper's table; both times are scaled by 400 / n_jacs."""

    bodies: int  # with ground
    n_jacs: int  # evaluations of K and C in the run
    differences: float  # t_num [s]
    autodiff: float  # t_AD [s]
    ratio: float  # t_AD / t_num


SCALED_TO = 400  # evaluations of K and C that every time is scaled to

# (ny, nz): four-bars in series along Y, rows along Z
TABLE: dict[tuple[int, int], Printed] = {
    (1, 10): Printed(31, 427, 0.979, 1.505, 1.54),
    (2, 10): Printed(51, 425, 3.216, 5.153, 1.60),
    (3, 10): Printed(71, 425, 7.592, 10.28, 1.35),
    (4, 10): Printed(91, 425, 14.50, 17.41, 1.20),
    (1, 20): Printed(61, 430, 4.891, 7.415, 1.52),
    (2, 20): Printed(101, 428, 18.91, 22.53, 1.19),
    (3, 20): Printed(141, 428, 47.27, 50.44, 1.07),
    (4, 20): Printed(181, 427, 97.20, 95.82, 0.99),
    (1, 30): Printed(91, 459, 13.68, 18.15, 1.33),
    (2, 30): Printed(151, 456, 56.68, 59.90, 1.06),
    (3, 30): Printed(211, 455, 150.2, 143.9, 0.96),
    (4, 30): Printed(271, 454, 307.8, 275.2, 0.89),
    (1, 40): Printed(121, 468, 29.88, 35.43, 1.19),
    (2, 40): Printed(201, 465, 130.1, 127.3, 0.98),
    (3, 40): Printed(281, 464, 343.6, 308.8, 0.90),
    (4, 40): Printed(361, 463, 861.1, 791.8, 0.92),
}
