"""Live viewer: rooms scene, session, web and qt; films without a window. Qt is loaded when a window opens."""
