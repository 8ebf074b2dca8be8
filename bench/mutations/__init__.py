"""Mutation campaign: small faults are put into copies of the package, and its tests must find them."""
