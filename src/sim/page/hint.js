// Four suggestions for a new visitor. Each is ticked off when it is done.

import { byId, h, icon } from "./dom.js";

const KEY = "gantry-hint";

function remembered() {
  try {
    return JSON.parse(localStorage.getItem(KEY)) ?? [];
  } catch {
    return [];
  }
}

/** `steps`: [{ id, title, text, act }]. */
export function hint(steps) {
  const done = new Set(remembered());
  const keep = () => {
    try {
      localStorage.setItem(KEY, JSON.stringify([...done]));
    } catch { /* Without storage, the hint is shown again after a reload. */ }
  };
  const paint = () => {
    const root = byId("hint");
    root.hidden = done.has("closed") || steps.every((step) => done.has(step.id));
    root.replaceChildren(
      h("p", { class: "hint-title" }, h("b", {}, "Four things to try"),
        h("button", { type: "button", class: "quiet", "aria-label": "Hide the four things to try", onclick: () => tick("closed") }, icon("close"))),
      h("ol", {}, steps.map((step) => h("li", { class: done.has(step.id) ? "done" : null },
        h("button", { type: "button", onclick: step.act }, h("b", {}, step.title, done.has(step.id) ? h("span", { class: "unseen" }, " (done)") : null), h("span", {}, step.text))))));
  };
  const tick = (id) => {
    if (done.has(id)) return;
    done.add(id);
    keep();
    paint();
  };
  paint();
  return tick;
}
