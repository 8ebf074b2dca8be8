"""Shadow on the floor as programs of GLSL 3.30, which the renderer of the window and a page of a browser share.

All that stands over the floor is drawn from above into a small picture, blurred, and laid on the floor.
"""

PIXELS = 160  # of the picture from above, each way: few, so that it is soft and cheap
CROWD = 200  # placements from which a renderer without a graphics card leaves out the shadow

FADE = "float fade(float height) { return clamp(1.0 - 1.1 * height, 0.15, 1.0); }"  # what stands higher casts less
BLUR_FRAGMENT = """#version 330 core
in vec2 place;
uniform sampler2D picture;
uniform vec2 way;  // one pixel along a row or a column
out vec4 shade;
void main() {
    vec4 sum = 0.2270270 * texture(picture, place);
    sum += 0.3162162 * (texture(picture, place + 1.3846154 * way) + texture(picture, place - 1.3846154 * way));
    sum += 0.0702703 * (texture(picture, place + 3.2307692 * way) + texture(picture, place - 3.2307692 * way));
    shade = sum;
}
"""
FLOOR_FRAGMENT = """#version 330 core
in vec2 place;
uniform sampler2D picture;
uniform float dark;
out vec4 shade;
void main() { shade = vec4(0.0, 0.0, 0.0, dark * texture(picture, place).r); }
"""
