// The layout of a Git graph: the row and lane of each commit, and the lines between them. graphview.js draws it.

/**
 * `commits` newest first, each with `sha`, `parents`, `refs`; `ladder` the environments' branches, lowest first.
 * Each rung's branch keeps a lane of its own, from left to right: the commits that its first-parent line does not
 * share with a rung below. Other branches (topic branches) take free lanes to the right of them.
 * A `colour` is the number of the rung, so that a branch keeps its colour when the lanes change.
 */
export function layout(commits, ladder = []) {
  const rowOf = new Map(commits.map((commit, row) => [commit.sha, row]));
  const laneOf = new Map();
  const colours = [];
  for (const [rung, branch] of ladder.entries()) {
    const head = commits.find((commit) => commit.refs.includes(branch));
    if (!head || laneOf.has(head.sha)) continue;
    for (let at = head; at && !laneOf.has(at.sha); at = commits[rowOf.get(at.parents[0])]) laneOf.set(at.sha, colours.length);
    colours.push(rung);
  }
  const rungs = colours.length;

  const open = [];
  commits.forEach((commit, row) => {
    if (!laneOf.has(commit.sha)) {
      let free = open.findIndex((lane) => lane === undefined || lane.until <= row);
      if (free === -1) free = open.length;
      const reach = Math.max(row + 1, ...firstLine(commit, commits, rowOf, laneOf));
      open[free] = { until: reach };
      colours[rungs + free] = ladder.length + free;
      for (let at = commit; at && !laneOf.has(at.sha); at = commits[rowOf.get(at.parents[0])]) laneOf.set(at.sha, rungs + free);
    }
  });

  const rows = commits.map((commit, row) => ({ ...commit, row, lane: laneOf.get(commit.sha), colour: colours[laneOf.get(commit.sha)] }));
  const edges = [];
  for (const { parents, row, lane } of rows) {
    parents.forEach((parent, nth) => {
      const to = rowOf.get(parent);
      // The parent is older than the list, so its line ends at the lower edge.
      if (to === undefined) edges.push({ from: { row, lane }, to: { row: commits.length, lane }, colour: colours[lane], merge: nth > 0, cut: true });
      else {
        const target = laneOf.get(parent);
        edges.push({ from: { row, lane }, to: { row: to, lane: target }, colour: colours[nth === 0 ? lane : target], merge: nth > 0, cut: false });
      }
    });
  }
  return { rows, edges, lanes: Math.max(1, colours.length) };
}

/** The rows that a new line's lane takes: those of its own commits, down to the commit from which it branched. */
function firstLine(commit, commits, rowOf, laneOf) {
  const reached = [];
  for (let at = commit; at; at = commits[rowOf.get(at.parents[0])]) {
    reached.push(rowOf.get(at.sha));
    if (at !== commit && laneOf.has(at.sha)) break;
    if (at.parents.length && !rowOf.has(at.parents[0])) reached.push(commits.length);
  }
  return reached;
}
