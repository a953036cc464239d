// Calls the demo's control API (`/sim/*`). All requests of the page except its event stream are in this file. A failed
// call throws an Error with the sentence to show.

async function call(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("The demo does not answer. Start gantry demo again.");
  }
  const text = await response.text();
  let answer = text;
  try {
    answer = text === "" ? null : JSON.parse(text);
  } catch { /* The answer is plain text. */ }
  if (!response.ok) throw new Error(sentence(answer) ?? `The demo answered ${response.status} to ${path}.`);
  return answer;
}

function sentence(answer) {
  if (typeof answer === "string" && answer.trim() !== "") return answer.trim();
  return answer?.error?.message ?? answer?.error ?? answer?.message ?? null;
}

const post = (path, body) => call(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
const read = (path, query) => call(query ? `${path}?${new URLSearchParams(query)}` : path, { headers: { accept: "application/json" } });

export const controlApi = {
  world: () => read("/sim/page/world"),
  graph: (repository) => read("/sim/page/graph", { repository }),
  state: () => read("/sim/state"),
  // The answer depends on the person: each has their own direct channel `@gantry`, and their own open modals.
  messages: (channel, user) => read("/sim/messages", { channel, user }).then((answer) => ({ messages: answer?.messages ?? [], views: answer?.views ?? [] })),
  // Without `open`, the request opens the Home. With `open`, it only reads it again.
  home: (user, open) => read("/sim/home", open ? { user, open } : { user }),
  command: (user, channel, text) => post("/sim/command", { user, channel, text }),
  say: (user, channel, text, thread) => post("/sim/say", thread ? { user, channel, text, thread } : { user, channel, text }),
  click: (user, channel, message, button) => post("/sim/click", { user, channel, message, button }),
  submit: (user, view, values) => post("/sim/submit", { user, view, values }),
  push: (push) => post("/sim/push", push),
  fault: (fault) => post("/sim/fault", fault),
};
