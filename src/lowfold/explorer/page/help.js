/** Keys and gestures, in a dialog. */

import { element } from "./dom.js";

const HELP = [
  ["Drag", "moves the map"],
  ["Wheel, pinch, + −", "zooms; 0 shows all"],
  ["Shift and drag", "selects inside the line (L: without Shift)"],
  ["Ctrl or Alt with it", "adds to the selection, takes from it"],
  ["Click", "selects a point; on nothing, clears"],
  ["Double click, Enter", "fills the stage with a map"],
  ["Arrows", "move the map that has the focus"],
  ["N, P", "hover the next, the previous point"],
  ["[ ]", "diffusion time back and forth"],
  ["C", "next column to colour by"],
  ["/", "search"],
  ["D", "dark or light"],
  ["Esc", "clears the selection, leaves a map"],
];

export function showHelp() {
  const dialog = element(
    "dialog",
    { class: "help", "aria-label": "Keys and gestures" },
    element("h2", {}, "Keys and gestures"),
    element("dl", {}, ...HELP.flatMap(([keys, meaning]) => [element("dt", {}, keys), element("dd", {}, meaning)])),
    element(
      "p",
      { class: "hint" },
      "Hovering a point joins it to its nearest points in the data: green ones the map kept, orange ones it lost; pink ones are near in the map alone.",
    ),
    element("form", { method: "dialog" }, element("button", { class: "tool", type: "submit" }, "Close")),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
