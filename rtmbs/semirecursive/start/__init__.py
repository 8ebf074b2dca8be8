"""The consistent start: positions assembled, rates projected, penalties sized, accelerations solved."""
