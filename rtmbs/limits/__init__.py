"""How large numbers may be, and how much memory there is."""
