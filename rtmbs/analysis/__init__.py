"""What a user asks of a state beside its motion: equilibria, linearisation, modes."""
