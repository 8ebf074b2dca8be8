"""Pages: a recorded run as one file of HTML that any browser plays without a network."""
