"""What a picture shows: description, frames, shapes, colours, camera, and the OpenGL renderer. No Qt."""
