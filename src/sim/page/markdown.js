// Parses the standard Markdown of Slack's `markdown` block into the same tree as mrkdwn.js.

import { emoji } from "./emoji.js";
import { safeUrl } from "./mrkdwn.js";

export function parseMarkdown(text) {
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  const nodes = [];
  let i = 0;
  while (i < lines.length) {
    const [node, used] = block(lines, i);
    if (node) nodes.push(node);
    i += used;
  }
  return nodes;
}

const STARTS = [/^```/, /^#{1,6} /, /^> ?/, /^\s*[-*+] /, /^\s*\d+[.)] /, /^\s*\|.*\|\s*$/, /^(?:-{3,}|\*{3,})\s*$/];

function block(lines, i) {
  const line = lines[i];
  if (line.trim() === "") return [null, 1];
  if (/^```/.test(line)) {
    let end = lines.findIndex((other, at) => at > i && /^```\s*$/.test(other));
    if (end === -1) end = lines.length;
    return [{ type: "pre", text: lines.slice(i + 1, end).join("\n") }, end - i + 1];
  }
  const heading = /^(#{1,6}) +(.*?)\s*#*$/.exec(line);
  if (heading) return [{ type: "heading", level: heading[1].length, children: span(heading[2]) }, 1];
  if (STARTS[6].test(line)) return [{ type: "rule" }, 1];
  const taken = (pattern) => {
    let end = i;
    while (end < lines.length && pattern.test(lines[end])) end += 1;
    return lines.slice(i, end);
  };
  if (STARTS[2].test(line)) {
    const run = taken(STARTS[2]);
    return [{ type: "quote", children: joined(run.map((each) => each.replace(STARTS[2], ""))) }, run.length];
  }
  for (const [pattern, ordered] of [[STARTS[3], false], [STARTS[4], true]]) {
    if (!pattern.test(line)) continue;
    const run = taken(pattern);
    const items = run.map((each) => ({ indent: Math.floor(/^\s*/.exec(each)[0].length / 2), children: span(each.replace(pattern, "")) }));
    return [{ type: "list", ordered, items }, run.length];
  }
  if (STARTS[5].test(line) && /^\s*\|[\s:|-]+\|\s*$/.test(lines[i + 1] ?? "")) {
    const run = taken(STARTS[5]);
    const cells = (each) => each.trim().slice(1, -1).split("|").map((cell) => span(cell.trim()));
    return [{ type: "table", rows: [cells(run[0]), ...run.slice(2).map(cells)] }, run.length];
  }
  let end = i + 1;
  while (end < lines.length && lines[end].trim() !== "" && !STARTS.slice(0, 5).some((start) => start.test(lines[end]))) end += 1;
  return [{ type: "line", children: joined(lines.slice(i, end)) }, end - i];
}

function joined(lines) {
  return lines.flatMap((line, at) => (at === 0 ? span(line) : [{ type: "break" }, ...span(line)]));
}

const INLINE = [
  [/^\\([!-/:-@[-`{-~])/, (m) => ({ type: "text", text: m[1] })],
  [/^`([^`]+)`/, (m) => ({ type: "code", text: m[1] })],
  [/^\*\*(?=\S)([^\n]*?\S)\*\*/, (m, depth) => ({ type: "bold", children: span(m[1], depth) })],
  [/^__(?=\S)([^\n]*?\S)__(?!\w)/, (m, depth) => ({ type: "bold", children: span(m[1], depth) })],
  [/^~~(?=\S)([^\n]*?\S)~~/, (m, depth) => ({ type: "strike", children: span(m[1], depth) })],
  [/^\*(?=\S)([^*\n]*?\S)\*/, (m, depth) => ({ type: "italic", children: span(m[1], depth) })],
  [/^_(?=\S)([^_\n]*?\S)_(?!\w)/, (m, depth) => ({ type: "italic", children: span(m[1], depth) })],
  [/^\[([^\]\n]+)\]\(([^)\s]+)\)/, (m, depth) => safeUrl(m[2]) && { type: "link", url: m[2], children: span(m[1], depth) }],
  [/^<((?:https?:\/\/|mailto:)[^>\s]+)>/, (m) => ({ type: "link", url: m[1], children: [{ type: "text", text: m[1] }] })],
  [/^:([a-z0-9_+-]{1,40}):/, (m) => emoji(m[1]) && { type: "emoji", name: m[1], text: emoji(m[1]) }],
];

function span(text, depth = 0) {
  const nodes = [];
  let buffer = "";
  let i = 0;
  scan: while (i < text.length) {
    if ("\\`*_~[<:".includes(text[i]) && depth < 6) {
      const inWord = text[i] === "_" && /\w/.test(text[i - 1] ?? " ");
      const rest = text.slice(i, i + 2000);
      for (const [pattern, make] of inWord ? [] : INLINE) {
        const match = pattern.exec(rest);
        const node = match && make(match, depth + 1);
        if (!node) continue;
        if (buffer) nodes.push({ type: "text", text: buffer });
        buffer = "";
        nodes.push(node);
        i += match[0].length;
        continue scan;
      }
    }
    buffer += text[i];
    i += 1;
  }
  if (buffer) nodes.push({ type: "text", text: buffer });
  return nodes;
}
