/** What is known about the hovered point, beside it: its image, values, and its neighbours in this map. */

import { byId, element } from "./dom.js";
import { FALSE, KEPT, LOST, neighborsIn } from "./marks.js";
import { imageCanvas } from "./thumbnails.js";

/** @typedef {import("./app.js").App} App */

const MOST_VALUES_SHOWN = 7;
const LONGEST = 120; // characters of a text

/** @param {App} app */
export function makeCard(app) {
  const card = /** @type {HTMLElement} */ (byId("card"));
  app.on("hover", () => {
    card.hidden = !app.hovered;
    if (app.hovered) {
      card.replaceChildren(...contents(app, app.hovered));
      placeBeside(card, app.hovered);
    }
  });
}

/** @param {App} app @param {import("./app.js").Hovered} hovered */
function contents(app, { panel, point, row }) {
  const { scene } = app;
  const first = app.colorBy && app.colorBy !== "trust" ? [app.colorBy] : [];
  const columns = [...first, ...scene.columns.filter((/** @type {any} */ column) => column !== app.colorBy)];
  const values = element(
    "dl",
    {},
    ...columns.slice(0, MOST_VALUES_SHOWN).flatMap((column) => {
      const text = column.text(row);
      return [
        element("dt", {}, column.name),
        element("dd", {}, text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text),
      ];
    }),
  );
  const more =
    columns.length > MOST_VALUES_SHOWN
      ? element("p", { class: "hint" }, `and ${columns.length - MOST_VALUES_SHOWN} more columns`)
      : null;
  const picture = scene.images ? imageCanvas(scene.images, row, app.dark) : null;
  return [
    picture,
    element("div", {}, element("p", { class: "row" }, `row ${row}`), values, more, neighborLine(app, panel, point)),
  ].filter((part) => part !== null);
}

/** @param {App} app @param {import("./panel.js").Panel} panel @param {number} point */
function neighborLine(app, panel, point) {
  if (!app.scene.neighbors || !app.showsNeighbors) return null;
  const found = neighborsIn(panel, point, app.scene);
  const part = (/** @type {number} */ count, /** @type {string} */ word, /** @type {string} */ color) => {
    const sign = element("i", { "aria-hidden": "true" });
    sign.style.borderColor = color;
    return element("span", {}, sign, `${count} ${word}`);
  };
  return element(
    "p",
    { class: "near", title: "Of its nearest points in the data" },
    part(found.kept.length, "kept", KEPT),
    part(found.lost.length, "lost", LOST),
    part(found.false.length, "false", FALSE),
  );
}

/** @param {HTMLElement} card @param {import("./app.js").Hovered} hovered */
function placeBeside(card, { panel, point }) {
  const [x, y] = panel.placeOf(point);
  const stage = byId("stage").getBoundingClientRect();
  const { width, height } = card.getBoundingClientRect();
  const [left, top] = [stage.left + panel.box.left + x, stage.top + panel.box.top + y];
  const fits = left + 22 + width < window.innerWidth;
  card.style.left = `${Math.max(4, fits ? left + 18 : left - 18 - width)}px`;
  card.style.top = `${Math.max(4, Math.min(window.innerHeight - height - 4, top - height / 3))}px`;
}
