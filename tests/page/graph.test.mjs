// Tests of the layout of the Git graph.

import assert from "node:assert/strict";
import { test } from "node:test";

import { layout } from "../../src/sim/page/graph.js";

const LADDER = ["develop", "qa", "staging", "prod"];

/** "sha parent,parent ref,ref", newest first. */
const history = (...lines) => lines.map((line) => {
  const [sha, parents = "-", refs = "-"] = line.split(" ");
  const list = (text) => (text === "-" ? [] : text.split(","));
  return { sha, parents: list(parents), refs: list(refs) };
});
const lanes = (graph) => Object.fromEntries(graph.rows.map((row) => [row.sha, row.lane]));

test("each environment's branch has a lane of its own, lowest first", () => {
  const graph = layout(history("d3 d2 develop", "p1 d0,s1 prod,prod/2026.11.16-1", "s1 d0,q1 staging", "q1 d0,d2 qa", "d2 d1", "d1 d0", "d0"), LADDER);
  assert.deepEqual(lanes(graph), { d3: 0, p1: 3, s1: 2, q1: 1, d2: 0, d1: 0, d0: 0 });
  assert.equal(graph.lanes, 4);
  assert.deepEqual(graph.edges.find((edge) => edge.from.row === 3 && edge.merge), { from: { row: 3, lane: 1 }, to: { row: 4, lane: 0 }, colour: 0, merge: true, cut: false });
});

test("a branch without commits of its own takes no lane, and the others keep their colours", () => {
  const graph = layout(history("s1 d0,d1 staging", "d1 d0 develop,qa", "d0"), LADDER);
  assert.deepEqual(lanes(graph), { s1: 1, d1: 0, d0: 0 });
  assert.deepEqual(graph.rows.map((row) => row.colour), [2, 0, 0]);
});

test("topic branches are to the right and free their lane", () => {
  const graph = layout(history("m2 m1,t2 develop", "t2 m1 topic-two", "m1 m0,t1", "t1 m0", "m0"), LADDER);
  assert.deepEqual(lanes(graph), { m2: 0, t2: 1, m1: 0, t1: 1, m0: 0 });
  assert.equal(graph.lanes, 2);
});

test("topic branches that live at the same time do not share a lane", () => {
  const graph = layout(history("a1 m0 a", "b1 m0 b", "m1 m0 develop", "m0"), LADDER);
  assert.deepEqual(lanes(graph), { a1: 1, b1: 2, m1: 0, m0: 0 });
});

test("the line to a parent beyond the list ends at the lower edge", () => {
  const graph = layout(history("d9 d8 develop", "d8 d7"), LADDER);
  assert.deepEqual(graph.edges.at(-1), { from: { row: 1, lane: 0 }, to: { row: 2, lane: 0 }, colour: 0, merge: false, cut: true });
});

test("an empty history and roots without a known branch have a layout", () => {
  assert.deepEqual(layout([], LADDER), { rows: [], edges: [], lanes: 1 });
  assert.deepEqual(lanes(layout(history("b - other", "a - main"), LADDER)), { b: 0, a: 0 });
});

test("in any history no line runs through another commit of its lane", () => {
  let seed = 7;
  const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
  for (let round = 0; round < 200; round += 1) {
    const commits = [];
    for (let i = 0; i < 25; i += 1) {
      const older = commits.map((commit) => commit.sha);
      const pick = () => older[Math.max(0, older.length - 1 - random(4))];
      const parents = older.length === 0 ? [] : [...new Set(random(3) === 0 ? [pick(), pick()] : [pick()])];
      commits.push({ sha: `c${i}`, parents, refs: [] });
    }
    commits.reverse();
    LADDER.forEach((branch) => commits[random(8)].refs.push(branch));
    const graph = layout(commits, LADDER);
    assert.ok(graph.rows.every((row) => Number.isInteger(row.lane) && Number.isInteger(row.colour)));
    for (const edge of graph.edges.filter((each) => !each.merge && each.from.lane === each.to.lane)) {
      const between = graph.rows.filter((row) => row.lane === edge.from.lane && row.row > edge.from.row && row.row < edge.to.row);
      assert.deepEqual(between, [], `round ${round}`);
    }
  }
});
