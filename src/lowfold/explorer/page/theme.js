/** Dark or light: as the system wishes, until the reader chooses. */

import { byId } from "./dom.js";

/** @param {import("./app.js").App} app */
export function followTheme(app) {
  const wish = matchMedia("(prefers-color-scheme: dark)");
  /** @type {boolean | null} */
  let chosen = null;
  const apply = () => {
    app.dark = chosen ?? wish.matches;
    document.documentElement.dataset.theme = app.dark ? "dark" : "light";
    app.recolor();
    app.tell("theme");
  };
  const turn = () => {
    chosen = !app.dark;
    apply();
  };
  wish.addEventListener("change", apply);
  byId("theme").addEventListener("click", turn);
  apply();
  return turn;
}
