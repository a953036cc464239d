// Parses Slack's mrkdwn into a tree of plain objects. It uses no DOM, so that it can be tested without a browser.

import { emoji } from "./emoji.js";

const MARKS = { "*": "bold", _: "italic", "~": "strike" };
const DEPTH = 6;
const WORD = /[\p{L}\p{N}]/u;

export function unescape(text) {
  return text.replace(/&(amp|lt|gt);/g, (_, name) => ({ amp: "&", lt: "<", gt: ">" })[name]);
}

/** Text with emoji and line breaks, and without formatting: `plain_text` objects and labels. */
export function plain(text) {
  return inline(text, { formatted: false }, 0);
}

/** Parses a whole text. `names` are the people that `@name` may mention. */
export function parse(text, { names = new Set() } = {}) {
  const nodes = [];
  const fence = /```\n?([\s\S]*?)\n?```/g;
  let at = 0;
  for (const match of text.matchAll(fence)) {
    if (match[1] === "") continue;
    pushLines(nodes, text.slice(at, match.index).replace(/\n$/, ""), names);
    nodes.push({ type: "pre", text: flat(match[1]) });
    at = match.index + match[0].length;
    if (text[at] === "\n") at += 1;
  }
  pushLines(nodes, text.slice(at), names);
  return nodes;
}

function pushLines(nodes, text, names) {
  if (text === "") return;
  let run = [];
  let quoted = false;
  const flush = () => {
    if (run.length === 0) return;
    const children = inline(run.join("\n"), { formatted: true, names }, 0);
    nodes.push({ type: quoted ? "quote" : "line", children });
    run = [];
  };
  for (const line of text.split("\n")) {
    const mark = /^(?:&gt;|>) ?/.exec(line);
    if (Boolean(mark) !== quoted) {
      flush();
      quoted = Boolean(mark);
    }
    run.push(mark ? line.slice(mark[0].length) : line);
  }
  flush();
}

/** Links inside code are shown by their label, as Slack does. */
function flat(text) {
  return unescape(text.replace(/<((?:https?|mailto):[^|>\s]+)(?:\|([^>]*))?>/g, (_, url, label) => label ?? url));
}

function inline(text, options, depth) {
  const nodes = [];
  let buffer = "";
  const put = (node) => {
    if (buffer) nodes.push({ type: "text", text: unescape(buffer) });
    buffer = "";
    if (node) nodes.push(node);
  };
  let i = 0;
  while (i < text.length) {
    const ch = text[i];
    const [node, length] = (options.formatted ? formatted(text, i, options, depth) : null) ?? simple(text, i) ?? [null, 0];
    if (node) {
      put(node);
      i += length;
    } else {
      buffer += ch;
      i += 1;
    }
  }
  put(null);
  return nodes;
}

function simple(text, i) {
  if (text[i] === "\n") return [{ type: "break" }, 1];
  if (text[i] !== ":") return null;
  const match = /^:([a-z0-9_+-]{1,40}):(?::skin-tone-[2-6]:)?/.exec(text.slice(i, i + 64));
  const character = match && emoji(match[1]);
  return character ? [{ type: "emoji", name: match[1], text: character }, match[0].length] : null;
}

function formatted(text, i, options, depth) {
  const ch = text[i];
  if (ch === "<") return angle(text, i);
  if (ch === "`") {
    const end = text.indexOf("`", i + 1);
    const inner = text.slice(i + 1, end);
    return end > i + 1 && !inner.includes("\n") ? [{ type: "code", text: flat(inner) }, end - i + 1] : null;
  }
  if (ch === "@" && !WORD.test(text[i - 1] ?? " ")) {
    const match = /^@([a-z0-9][a-z0-9._-]{0,79})/i.exec(text.slice(i, i + 81));
    return match && options.names?.has(match[1]) ? [{ type: "user", name: match[1] }, match[0].length] : null;
  }
  const kind = MARKS[ch];
  if (!kind || depth >= DEPTH || WORD.test(text[i - 1] ?? " ")) return null;
  const end = closing(text, i, ch);
  return end ? [{ type: kind, children: inline(text.slice(i + 1, end), options, depth + 1) }, end - i + 1] : null;
}

/** The index at which the mark at `start` is closed, on the same line and outside of code and links; 0 if it is not. */
function closing(text, start, ch) {
  if (/[\s]/.test(text[start + 1] ?? " ") || text[start + 1] === ch) return 0;
  for (let j = start + 1; j < text.length && text[j] !== "\n"; j += 1) {
    if (text[j] === "`" || text[j] === "<") {
      const end = text.indexOf(text[j] === "`" ? "`" : ">", j + 1);
      const line = text.indexOf("\n", j + 1);
      if (end !== -1 && (line === -1 || end < line)) j = end;
    } else if (text[j] === ch && !/\s/.test(text[j - 1]) && !WORD.test(text[j + 1] ?? " ")) {
      return j;
    }
  }
  return 0;
}

/** `<...>`: a link, a mention or a date. Any other text in angle brackets is shown unchanged. */
function angle(text, i) {
  const match = /^<([^<>\n]{1,4000})>/.exec(text.slice(i, i + 4002));
  if (!match) return null;
  const node = reference(match[1]);
  return node && [node, match[0].length];
}

function reference(body) {
  const bar = body.indexOf("|");
  const target = bar === -1 ? body : body.slice(0, bar);
  const label = bar === -1 ? undefined : unescape(body.slice(bar + 1));
  if (/^@[UW][A-Z0-9]+$/.test(target)) return { type: "user", id: target.slice(1), label };
  if (/^#[CG][A-Z0-9]+$/.test(target)) return { type: "channel", id: target.slice(1), label };
  if (/^!subteam\^[A-Z0-9]+$/.test(target)) return { type: "group", id: target.slice("!subteam^".length), label };
  if (/^!(here|channel|everyone)$/.test(target)) return { type: "broadcast", name: target.slice(1) };
  const date = /^!date\^(-?\d{1,12})\^([^^]*)(?:\^(.*))?$/.exec(target);
  if (date) {
    const url = date[3] && safeUrl(unescape(date[3]));
    return { type: "date", unix: Number(date[1]), format: unescape(date[2]), url: url || undefined, fallback: label };
  }
  const url = safeUrl(unescape(target));
  if (url) return { type: "link", url, children: label ? plain(body.slice(bar + 1)) : [{ type: "text", text: unescape(target).replace(/^mailto:/, "") }] };
  return null;
}

/** The text, if it is a URL that a message may link to. `javascript:` and similar URLs are not. */
export function safeUrl(text) {
  return /^(https?:\/\/|mailto:)[^\s]+$/i.test(text) ? text : null;
}
