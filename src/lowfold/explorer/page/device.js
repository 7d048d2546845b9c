/** One WebGL2 context for all panels, its programs and buffers. */

/**
 * @param {HTMLCanvasElement} canvas
 * @returns {WebGL2RenderingContext}
 */
export function openDevice(canvas) {
  // What was drawn stays: points are added to it while the page is at rest, and it can be saved as a picture.
  const gl = canvas.getContext("webgl2", { antialias: false, preserveDrawingBuffer: true, depth: false });
  if (!gl) throw new Error("This browser has no WebGL2, which the maps are drawn with.");
  gl.enable(gl.SCISSOR_TEST);
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  return gl;
}

/**
 * A program and the places of its uniforms.
 * @param {WebGL2RenderingContext} gl
 * @param {string} vertex
 * @param {string} fragment
 * @param {string[]} attributes in the order of their locations
 */
export function makeProgram(gl, vertex, fragment, attributes) {
  const program = gl.createProgram();
  for (const [kind, source] of /** @type {[number, string][]} */ ([
    [gl.VERTEX_SHADER, vertex],
    [gl.FRAGMENT_SHADER, fragment],
  ])) {
    const shader = /** @type {WebGLShader} */ (gl.createShader(kind));
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  attributes.forEach((name, location) => gl.bindAttribLocation(program, location, name));
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
    const logs = (gl.getAttachedShaders(program) ?? []).map((shader) => gl.getShaderInfoLog(shader));
    throw new Error(`The graphics card refused a program: ${[gl.getProgramInfoLog(program), ...logs].join(" ")}`);
  }
  const count = gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS);
  /** @type {Record<string, WebGLUniformLocation | null>} */
  const uniforms = {};
  for (let at = 0; at < count; at++) {
    const { name } = /** @type {WebGLActiveInfo} */ (gl.getActiveUniform(program, at));
    uniforms[name] = gl.getUniformLocation(program, name);
  }
  return { program, uniforms };
}

/**
 * A buffer with these values.
 * @param {WebGL2RenderingContext} gl
 * @param {ArrayBufferView<ArrayBuffer>} values
 * @param {WebGLBuffer | null} [buffer] one to fill again
 * @param {number} [target]
 */
export function fillBuffer(gl, values, buffer, target = gl.ARRAY_BUFFER) {
  const filled = buffer ?? gl.createBuffer();
  gl.bindVertexArray(null);
  gl.bindBuffer(target, filled);
  gl.bufferData(target, values, gl.STATIC_DRAW);
  return filled;
}
