"""The panels of the window: each a widget that is shown frames, and knows no session."""
