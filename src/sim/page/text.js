// Turns the trees of mrkdwn.js and markdown.js into DOM nodes, with the names of people and channels.

import { formatDate } from "./dates.js";
import { h } from "./dom.js";
import { emoji } from "./emoji.js";
import { parseMarkdown } from "./markdown.js";
import { parse, plain, safeUrl } from "./mrkdwn.js";

const hour12 = new Intl.DateTimeFormat(undefined, { hour: "numeric" }).resolvedOptions().hour12 ?? false;
export const clock = { hour12 };

/** `world` has `person(id)`, `channel(id)`, `names`, `me`, and `jump(url)` for links to messages. */
export const mrkdwn = (text, world) => tree(parse(text ?? "", { names: world.names }), world);
export const markdown = (text, world) => tree(parseMarkdown(text ?? ""), world);
export const plainText = (text) => tree(plain(text ?? ""), null);

/** A text object of Block Kit. */
export function textObject(object, world) {
  if (!object) return [];
  return object.type === "mrkdwn" ? mrkdwn(object.text, world) : plainText(object.text);
}

export function tree(nodes, world) {
  return nodes.map((node) => draw(node, world));
}

function draw(node, world) {
  const inside = () => tree(node.children, world);
  switch (node.type) {
    case "text": return node.text;
    case "break": return h("br");
    case "line": return h("span", { class: "line" }, inside());
    case "bold": return h("b", {}, inside());
    case "italic": return h("i", {}, inside());
    case "strike": return h("s", {}, inside());
    case "code": return h("code", {}, node.text);
    case "pre": return h("pre", { tabindex: 0 }, node.text);
    case "quote": return h("blockquote", {}, inside());
    case "rule": return h("hr");
    case "heading": return h("strong", { class: `heading heading-${Math.min(node.level, 3)}` }, inside());
    case "emoji": return emojiNode(node.name, node.text);
    case "link": return link(node.url, inside(), world);
    case "user": return mention(node, world);
    case "channel": return channel(node, world);
    case "group": return h("span", { class: "mention" }, node.label ?? `@${node.id}`);
    case "broadcast": return h("span", { class: "mention loud" }, `@${node.name}`);
    case "date": return date(node, world);
    case "list": return list(node.ordered, node.items.map((item) => ({ ...item, nodes: tree(item.children, world) })));
    case "table": return h("div", { class: "table-scroll", tabindex: 0 }, h("table", { class: "table-block" },
      node.rows.map((row, at) => h("tr", {}, row.map((cell) => h(at === 0 ? "th" : "td", {}, tree(cell, world)))))));
    default: return "";
  }
}

export function emojiNode(name, character) {
  const text = character ?? emoji(name);
  return text ? h("span", { class: "emoji", role: "img", "aria-label": name.replaceAll("_", " "), title: `:${name}:` }, text) : `:${name}:`;
}

export function list(ordered, items, indent = 0) {
  return h(ordered ? "ol" : "ul", { class: `list indent-${Math.min(indent, 4)}` },
    items.map((item) => h("li", { class: item.indent ? `indent-${Math.min(item.indent, 4)}` : null }, item.nodes)));
}

export function link(url, children, world) {
  if (!safeUrl(url)) return h("span", {}, children);
  const place = world && messagePlace(url);
  if (place) return h("a", { href: url, onclick: (event) => { event.preventDefault(); world.jump(place); } }, children);
  return h("a", { href: url, target: "_blank", rel: "noreferrer noopener" }, children);
}

/** The message that a permalink (`/archives/C.../p<ts without dot>`) names, so that the page can show it itself. */
export function messagePlace(url) {
  const match = /\/archives\/([A-Z0-9]+)\/p(\d{10})(\d{6})/.exec(url);
  return match && { channel: match[1], id: `${match[2]}.${match[3]}` };
}

function mention(node, world) {
  const person = node.id ? world?.person(node.id) : { name: node.name };
  const name = person?.name ?? node.label ?? node.id;
  return h("span", { class: name === world?.me ? "mention me" : "mention", title: person?.real_name }, `@${name}`);
}

function channel(node, world) {
  const name = world?.channel(node.id)?.name ?? node.label ?? node.id;
  const go = () => world?.jump({ channel: node.id });
  return h("button", { class: "mention as-link", type: "button", onclick: go }, `#${name}`);
}

function date(node, world) {
  const moment = new Date(node.unix * 1000);
  if (Number.isNaN(moment.getTime())) return node.fallback ?? "";
  const time = h("time", { datetime: moment.toISOString(), title: moment.toLocaleString(), dataset: { unix: node.unix, format: node.format } });
  tick(time);
  return node.url ? link(node.url, [time], world) : time;
}

function tick(time) {
  const text = formatDate(Number(time.dataset.unix), time.dataset.format, Date.now() / 1000, clock);
  if (time.textContent !== text) time.textContent = text;
}

/** Updates the relative times, such as "3 minutes ago". */
export function keepTimesFresh() {
  setInterval(() => document.querySelectorAll("time[data-format]").forEach(tick), 5000);
}
