"""The live viewer. Nothing of Qt is loaded before a window opens."""
