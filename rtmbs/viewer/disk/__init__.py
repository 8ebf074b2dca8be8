"""The history of a session on disk: blocks of states and poses that survive the process, and their replay."""
