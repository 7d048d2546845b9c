/** The eigenvalues of a map as bars. */

/** @typedef {import("./panel.js").Panel} Panel */

/**
 * @param {HTMLCanvasElement} canvas
 * @param {Panel} panel
 * @param {boolean} dark
 */
export function drawSpectrum(canvas, panel, dark) {
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const { width, height } = canvas;
  const heights = spectrumHeights(panel);
  const ink = dark ? "#a5acb6" : "#6b7280";
  context.clearRect(0, 0, width, height);
  const base = height - 30;
  const across = width / heights.length;
  context.font = "22px system-ui, sans-serif";
  context.textAlign = "center";
  heights.forEach((share, at) => {
    const shown = panel.axes.includes(at);
    const size = Math.max(2, share * (base - 8));
    context.fillStyle = shown ? "#0072B2" : dark ? "#3a414c" : "#d4d8de";
    context.fillRect(at * across + across * 0.15, base - size, across * 0.7, size);
    context.fillStyle = ink;
    context.fillText(String(at + 1), (at + 0.5) * across, height - 6);
  });
}

/**
 * Sizes of the eigenvalues over the largest; to the power of the time, for a diffusion map.
 * @param {Panel} panel
 */
export function spectrumHeights(panel) {
  const values = Array.from(panel.eigenvalues ?? [], Math.abs);
  const most = Math.max(...values, 1e-300);
  return values.map((value) => (value / most) ** (panel.time ?? 1));
}
