"""Numerical mathematics without mechanics: linear systems and ranks, rotations, 6-vectors."""
