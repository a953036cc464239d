// The dialogs for actions outside of Slack: pushing a commit, and arming a fault.

import { form, toast } from "./dialogs.js";
import { h } from "./dom.js";
import { controlApi } from "./control_api.js";

const MESSAGES = {
  checkout: ["Round taxes per line, not per basket", "Retry a card payment once after a timeout", "Show the delivery date before paying", "Keep the basket when the session ends"],
  search: ["Rank exact matches first", "Ignore accents in queries", "Cache the facets for a minute"],
  storefront: ["Load the hero picture lazily", "Say how many are left in stock", "Fix the focus order of the menu"],
  mailer: ["Send receipts as plain text too", "Do not greet people twice", "Wait longer between retries"],
};
const ANY = ["Tidy up the configuration", "Log the request's id", "Handle an empty answer"];

const FAULTS = {
  merge_conflict: "The next merge conflicts",
  red_check: "A check on the next commit is red",
  slow_rollout: "The next rollout is slow",
  crash_loop: "The next rollout crashes in a loop",
  image_missing: "The next image cannot be pulled",
  slack_429: "Slack answers “too many requests”",
  slack_down: "Slack is down",
  github_502: "GitHub answers 502",
  github_timeout_after_effect: "GitHub times out, but has done it",
  cluster_down: "The cluster cannot be reached",
  lost_webhook: "The next webhook is lost",
  duplicate_webhook: "The next webhook comes twice",
};

let pushes = 0;
const suggestion = (artefact) => {
  const list = MESSAGES[artefact] ?? ANY;
  return list[pushes % list.length];
};

const field = (label, control, note) => h("div", { class: "field" }, h("label", { for: control.id }, label), control, note ? h("p", { class: "hint-text" }, note) : null);
const options = (names, words = (name) => name) => names.map((name) => h("option", { value: name }, words(name)));

/** Resolves to true once something was pushed. */
export function pushDialog(world, branches) {
  const artefact = h("select", { id: "push-artefact", class: "select" }, options(world.artefacts.map((each) => each.name)));
  const branch = h("select", { id: "push-branch", class: "select" });
  const message = h("input", { id: "push-message", type: "text", required: true, maxlength: 200, autocomplete: "off" });
  let touched = false;
  message.addEventListener("input", () => { touched = true; });
  const follow = () => {
    const repository = world.artefacts.find((each) => each.name === artefact.value)?.repository;
    const others = branches(repository).filter((name) => name !== "develop");
    branch.replaceChildren(...options(["develop", ...others], (name) => (name === "develop" ? "develop (deployed to development)" : name)));
    if (!touched) message.value = suggestion(artefact.value);
  };
  artefact.addEventListener("change", follow);
  follow();
  return form({
    title: "Push a commit",
    yes: "Push",
    body: [
      h("p", { class: "dialog-lead" }, "CI builds every commit, the controller rolls it out, and Gantry says so in the channel."),
      field("Artefact", artefact), field("Message", message), field("Branch", branch),
    ],
    submit: async () => {
      const push = { artefact: artefact.value, message: message.value.trim() };
      if (branch.value !== "develop") push.branch = branch.value;
      const answer = await controlApi.push(push);
      pushes += 1;
      const commit = answer?.commit ?? answer?.sha;
      toast(`Pushed ${typeof commit === "string" ? `${commit.slice(0, 7)} ` : ""}to ${push.artefact}’s ${branch.value}. Watch it in the live view.`);
    },
  });
}

/** Resolves to true once a fault was armed. */
export function faultDialog(world, preset) {
  const fault = h("select", { id: "fault-name", class: "select" }, options(world.faults, (name) => FAULTS[name] ?? name.replaceAll("_", " ")));
  if (preset && world.faults.includes(preset)) fault.value = preset;
  const artefact = h("select", { id: "fault-artefact", class: "select" }, h("option", { value: "" }, "any artefact"), options(world.artefacts.map((each) => each.name)));
  const environment = h("select", { id: "fault-environment", class: "select" }, h("option", { value: "" }, "any environment"), options(world.environments));
  const times = h("input", { id: "fault-times", type: "number", min: 1, max: 100, required: true, value: "1" });
  return form({
    title: "Break something",
    yes: "Break it",
    style: "danger",
    body: [
      h("p", { class: "dialog-lead" }, "From now on, this goes wrong. Then push a commit and see what the bot makes of it."),
      field("What goes wrong", fault),
      h("div", { class: "field-row" }, field("Artefact", artefact), field("Environment", environment), field("Times", times)),
    ],
    submit: async () => {
      const armed = { fault: fault.value, times: Number(times.value) };
      if (artefact.value) armed.artefact = artefact.value;
      if (environment.value) armed.environment = environment.value;
      await controlApi.fault(armed);
      toast(`Armed: ${FAULTS[fault.value] ?? fault.value}.`);
    },
  });
}
