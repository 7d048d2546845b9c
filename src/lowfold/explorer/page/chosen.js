/** The selection: how many, of which classes, what sets it apart, its images; and what can be done with it. */

import { classLook } from "./colors.js";
import { element, grouped, percent, section } from "./dom.js";
import { saveTable } from "./exporting.js";
import { shownNumber } from "./scene.js";
import { inverted } from "./selection.js";
import { classCounts, tellingColumns } from "./statistics.js";
import { imageCanvas, meanCanvas } from "./thumbnails.js";

/** @typedef {import("./app.js").App} App */

const CLASSES_SHOWN = 8;
const COLUMNS_SHOWN = 6;
const PICTURES_SHOWN = 24;

/** @param {App} app */
export function makeChosen(app) {
  const { whole, body } = section("Selection", "chosen");
  const show = () => body.replaceChildren(...(app.selection.length ? contentsOf(app) : [invitation(app)]));
  for (const name of ["selection", "theme"]) app.on(name, show);
  show();
  return whole;
}

/** @param {App} app */
function invitation(app) {
  return element(
    "div",
    {},
    element(
      "p",
      { class: "hint" },
      "Draw around points (Lasso, or Shift and drag) or click one, to see what they have in common in every map.",
    ),
    element(
      "div",
      { class: "actions" },
      element("button", { class: "tool", type: "button", onclick: () => saveTable(app) }, "All as CSV"),
    ),
  );
}

/** @param {App} app */
function contentsOf(app) {
  const { scene, selection } = app;
  const parts = [
    element(
      "p",
      { class: "total" },
      element("strong", {}, grouped(selection.length)),
      ` of ${grouped(scene.n)} points (${percent(selection.length / scene.n)})`,
    ),
    element(
      "div",
      { class: "actions" },
      action("CSV", "The selected rows as a CSV file", () => saveTable(app)),
      action("Invert", "Select the others", () => app.select(inverted(selection, scene.n))),
      action("Clear", "Select nothing (Esc)", () => app.select(new Uint32Array(0))),
    ),
  ];
  for (const column of scene.columns.filter((/** @type {any} */ one) => one.kind === "category").slice(0, 3))
    parts.push(classBars(app, column));
  const telling = tellingColumns(scene.columns, selection)
    .filter((one) => Math.abs(one.shift) > 0.05)
    .slice(0, COLUMNS_SHOWN);
  if (telling.length && selection.length < scene.n) parts.push(shiftBars(telling));
  if (scene.images) parts.push(pictureRow(app));
  return parts;
}

/** @param {string} title @param {string} help @param {() => void} run */
function action(title, help, run) {
  return element("button", { class: "tool", type: "button", title: help, onclick: run }, title);
}

/** @param {App} app @param {any} column */
function classBars(app, column) {
  const counts = classCounts(column, app.selection);
  const most = counts[0]?.chosen ?? 1;
  const rows = counts.slice(0, CLASSES_SHOWN).map(({ name, number, chosen, all }) => {
    const bar = element("span", { class: "bar-fill" });
    bar.style.width = `${(100 * chosen) / most}%`;
    bar.style.background =
      column === app.colorBy ? classLook(number, column.categories.length, app.dark).color : "var(--quiet-ink)";
    return element(
      "tr",
      { title: `${grouped(chosen)} of ${grouped(all)} in this class` },
      element("th", { scope: "row" }, name || "(empty)"),
      element("td", { class: "bar-cell" }, bar),
      element("td", {}, grouped(chosen)),
      element("td", { class: "faint" }, percent(chosen / all)),
    );
  });
  const more =
    counts.length > CLASSES_SHOWN ? element("p", { class: "hint" }, `and ${counts.length - CLASSES_SHOWN} more`) : null;
  return element(
    "div",
    {},
    element("h3", {}, column.name),
    element("table", { class: "bars" }, element("tbody", {}, ...rows)),
    more,
  );
}

/** @param {{ name: string, mean: number, overall: number, shift: number }[]} telling */
function shiftBars(telling) {
  const most = Math.max(...telling.map((one) => Math.abs(one.shift)));
  const rows = telling.map(({ name, mean, overall, shift }) => {
    const bar = element("span", { class: `shift ${shift < 0 ? "below" : "above"}` });
    bar.style.width = `${(50 * Math.abs(shift)) / most}%`;
    return element(
      "tr",
      { title: `mean ${shownNumber(mean)}, of all ${shownNumber(overall)}` },
      element("th", { scope: "row" }, name),
      element("td", { class: "bar-cell both" }, bar),
      element("td", {}, `${shift < 0 ? "−" : "+"}${Math.abs(shift).toFixed(1)} sd`),
    );
  });
  return element(
    "div",
    {},
    element("h3", {}, "What sets it apart"),
    element("table", { class: "bars" }, element("tbody", {}, ...rows)),
  );
}

/** @param {App} app */
function pictureRow(app) {
  const { selection, dark } = app;
  const images = /** @type {import("./scene.js").Images} */ (app.scene.images);
  const step = Math.max(1, selection.length / PICTURES_SHOWN);
  const rows = Array.from(
    { length: Math.min(PICTURES_SHOWN, selection.length) },
    (_, at) => selection[Math.floor(at * step)],
  );
  const mean = meanCanvas(images, selection, dark);
  mean.classList.add("mean");
  mean.title = "The mean of the selected images";
  return element("div", { class: "pictures" }, mean, ...rows.map((row) => imageCanvas(images, row, dark)));
}
