"""The consistent start: positions assembled, velocities projected, penalties sized, accelerations solved (METHODS 1.15)."""
