// The messages of a channel or a thread, as Slack shows them: grouped, with dates, private ones marked, edits in place.

import { body } from "./blocks.js";
import { ago, clockTime, dayLabel } from "./dates.js";
import { h, icon, reconcile, svg } from "./dom.js";
import { clock, emojiNode, link } from "./text.js";

const TOGETHER = 300;
export const secondsOf = (message) => Number.parseFloat(message.id) || 0;

export function avatar(name, kind = "") {
  if (name === "gantry") return h("span", { class: `avatar bot ${kind}`, "aria-hidden": "true" }, svg("svg", { viewBox: "0 0 32 32" }, svg("use", { href: "#i-gantry" })));
  const shade = name.charCodeAt(0) % 6;
  return h("span", { class: `avatar shade-${shade} ${kind}`, "aria-hidden": "true" }, name.charAt(0).toUpperCase());
}

/** The replies, by the id of the message that began the thread. */
export function threads(messages) {
  const found = new Map();
  for (const message of messages) {
    if (!message.thread || message.thread === message.id) continue;
    found.set(message.thread, [...(found.get(message.thread) ?? []), message]);
  }
  return found;
}

/**
 * Draws `messages` into `list`. `ctx`: `world`, `me`, `press(message, element, label, node)`, `openThread(id)` (absent inside
 * a thread), `replies` (from `threads`).
 */
export function drawMessages(list, messages, ctx) {
  const items = [];
  let before = null;
  const now = Date.now() / 1000;
  for (const message of messages) {
    const at = secondsOf(message);
    const day = dayLabel(at, now, clock);
    if (!before || before.day !== day) items.push({ kind: "day", day });
    const alone = message.only_to || before?.message.only_to;
    const together = before && before.day === day && !alone && before.message.user === message.user && at - secondsOf(before.message) < TOGETHER;
    items.push({ kind: "message", message, together: Boolean(together), replies: ctx.replies?.get(message.id) ?? [] });
    before = { message, day };
  }
  reconcile(list, items, {
    key: (item) => (item.kind === "day" ? `day ${item.day}` : item.message.id),
    look: (item) => JSON.stringify([item, ctx.me]),
    make: (item, old) => (item.kind === "day" ? h("li", { class: "day" }, h("span", {}, item.day)) : draw(item, old, ctx)),
  });
}

function draw({ message, together, replies }, old, ctx) {
  const at = secondsOf(message);
  const time = h("time", { class: "at", datetime: new Date(at * 1000).toISOString(), title: new Date(at * 1000).toLocaleString() }, clockTime(at, clock));
  const content = h("div", { class: "content" }, body(message, { world: ctx.world, press: (element, label, node) => ctx.press(message, element, label, node) }));
  for (const file of message.files ?? []) content.append(fileCard(file, ctx));
  if (message.edited) content.lastElementChild?.append(h("span", { class: "edited" }, " (edited)"));
  const classes = ["message", together && "together", message.only_to && "private", old && old.dataset.edited !== String(message.edited) && "changed"];
  return h("li", { class: classes.filter(Boolean).join(" "), dataset: { id: message.id, user: message.user, edited: String(message.edited) } },
    h("div", { class: "gutter" }, together ? time : avatar(message.user)),
    h("div", { class: "what" },
      message.only_to ? h("p", { class: "only" }, icon("eye"), "Only visible to you") : null,
      together ? null : h("p", { class: "who" }, h("b", {}, ctx.world.display(message.user)), message.user === "gantry" ? h("span", { class: "app" }, "APP") : null, time),
      message.broadcast && ctx.openThread ? h("button", { type: "button", class: "replied", onclick: () => ctx.openThread(message.thread) }, "replied to a thread") : null,
      content,
      message.reactions?.length ? h("p", { class: "reactions" }, message.reactions.map((reaction) => h("span", { title: reaction.users?.join(", ") }, emojiNode(reaction.name), ` ${reaction.users?.length ?? 1}`))) : null,
      replies.length ? threadLine(message, replies, ctx) : null),
    ctx.openThread && !message.only_to ? h("div", { class: "hover" }, h("button", { type: "button", class: "quiet", title: "Reply in thread", "aria-label": "Reply in thread", onclick: () => ctx.openThread(message.id) }, icon("thread"))) : null);
}

/** A file of this demo opens in a new tab. Of any other file, only the name is shown. */
function fileCard(file, ctx) {
  const name = file.title || file.name || "file";
  const url = file.permalink ?? file.url_private;
  return h("p", { class: "file" }, icon("file"), url ? link(url, [name], ctx.world) : name);
}

function threadLine(message, replies, ctx) {
  const people = [...new Set(replies.map((reply) => reply.user))].slice(0, 4);
  const last = secondsOf(replies.at(-1));
  return h("button", { type: "button", class: "replies", onclick: () => ctx.openThread?.(message.id) },
    people.map((name) => avatar(name, "small")),
    h("b", {}, `${replies.length} ${replies.length === 1 ? "reply" : "replies"}`),
    h("span", {}, "Last reply ", h("time", { dataset: { unix: last, format: "{ago}" } }, ago(last, Date.now() / 1000))));
}
