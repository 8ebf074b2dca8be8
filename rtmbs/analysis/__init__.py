"""What a user asks of a state beside its motion: linearisation, and modes."""
