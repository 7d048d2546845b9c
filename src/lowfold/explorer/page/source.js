/** Where the scene comes from: elements of this page, or the server behind it. */

import { theLink } from "./link.js";
import { unpack } from "./pack.js";

/** @typedef {import("./pack.js").Pack} Pack */

/** @returns {Promise<Pack>} */
export async function readScene() {
  const link = theLink();
  return unpack(link ? await link.scene() : await embeddedScene());
}

async function embeddedScene() {
  const elements = [...document.querySelectorAll('script[type="application/octet-stream"]')];
  if (!elements.length) throw new Error("There is no scene in this page.");
  const parts = elements.map((element) => {
    const bytes = decodedBase64(element.textContent ?? "");
    element.remove(); // the text is no longer needed, and as long as the scene
    return bytes;
  });
  const stream = new Blob(parts).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/**
 * @param {string} text
 * @returns {Uint8Array<ArrayBuffer>}
 */
function decodedBase64(text) {
  if ("fromBase64" in Uint8Array) return /** @type {any} */ (Uint8Array).fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}
