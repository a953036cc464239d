// Receives the events of the demo, and reports a lost connection. It reconnects for ever.

const PAUSE = 1500;

/** Calls `changed(topic)` for each event, `connected()` after each connect, and `lost()` when the connection breaks. */
export function listen({ changed, connected, lost }) {
  let source;
  const connect = () => {
    source = new EventSource("/sim/page/stream");
    source.onopen = connected;
    source.addEventListener("changed", (event) => {
      try {
        changed(JSON.parse(event.data).what);
      } catch {
        changed("messages");
      }
    });
    source.onerror = () => {
      lost();
      // After an answer that is not a stream, the browser does not reconnect by itself.
      if (source.readyState === EventSource.CLOSED) setTimeout(connect, PAUSE);
    };
  };
  connect();
  addEventListener("pagehide", () => source.close());
}

/** Runs `work` once at a time. All calls during a run cause one more run. */
export function coalesced(work) {
  let running = null;
  let again = false;
  return function run() {
    if (running) {
      again = true;
      return running;
    }
    running = (async () => {
      do {
        again = false;
        await work();
      } while (again);
    })().finally(() => { running = null; });
    return running;
  };
}
