"""Sessions: a Simulation with commands and history, paced in a process, a thread or a loop, and recorded results."""
