/** The programs that run on the graphics card. */

// A diffusion map's coordinates are stored for time 0; the card multiplies by the eigenvalues' powers.
export const POINT_VERTEX = `#version 300 es
in float x; in float y; in vec4 color; in uint flag; in float trust;
uniform vec2 lambda; uniform float time;
uniform vec2 scale; uniform vec2 shift; uniform float size;
uniform vec3 opacity; // of points that are not selected, of those that are, how far trust counts
flat out vec4 shade; flat out int shape; flat out float soft;
float power(float value, float t) {
  float size = abs(value);
  if (size < 1e-12) return 0.0;
  return pow(size, t) * (value < 0.0 && mod(t, 2.0) == 1.0 ? -1.0 : 1.0);
}
void main() {
  vec2 place = vec2(x, y);
  if (time != 0.0) place *= vec2(power(lambda.x, time), power(lambda.y, time));
  gl_Position = (flag & 1u) != 0u ? vec4(2.0, 2.0, 2.0, 1.0) : vec4(place * scale + shift, 0.0, 1.0);
  bool chosen = (flag & 2u) != 0u;
  float seen = (chosen ? opacity.y : opacity.x) * mix(1.0, 0.06 + 0.94 * trust, opacity.z);
  shade = vec4(color.rgb * seen, seen);
  shape = int(color.a * 255.0 + 0.5);
  gl_PointSize = shape == 0 ? size : size * 1.25;
  soft = 1.0 / gl_PointSize;
}`;

// Shapes by their distance from the edge: disk, square, triangles, diamond, plus, cross, star.
export const POINT_FRAGMENT = `#version 300 es
precision mediump float;
flat in vec4 shade; flat in int shape; flat in float soft;
out vec4 result;
float inside(vec2 p) {
  vec2 a = abs(p);
  if (shape == 0) return 0.5 - length(p);
  if (shape == 1) return 0.4 - max(a.x, a.y);
  if (shape == 2) return min(0.4 - p.y, 0.3 + 0.5 * p.y - a.x);
  if (shape == 3) return (0.5 - a.x - a.y) * 0.7;
  if (shape == 4) return min(0.4 + p.y, 0.3 - 0.5 * p.y - a.x);
  if (shape == 5) return 0.15 - min(max(a.x - 0.3, a.y), max(a.y - 0.3, a.x));
  if (shape == 6) return min(0.17 - abs(a.x - a.y) * 0.7, 0.48 - max(a.x, a.y));
  float angle = atan(p.x, -p.y) * 0.7957747;
  return (mix(0.5, 0.22, abs(fract(angle + 0.5) - 0.5) * 2.0) - length(p)) * 0.8;
}
void main() {
  float cover = clamp(inside(gl_PointCoord - 0.5) / soft + 0.5, 0.0, 1.0);
  result = shade * cover;
}`;

// A picture of the atlas around a point: corner (x, y) of a unit square, its place and tile for each picture.
export const PICTURE_VERTEX = `#version 300 es
in vec2 corner; in vec2 place; in vec2 tile; in vec4 frame;
uniform vec2 view; uniform vec2 side; uniform vec2 tileSize; uniform float border;
out vec2 at; out vec2 edge; flat out vec4 frameColor; flat out vec4 inside;
void main() {
  vec2 outer = side + 2.0 * border;
  vec2 pixel = place + (corner - 0.5) * outer;
  gl_Position = vec4(pixel.x / view.x * 2.0 - 1.0, 1.0 - pixel.y / view.y * 2.0, 0.0, 1.0);
  vec2 inner = (corner * outer - border) / side;
  at = tile + inner * tileSize;
  inside = vec4(tile, tile + tileSize);
  edge = inner;
  frameColor = frame;
}`;

export const PICTURE_FRAGMENT = `#version 300 es
precision highp float;
in vec2 at; in vec2 edge; flat in vec4 frameColor; flat in vec4 inside;
uniform sampler2D atlas; uniform vec3 paper; uniform vec3 ink; uniform bool grey;
out vec4 result;
void main() {
  float margin = 0.5 / float(textureSize(atlas, 0).x); // so that no picture shows its neighbour's edge
  vec4 texel = texture(atlas, clamp(at, inside.xy + margin, inside.zw - margin));
  vec3 shown = grey ? mix(paper, ink, texel.r) : texel.rgb;
  bool outside = edge.x < 0.0 || edge.y < 0.0 || edge.x > 1.0 || edge.y > 1.0;
  result = vec4(outside ? frameColor.rgb : shown, 1.0) * frameColor.a;
}`;
