// Draws the layout of graph.js: lanes as SVG on the left, and a row of text for each commit.

import { ago } from "./dates.js";
import { h, icon, svg } from "./dom.js";
import { layout } from "./graph.js";

const ROW = 26;
const LANE = 15;
const x = (lane) => 12 + lane * LANE;
const y = (row) => row * ROW + ROW / 2;

/** `running`: commit -> names of the environments where it runs; `ladder`: [{ environment, branch }]. */
export function drawGraph(commits, { ladder, running }) {
  const { rows, edges, lanes } = layout(commits, ladder.map((rung) => rung.branch));
  const width = x(lanes - 1) + 12;
  const height = rows.length * ROW;
  const picture = svg("svg", { class: "lanes", width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
    edges.map((edge) => svg("path", { d: path(edge, height), class: `edge${edge.merge ? " merged" : ""} tint-${edge.colour % 8}` })),
    rows.map(({ row, lane, colour, parents }) => svg("circle", { cx: x(lane), cy: y(row), r: parents.length > 1 ? 3.5 : 4.5, class: `commit tint-${colour % 8}${parents.length > 1 ? " merge" : ""}` })));
  picture.style.setProperty("width", `${width}px`);
  const words = h("ol", { class: "commits", "aria-label": "Commits, newest first" }, rows.map((commit) => line(commit, { ladder, running })));
  return h("div", { class: "graph-canvas" }, picture, words);
}

function path({ from, to, merge, cut }, height) {
  const [x1, y1, x2, y2] = [x(from.lane), y(from.row), x(to.lane), cut ? height : y(to.row)];
  if (x1 === x2) return `M${x1} ${y1}V${y2}`;
  const bend = Math.min(y2 - y1, ROW * 1.4);
  // A line to a lane on the right bends at its start. The first parent on the left is reached by a bend at the end.
  if (x1 < x2) return `M${x1} ${y1}C${x1} ${y1 + bend * 0.6} ${x2} ${y1 + bend * 0.4} ${x2} ${y1 + bend}V${y2}`;
  if (!merge) return `M${x1} ${y1}V${y2 - bend}C${x1} ${y2 - bend * 0.4} ${x2} ${y2 - bend * 0.6} ${x2} ${y2}`;
  // A merge from a rung below runs between the two lanes, so that it hides neither line.
  const [middle, half] = [(x1 + x2) / 2, Math.min(y2 - y1, ROW * 1.2) / 2];
  return `M${x1} ${y1}Q${middle} ${y1} ${middle} ${y1 + half}V${y2 - half}Q${middle} ${y2} ${x2} ${y2}`;
}

function line(commit, { ladder, running }) {
  const short = commit.sha.slice(0, 7);
  const at = Date.parse(commit.at) / 1000;
  const rung = (name, by) => ladder.findIndex((each) => each[by] === name);
  const environments = running.get(commit.sha) ?? [];
  const labels = [
    ...environments.map((name) => h("span", { class: `ref running tint-${Math.max(0, rung(name, "environment"))}`, title: `${name} runs this commit` }, name)),
    ...commit.refs.map((ref) => {
      const branch = rung(ref, "branch");
      const tag = /^[^/]+\/(?:[^/]+\/)?\d{4}\.\d\d\.\d\d-\d+$/.test(ref) || /^v?\d+\.\d+/.test(ref);
      return h("span", { class: `ref ${tag ? "tag" : "branch"}${branch >= 0 ? ` tint-${branch}` : ""}`, title: tag ? `tag ${ref}` : `branch ${ref}` }, icon(tag ? "tag" : "branch"), ref);
    }),
  ];
  return h("li", { title: `${short} · ${commit.author}${Number.isNaN(at) ? "" : ` · ${ago(at, Date.now() / 1000)}`}\n${commit.subject}`, dataset: { sha: commit.sha } },
    labels.length ? h("span", { class: "refs" }, labels) : null,
    h("span", { class: "subject" }, commit.subject),
    h("code", { class: "sha" }, short));
}
