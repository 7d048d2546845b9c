/** Images of rows, and their mean, as small canvases of their own. */

/** @typedef {import("./scene.js").Images} Images */

const MOST_AVERAGED = 5000; // images that a mean looks at

/**
 * The image of a row.
 * @param {Images} images
 * @param {number} row
 * @param {boolean} dark
 */
export function imageCanvas(images, row, dark) {
  const size = images.width * images.height * images.channels;
  return drawn(images, images.pixels.subarray(row * size, (row + 1) * size), dark);
}

/**
 * The mean of the images of some rows.
 * @param {Images} images
 * @param {Uint32Array} rows
 * @param {boolean} dark
 */
export function meanCanvas(images, rows, dark) {
  const size = images.width * images.height * images.channels;
  const sums = new Float64Array(size);
  const step = Math.max(1, rows.length / MOST_AVERAGED);
  let count = 0;
  for (let at = 0; at < rows.length; at += step, count++) {
    const begin = rows[Math.floor(at)] * size;
    for (let pixel = 0; pixel < size; pixel++) sums[pixel] += images.pixels[begin + pixel];
  }
  return drawn(
    images,
    sums.map((sum) => sum / count),
    dark,
  );
}

/**
 * @param {Images} images
 * @param {ArrayLike<number>} pixels
 * @param {boolean} dark
 */
function drawn({ width, height, channels, ink }, pixels, dark) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height];
  canvas.className = "picture";
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const { data } = context.createImageData(width, height);
  for (let at = 0; at < width * height; at++) {
    for (let channel = 0; channel < 3; channel++) {
      const value = pixels[at * channels + (channels === 3 ? channel : 0)];
      data[4 * at + channel] = ink && !dark ? 255 - value : value;
    }
    data[4 * at + 3] = 255;
  }
  context.putImageData(new ImageData(data, width, height), 0, 0);
  return canvas;
}
