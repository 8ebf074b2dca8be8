"""How large and how small numbers may be before they stop being numbers of a mechanism, in any units."""

SHORTEST, LONGEST = 1e-100, 1e100  # steps [s]: their squares are still numbers
BEYOND = 1e100  # no coordinate, rate, acceleration or force comes near: squares and products are still numbers
