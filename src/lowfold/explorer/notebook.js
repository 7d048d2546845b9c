/** The page in a notebook: in a frame of its own, with a port to the kernel and nothing else. */

/** @param {DataView} view */
function copied(view) {
  return view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength);
}

/** @param {any} model */
function chosenRows(model) {
  return new Uint32Array(copied(model.get("_rows")));
}

function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.title = "Lowfold";
  frame.setAttribute("sandbox", "allow-scripts allow-downloads allow-forms");
  frame.style.cssText = "width: 100%; box-sizing: border-box; border: 1px solid #8884; border-radius: 8px;";
  const resize = () => (frame.style.height = `${model.get("height")}px`);
  let port = null;

  const heard = ({ data }) => {
    if (data.rows !== undefined) {
      model.set("_rows", new DataView(data.rows.slice().buffer));
      model.save_changes();
    } else {
      model.send(data);
    }
  };
  const told = (content, buffers) => {
    if (buffers?.length) port?.postMessage({ pack: copied(buffers[0]) });
    else port?.postMessage({ text: JSON.stringify(content) });
  };
  const selected = () => port?.postMessage({ rows: chosenRows(model) });
  const ready = ({ source, data }) => {
    if (source !== frame.contentWindow || data !== "lowfold ready") return;
    const channel = new MessageChannel();
    port = channel.port1;
    port.onmessage = heard;
    frame.contentWindow.postMessage("lowfold port", "*", [channel.port2]);
    port.postMessage({ scene: copied(model.get("_scene")), methods: JSON.parse(model.get("_methods")) });
  };

  addEventListener("message", ready);
  model.on("msg:custom", told);
  model.on("change:_rows", selected);
  model.on("change:height", resize);
  resize();
  frame.srcdoc = model.get("_page");
  el.append(frame);
  return () => {
    removeEventListener("message", ready);
    model.off("msg:custom", told);
    model.off("change:_rows", selected);
    model.off("change:height", resize);
  };
}

export default { render };
