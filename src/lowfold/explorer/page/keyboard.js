/** Everything that a mouse can do, by keys. */

import { byId } from "./dom.js";
import { showHelp } from "./help.js";

/** @typedef {import("./app.js").App} App */

const STEP = 40; // pixels
const ZOOM = 1.3;

/** @param {App} app @param {() => void} turnTheme */
export function listenToKeys(app, turnTheme) {
  /** @type {Record<string, () => void>} */
  const anywhere = {
    "/": () => byId("search").focus(),
    "?": showHelp,
    d: turnTheme,
    l: () => app.setTool("lasso"),
    m: () => app.setTool("move"),
    c: () => nextColor(app),
    n: () => nextPoint(app, 1),
    p: () => nextPoint(app, -1),
    "[": () => changeTime(app, -1),
    "]": () => changeTime(app, 1),
    Escape: () => escape(app),
  };
  document.addEventListener("keydown", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      event.defaultPrevented ||
      isWriting(target) ||
      target.closest("dialog")
    )
      return;
    const onMap = target.classList.contains("plot");
    const run =
      (onMap ? mapKeys(app)[event.key] : undefined) ??
      anywhere[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!run) return;
    event.preventDefault();
    run();
  });
}

/** @param {HTMLElement} target */
function isWriting(target) {
  return (
    target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement
  );
}

/** @param {App} app @returns {Record<string, () => void>} */
function mapKeys(app) {
  const panel = app.active;
  if (!panel) return {};
  const size = /** @type {[number, number]} */ ([panel.box.width, panel.box.height]);
  const pan = (/** @type {number} */ dx, /** @type {number} */ dy) => () => {
    panel.view.pan(panel.bounds(), size, dx, dy);
    app.moved(panel, true);
  };
  const zoom = (/** @type {number} */ factor) => () => {
    panel.view.zoomBy(panel.bounds(), size, factor);
    app.moved(panel, true);
  };
  return {
    ArrowLeft: pan(STEP, 0),
    ArrowRight: pan(-STEP, 0),
    ArrowUp: pan(0, STEP),
    ArrowDown: pan(0, -STEP),
    "+": zoom(ZOOM),
    "=": zoom(ZOOM),
    "-": zoom(1 / ZOOM),
    _: zoom(1 / ZOOM),
    0: () => {
      panel.view.goHome();
      app.moved(panel, false);
    },
    Enter: () => app.focus(app.focused ? null : panel),
  };
}

/** @param {App} app */
function nextColor(app) {
  const usable = app.scene.columns.filter((/** @type {any} */ column) => column.kind !== "text");
  if (usable.length) app.setColor(usable[(usable.indexOf(app.colorBy) + 1) % usable.length]);
  app.announce(`Coloured by ${app.colorBy?.name ?? "nothing"}`);
}

/** Hovers the next point of the selection, or of all. @param {App} app @param {number} step */
function nextPoint(app, step) {
  const panel = app.active;
  if (!panel) return;
  const count = app.selection.length || app.scene.n;
  const rowAt = (/** @type {number} */ at) => (app.selection.length ? app.selection[at] : at);
  const here = app.hovered
    ? app.selection.length
      ? app.selection.indexOf(app.hovered.row)
      : app.hovered.row
    : step > 0
      ? -1
      : 0;
  const row = rowAt((here + step + count) % count);
  const point = panel.pointOf(row);
  if (point < 0) return;
  app.hover({ panel, point, row });
  app.announce(
    [
      `Row ${row}`,
      ...app.scene.columns.slice(0, 4).map((/** @type {any} */ column) => `${column.name} ${column.text(row)}`),
    ].join(", "),
  );
}

/** @param {App} app @param {number} step */
function changeTime(app, step) {
  const panel = app.active;
  if (!panel || panel.time === null) return;
  panel.time = Math.min(panel.mostTime, Math.max(0, panel.time + step));
  app.moved(panel, true);
  app.tell("active");
  app.announce(`t = ${panel.time}`);
}

/** @param {App} app */
function escape(app) {
  if (app.hovered) app.hover(null);
  else if (app.selection.length) app.select(new Uint32Array(0));
  else if (app.focused) app.focus(null);
}
