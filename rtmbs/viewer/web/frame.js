// The socket of a page in a notebook: messages of the frame around it.
window.openSocket = () => {
  const socket = new EventTarget();
  socket.readyState = WebSocket.OPEN;
  socket.send = (text) => parent.postMessage({ rtmbs: true, text }, "*");
  addEventListener("message", ({ source, data }) => {
    if (source === parent && data?.rtmbs) socket.dispatchEvent(new MessageEvent("message", { data: data.data }));
  });
  setTimeout(() => socket.dispatchEvent(new Event("open")));
  socket.send("");
  return socket;
};
