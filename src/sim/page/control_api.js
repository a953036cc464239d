// The only way out of this page: the demo's control API (`/sim/*`). An answer that is not a yes becomes an Error whose
// message is the sentence to show.

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
  } catch { /* a plain sentence */ }
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
  // The person matters for `@gantry`, where each has a conversation of their own, and for the modals before them.
  messages: (channel, user) => read("/sim/messages", { channel, user }).then((answer) => ({ messages: answer?.messages ?? [], views: answer?.views ?? [] })),
  // Looking at it opens it; whoever has it open looks again.
  home: (user, open) => read("/sim/home", open ? { user, open } : { user }),
  command: (user, channel, text) => post("/sim/command", { user, channel, text }),
  say: (user, channel, text, thread) => post("/sim/say", thread ? { user, channel, text, thread } : { user, channel, text }),
  click: (user, channel, message, button) => post("/sim/click", { user, channel, message, button }),
  submit: (user, view, values) => post("/sim/submit", { user, view, values }),
  push: (push) => post("/sim/push", push),
  fault: (fault) => post("/sim/fault", fault),
};
