/** Starts the page. */

import { App } from "./app.js";
import { makeCard } from "./card.js";
import { makeChosen } from "./chosen.js";
import { makeDetails } from "./details.js";
import { byId, element } from "./dom.js";
import { listenToKeys } from "./keyboard.js";
import { makeLegend } from "./legend.js";
import { Marks } from "./marks.js";
import { listenToPointer } from "./pointer.js";
import { connect } from "./server.js";
import { readScene } from "./source.js";
import { Stage } from "./stage.js";
import { followTheme } from "./theme.js";
import { makeToolbar } from "./toolbar.js";

/** @param {unknown} error */
function fail(error) {
  byId("stage").replaceChildren(
    element("p", { class: "failure", role: "alert" }, error instanceof Error ? error.message : String(error)),
  );
  console.error(error);
}

async function start() {
  const app = new App(await readScene());
  makeToolbar(app);
  const marks = new Marks(app);
  app.appearance.colorBy(app.colorBy, app.dark);
  new Stage(app, (panel, plot) => listenToPointer(app, marks, panel, plot));
  byId("side").append(makeLegend(app), makeChosen(app), makeDetails(app));
  makeCard(app);
  listenToKeys(app, followTheme(app));
  byId("points").addEventListener("webglcontextlost", () =>
    fail(new Error("The graphics card was reset. Load the page again.")),
  );
  await connect(app);
  Object.assign(window, { lowfold: app }); // for the curious, and for tests
  document.body.dataset.ready = "1";
}

start().catch(fail);
