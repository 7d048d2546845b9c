/** The panel that was touched last: its coordinates, time, spectrum, quality and parameters. */

import { element, section } from "./dom.js";
import { drawSpectrum } from "./spectrum.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./panel.js").Panel} Panel */

/** @type {Record<string, string>} */
const EXPLAINED = {
  trustworthiness: "near in the map: near in the data?",
  continuity: "near in the data: near in the map?",
  recall: "share of nearest points kept",
  "R_NX area": "neighbourhoods of all sizes, chance taken out",
  Shepard: "order of distances",
  labels: "classes told from neighbours in the map",
  silhouette: "classes apart from each other",
};

/** @param {App} app */
export function makeDetails(app) {
  const { whole, body } = section("Map", "details");
  const show = () => {
    const panel = app.active;
    whole.hidden = !panel;
    if (!panel) return;
    whole.querySelector("h2")?.replaceChildren(panel.header.title);
    body.replaceChildren(
      ...[
        axisPickers(app, panel),
        timeSlider(app, panel),
        spectrumPart(app, panel),
        qualityTable(panel),
        facts(panel),
      ].filter((part) => part !== null),
    );
  };
  for (const name of ["active", "panels"]) app.on(name, show);
  show();
  return whole;
}

/** @param {App} app @param {Panel} panel */
function axisPickers(app, panel) {
  if (panel.shown < 3) return null;
  const pickers = [0, 1].map((axis) => {
    const select = element(
      "select",
      {
        id: axis ? "axis-y" : "axis-x",
        onchange: () => {
          const chosen = [...panel.axes];
          chosen[axis] = Number(select.value);
          panel.pick(chosen[0], chosen[1]);
          app.moved(panel, false);
          app.tell("active");
        },
      },
      ...Array.from({ length: panel.shown }, (_, at) => element("option", { value: at }, String(at + 1))),
    );
    select.value = String(panel.axes[axis]);
    return element("label", { class: "field" }, element("span", {}, axis ? "y" : "x"), select);
  });
  return element("div", { class: "pair" }, element("span", { class: "hint" }, "Coordinates"), ...pickers);
}

/** @param {App} app @param {Panel} panel */
function timeSlider(app, panel) {
  if (panel.time === null) return null;
  // Equal steps of the slider are equal ratios of t + 1: short times need finer ones.
  const most = Math.log2(panel.mostTime + 1);
  const shown = element("output", { for: "time" }, timeText(panel.time));
  const input = element("input", {
    type: "range",
    id: "time",
    min: 0,
    max: most,
    step: "any",
    value: Math.log2(panel.time + 1),
    "aria-label": "Diffusion time t",
    "aria-valuetext": timeText(panel.time),
    oninput: () => setTime(2 ** Number(input.value) - 1),
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      const step = /** @type {Record<string, number>} */ ({ ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 })[
        event.key
      ];
      if (!step) return;
      event.preventDefault();
      setTime((panel.time ?? 0) + step * (panel.wholeTimes || event.shiftKey ? 1 : 0.5));
    },
  });
  const setTime = (/** @type {number} */ wanted) => {
    const time = Math.min(
      panel.mostTime,
      Math.max(0, panel.wholeTimes ? Math.round(wanted) : Math.round(wanted * 20) / 20),
    );
    panel.time = time;
    shown.textContent = timeText(time);
    input.value = String(Math.log2(time + 1));
    input.setAttribute("aria-valuetext", timeText(time));
    app.moved(panel, true);
    app.tell("time");
  };
  return element("div", { class: "time" }, element("label", { for: "time" }, "Time"), input, shown);
}

/** @param {number} time */
function timeText(time) {
  return `t = ${Number(time.toFixed(2))}`;
}

/** @param {App} app @param {Panel} panel */
function spectrumPart(app, panel) {
  if (!panel.eigenvalues || panel.eigenvalues.length < 2) return null;
  const canvas = element("canvas", {
    class: "spectrum",
    width: 560,
    height: 180,
    role: "img",
    "aria-label": `Eigenvalues: ${Array.from(panel.eigenvalues, (value) => value.toPrecision(3)).join(", ")}`,
  });
  const title = element(
    "p",
    { class: "hint" },
    panel.time === null
      ? "Eigenvalues; those shown are filled"
      : "Eigenvalues to the power of t, over the largest; those shown are filled",
  );
  const draw = () => drawSpectrum(canvas, panel, app.dark);
  draw();
  app.on("time", () => canvas.isConnected && draw());
  app.on("theme", () => canvas.isConnected && draw());
  return element("div", {}, canvas, title);
}

/** @param {Panel} panel */
function qualityTable(panel) {
  const entries = Object.entries(panel.header.quality);
  if (!entries.length) return null;
  const rows = entries.map(([name, value]) => {
    const bar = element("span", { class: "meter", "aria-hidden": "true" });
    bar.style.setProperty("--share", String(Math.max(0, Math.min(1, Number(value)))));
    return element(
      "tr",
      { title: EXPLAINED[name] ?? "" },
      element("th", { scope: "row" }, name),
      element("td", {}, bar),
      element("td", {}, Number(value).toFixed(3)),
    );
  });
  const pair = panel.axes[0] === 0 && panel.axes[1] === 1;
  const asMade = pair && panel.time === panel.header.time;
  const when = panel.header.time === null ? "" : ` at t = ${panel.header.time}`;
  const note = asMade && panel.shown <= 2 ? null : element("p", { class: "hint" }, `Of coordinates 1 and 2${when}`);
  return element("div", {}, element("table", { class: "quality" }, element("tbody", {}, ...rows)), note);
}

/** @param {Panel} panel */
function facts(panel) {
  const { method, family, parameters, seconds } = panel.header;
  const rows = [
    ["method", method === "given" ? "coordinates as given" : method],
    ...(family === "given" ? [] : [["family", family]]),
    ...(seconds === null || seconds === undefined
      ? []
      : [["time to fit", `${seconds < 10 ? seconds.toFixed(2) : seconds.toFixed(0)} s`]]),
    ...Object.entries(parameters),
  ];
  return element(
    "details",
    { class: "facts" },
    element("summary", {}, "Parameters"),
    element(
      "dl",
      {},
      ...rows.flatMap(([name, value]) => [element("dt", {}, String(name)), element("dd", {}, String(value))]),
    ),
  );
}
