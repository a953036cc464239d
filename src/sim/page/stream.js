// Listens to what changed in the demo, and says when the demo is gone. Connects again by itself, for ever.

const PAUSE = 1500;

/** `changed(what)` for each event; `connected()` each time the line stands; `lost()` when it broke. */
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
      // The browser gives up after an answer that is no stream: then we are the ones to try again.
      if (source.readyState === EventSource.CLOSED) setTimeout(connect, PAUSE);
    };
  };
  connect();
  addEventListener("pagehide", () => source.close());
}

/** Runs `work` at most once at a time; calls that come meanwhile become one more run. */
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
