"""The window: canvas, overlays, docks with panels, actions. Only this room loads Qt."""
