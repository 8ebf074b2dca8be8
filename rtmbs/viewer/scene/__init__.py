"""Content of a picture: description, frames, shapes, colours, camera, and the OpenGL renderer. No Qt."""
