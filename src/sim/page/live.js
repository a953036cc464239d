// The live view: running versions, builds, open pull requests, and the Git graph. Its data comes from the simulated
// services, never from the bot's messages.

import { byId, h, reconcile } from "./dom.js";
import { drawGraph } from "./graphview.js";

const WORDS = { running: "running", rolling_out: "rolling out", degraded: "degraded", missing: "missing" };
const BUILDS_SHOWN = 3;

/** The branch that feeds an environment: its own name, except for the first rung of the demo's world. */
export const branchOf = (environment) => (environment === "development" ? "develop" : environment);

/** `pick(repository)` is called when a person chooses another repository. */
export function liveView({ pick }) {
  const cells = new Map();
  let world = null;
  let truth = null;
  let graph = { repository: null, commits: [] };

  const select = byId("repository");
  select.addEventListener("change", () => pick(select.value));

  function build() {
    cells.clear();
    const ladder = byId("ladder");
    ladder.replaceChildren(...world.environments.map((environment, rung) => {
      const rows = world.artefacts.map((artefact) => {
        const cell = workloadCell(environment, artefact, pick);
        cells.set(`${environment}/${artefact.name}`, cell);
        return h("li", {}, cell.node);
      });
      return h("section", { class: `rung tint-${rung % 8}`, "aria-label": environment },
        h("h3", {}, environment), h("ul", {}, rows));
    }));
  }

  function drawGit() {
    const list = byId("graph");
    const ladder = (world?.environments ?? []).map((environment) => ({ environment, branch: branchOf(environment) }));
    const artefacts = (world?.artefacts ?? []).filter((artefact) => artefact.repository === graph.repository).map((artefact) => artefact.name);
    const running = new Map();
    for (const { environment } of ladder) {
      for (const name of artefacts) {
        const commit = truth?.environments?.[environment]?.[name]?.commit;
        if (commit && !running.get(commit)?.includes(environment)) running.set(commit, [...(running.get(commit) ?? []), environment]);
      }
    }
    const look = JSON.stringify([graph, [...running]]);
    if (list.dataset.look === look) return;
    list.dataset.look = look;
    list.replaceChildren(graph.commits.length ? drawGraph(graph.commits, { ladder, running }) : h("p", { class: "empty" }, "No commits yet."));
  }

  function drawBuilds() {
    const newest = [...(truth?.builds ?? [])].reverse();
    const underWay = (build) => build.state === "building";
    const chosen = new Set([...newest.filter(underWay), ...newest.filter((build) => !underWay(build))].slice(0, BUILDS_SHOWN));
    const shown = newest.filter((build) => chosen.has(build));
    reconcile(byId("builds"), shown, {
      key: (build) => `${build.artefact}@${build.commit}@${build.branch}`,
      look: (build) => JSON.stringify(build),
      make: (build) => h("li", { class: `build ${build.state}`, dataset: { artefact: build.artefact, state: build.state } },
        h("span", { class: "dot", "aria-hidden": "true" }), h("b", {}, build.artefact), h("span", { class: "on" }, `on ${build.branch}`),
        h("code", {}, (build.commit ?? "").slice(0, 7)), h("span", { class: "word" }, build.state === "building" ? "building…" : `built ${build.tag ?? ""}`)),
    });
    byId("builds-idle").hidden = shown.length > 0;
  }

  function sayCrash(armed, words) {
    byId("crash").setAttribute("aria-pressed", String(armed));
    byId("crash-said").textContent = words;
  }

  function drawCrash() {
    const armed = crashIsArmed();
    if (String(armed) === byId("crash").getAttribute("aria-pressed")) return;
    sayCrash(armed, armed ? "Armed: what rolls out next crashes." : "It has struck. Wait for Gantry’s word.");
  }

  /** Whether the crash fault is armed for all artefacts and environments. */
  const crashIsArmed = () => (truth?.armed ?? []).some((armed) => armed.fault === "crash_loop" && !armed.artefact && !armed.environment);

  function drawPulls() {
    const open = (truth?.repositories?.[graph.repository]?.pulls ?? []).filter((pull) => pull.state === "open");
    reconcile(byId("pulls"), open, {
      key: (pull) => `${graph.repository}#${pull.number}`,
      look: (pull) => JSON.stringify(pull),
      make: (pull) => h("li", { class: "pull" }, h("a", { href: pull.url, target: "_blank", rel: "noopener" }, `#${pull.number} ${pull.title}`),
        h("code", {}, `${pull.head} → ${pull.base}`)),
    });
  }

  return {
    crashIsArmed,
    world(next) {
      world = next;
      build();
      if (truth) this.truth(truth);
      // After a reconnect, the demo may be a new one, in which no fault is armed.
      sayCrash(false, "then push or promote something");
    },
    truth(next) {
      truth = next;
      for (const [key, cell] of cells) {
        const [environment, artefact] = key.split("/");
        cell.update(truth.environments?.[environment]?.[artefact]);
      }
      const names = [...new Set([...world.artefacts.map((artefact) => artefact.repository), ...Object.keys(truth.repositories ?? {})])];
      reconcile(select, names, { key: (name) => name, look: (name) => name, make: (name) => h("option", { value: name }, name) });
      if (graph.repository) select.value = graph.repository;
      drawCrash();
      drawBuilds();
      drawPulls();
      drawGit();
    },
    graph(repository, commits) {
      graph = { repository, commits };
      select.value = repository;
      drawPulls();
      drawGit();
    },
  };
}

/** One artefact in one environment: name, version, state as a dot and a word, and a bar while it rolls out. */
function workloadCell(environment, artefact, pick) {
  const name = h("span", { class: "name" }, artefact.name);
  const head = h("span", { class: "head" });
  const tail = h("span", { class: "tail" });
  const word = h("span", { class: "word" });
  const fill = h("span", { class: "fill" });
  const bar = h("span", { class: "bar", "aria-hidden": "true" }, fill);
  const node = h("button", { type: "button", class: "workload", dataset: { environment, artefact: artefact.name }, onclick: () => pick(artefact.repository) },
    name, h("code", { class: "version" }, head, tail), h("span", { class: "state" }, h("span", { class: "dot", "aria-hidden": "true" }), word), bar);
  let before;
  return {
    node,
    update(workload) {
      const look = JSON.stringify(workload ?? null);
      if (look === before) return;
      const state = workload ? workload.state : "absent";
      const version = workload?.version ?? "";
      // The end of a tag distinguishes versions, so only the beginning may be cut.
      const cut = version.length > 9 ? version.length - 8 : 0;
      if (before && node.dataset.version !== version) {
        node.classList.remove("arrived");
        requestAnimationFrame(() => node.classList.add("arrived"));
      }
      head.textContent = version.slice(0, cut);
      tail.textContent = version.slice(cut) || "–";
      const replicas = workload?.wanted ? ` ${workload.ready ?? 0}/${workload.wanted}` : "";
      word.textContent = workload ? `${WORDS[state] ?? state}${state === "missing" ? "" : replicas}` : "not here";
      fill.style.setProperty("width", `${workload?.wanted ? Math.round((100 * (workload.ready ?? 0)) / workload.wanted) : 0}%`);
      Object.assign(node.dataset, { state, version });
      node.title = workload ? `${artefact.name} ${version} in ${environment}${workload.commit ? `\ncommit ${workload.commit}` : ""}` : `${artefact.name} is not in ${environment}`;
      before = look;
    },
  };
}
