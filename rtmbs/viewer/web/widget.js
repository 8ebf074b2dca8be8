// A live page in the output of a notebook: its requests and pictures go through the kernel.
function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.style.cssText = `width: 100%; height: ${model.get("height")}px; border: 0`;
  frame.title = "rtmbs";
  frame.allow = "fullscreen";
  const load = () => (frame.srcdoc = model.get("page"));
  const down = (message, buffers) => {
    const views = buffers.map((one) => one.buffer.slice(one.byteOffset, one.byteOffset + one.byteLength));
    frame.contentWindow?.postMessage({ rtmbs: true, data: views[0] ?? message.text }, "*");
    if (views.length) requestAnimationFrame(() => model.send({ drawn: message.number }));
  };
  const up = ({ source, data }) => {
    if (source === frame.contentWindow && data?.rtmbs) model.send({ ask: data.text });
  };
  model.on("msg:custom", down);
  model.on("change:page", load);
  window.addEventListener("message", up);
  load();
  el.append(frame);
  return () => {
    model.off("msg:custom", down);
    model.off("change:page", load);
    window.removeEventListener("message", up);
  };
}

export default { render };
