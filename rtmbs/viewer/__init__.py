"""Live viewer in five rooms: scene, session, film, web and qt. Qt is loaded when a window opens."""
