// Draws Block Kit as Slack does. A click on a button calls the caller's `ctx.press(element, label)`.

import { h } from "./dom.js";
import { input } from "./inputs.js";
import { emojiNode, link, list, markdown, mrkdwn, plainText, textObject, tree } from "./text.js";

/** `ctx` has `world` (names, for text.js) and `press`. */
export function blocks(items, ctx) {
  return (items ?? []).map((block) => h("div", { class: `block block-${String(block.type).replace(/[^a-z_]/g, "")}` }, drawBlock(block, ctx)));
}

function drawBlock(block, ctx) {
  switch (block.type) {
    case "section": return section(block, ctx);
    case "header": return h("h3", {}, plainText(block.text?.text));
    case "divider": return h("hr");
    case "context": return (block.elements ?? []).map((item) => item.type === "image"
      ? image(item, "context-image") : h("span", { class: "context-text" }, textObject(item, ctx.world)));
    case "actions": return (block.elements ?? []).map((item) => element(item, ctx));
    case "image": return h("figure", {}, block.title ? h("figcaption", {}, plainText(block.title.text)) : null, image(block, "block-picture"));
    case "table": return table(block, ctx);
    case "markdown": return markdown(block.text, ctx.world);
    case "rich_text": return richText(block, ctx);
    case "input": return input(block);
    default: return h("p", { class: "unknown" }, `A block of the type “${block.type}” is not drawn here.`);
  }
}

function section(block, ctx) {
  return [
    h("div", { class: "section-body" },
      block.text ? h("div", { class: "section-text" }, textObject(block.text, ctx.world)) : null,
      block.fields ? h("div", { class: "fields" }, block.fields.map((field) => h("div", {}, textObject(field, ctx.world)))) : null),
    block.accessory ? h("div", { class: "accessory" }, element(block.accessory, ctx)) : null,
  ];
}

function element(item, ctx) {
  if (item.type === "image") return image(item, "accessory-image");
  if (item.type === "button") return button(item, ctx);
  if (item.type === "overflow" || /_select$|^radio_buttons$|^checkboxes$/.test(item.type ?? "")) return choice(item, ctx);
  return h("span", { class: "unknown" }, `An element of the type “${item.type}” is not drawn here.`);
}

function button(item, ctx) {
  const label = item.text?.text ?? "";
  const style = item.style === "primary" || item.style === "danger" ? ` ${item.style}` : "";
  const press = (event) => {
    if (item.url) window.open(item.url, "_blank", "noreferrer,noopener");
    ctx.press(item, label, event.currentTarget);
  };
  return h("button", { type: "button", class: `button${style}`, "aria-label": item.accessibility_label, onclick: press }, plainText(label));
}

function choice(item, ctx) {
  const options = (item.options ?? []).map((option) => option.text?.text ?? "");
  const pick = (event) => {
    const label = event.currentTarget.value;
    event.currentTarget.selectedIndex = 0;
    if (label) ctx.press(item, label, event.currentTarget);
  };
  return h("select", { class: "select", "aria-label": item.placeholder?.text ?? "Choose", onchange: pick },
    h("option", { value: "" }, item.placeholder?.text ?? "…"), options.map((label) => h("option", { value: label }, plainText(label))));
}

/** Nothing from outside is loaded: a picture of another origin is shown by its description. */
function image(item, kind) {
  const alt = item.alt_text ?? "";
  let here = false;
  try {
    const url = new URL(item.image_url, location.href);
    here = url.origin === location.origin || url.protocol === "data:";
  } catch { /* An invalid address counts as one of another origin. */ }
  return here ? h("img", { class: kind, src: item.image_url, alt }) : h("span", { class: `${kind} picture-away`, role: "img", "aria-label": alt }, alt);
}

function table(block, ctx) {
  const settings = block.column_settings ?? [];
  const cell = (item, at, head) => {
    const setting = settings[at] ?? {};
    const classes = [setting.align && setting.align !== "left" ? `align-${setting.align}` : "", setting.is_wrapped ? "wraps" : ""].join(" ").trim();
    const body = item?.type === "rich_text" ? richText(item, ctx) : plainText(String(item?.text ?? item?.value ?? ""));
    return h(head ? "th" : "td", { class: classes || null, scope: head ? "col" : null }, body);
  };
  const [head, ...rows] = block.rows ?? [];
  return h("div", { class: "table-scroll", tabindex: 0, role: "group", "aria-label": "Table" }, h("table", { class: "table-block" },
    head ? h("thead", {}, h("tr", {}, head.map((item, at) => cell(item, at, true)))) : null,
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((item, at) => cell(item, at, false)))))));
}

function richText(block, ctx) {
  return (block.elements ?? []).map((item) => {
    const inside = () => (item.elements ?? []).map((part) => richPart(part, ctx));
    switch (item.type) {
      case "rich_text_section": return h("span", { class: "line" }, inside());
      case "rich_text_preformatted": return h("pre", { tabindex: 0 }, inside());
      case "rich_text_quote": return h("blockquote", {}, inside());
      case "rich_text_list": return list(item.style === "ordered", (item.elements ?? [])
        .map((row) => ({ nodes: (row.elements ?? []).map((part) => richPart(part, ctx)) })), item.indent ?? 0);
      default: return inside();
    }
  });
}

const STYLES = { bold: "b", italic: "i", strike: "s", code: "code" };

function richPart(part, ctx) {
  let node;
  switch (part.type) {
    case "text": node = String(part.text ?? "").split("\n").flatMap((line, at) => (at ? [h("br"), line] : [line])); break;
    case "link": node = [link(part.url, [part.text || part.url], ctx.world)]; break;
    case "emoji": node = [emojiNode(part.name)]; break;
    case "user": node = tree([{ type: "user", id: part.user_id }], ctx.world); break;
    case "channel": node = tree([{ type: "channel", id: part.channel_id }], ctx.world); break;
    case "usergroup": node = tree([{ type: "group", id: part.usergroup_id }], ctx.world); break;
    case "broadcast": node = tree([{ type: "broadcast", name: part.range }], ctx.world); break;
    case "date": node = tree([{ type: "date", unix: part.timestamp, format: part.format, url: part.url, fallback: part.fallback }], ctx.world); break;
    default: node = [String(part.text ?? "")];
  }
  for (const [style, tag] of Object.entries(STYLES)) if (part.style?.[style]) node = [h(tag, {}, node)];
  return node;
}

/** A message's body: its blocks, else its text. */
export function body(message, ctx) {
  return message.blocks?.length ? blocks(message.blocks, ctx) : [h("div", { class: "block" }, mrkdwn(message.text, ctx.world))];
}
