// Connects the parts of the page: the selected person and channel, the drawing, and the requests after each change.

import { blocks } from "./blocks.js";
import { composer } from "./composer.js";
import { confirmDialog, toast } from "./dialogs.js";
import { byId, h, icon, reconcile } from "./dom.js";
import { controlApi } from "./control_api.js";
import { hint } from "./hint.js";
import { branchOf, liveView } from "./live.js";
import { avatar, drawMessages, secondsOf, threads } from "./messages.js";
import { coalesced, listen } from "./stream.js";
import { keepTimesFresh } from "./text.js";
import { viewer } from "./views.js";
import { faultDialog, pushDialog } from "./world.js";

const BOT = { id: "U0GANTRY", name: "gantry", real_name: "Gantry" };
const DIRECT = "@gantry";

const remember = (key, value) => {
  try {
    sessionStorage.setItem(key, value);
  } catch { /* Without storage, a reload starts with the defaults. */ }
};
const recall = (key) => {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return null;
  }
};

// In sessionStorage, so that each tab can be another person.
const shown = { me: recall("me"), channel: recall("channel"), tab: "messages", thread: null, repository: null };
const messages = new Map();
const acknowledgements = [];
const seen = new Map();
const begun = new Set();
let world = null;
let truth = null;
let mark = null;

const names = {
  get me() { return shown.me; },
  get names() { return new Set([...world.people.map((person) => person.name), BOT.name]); },
  person: (id) => (id === BOT.id ? BOT : world.people.find((person) => person.id === id)),
  channel: (id) => world.channels.find((channel) => channel.id === id || channel.name === id),
  display: (name) => ({ gantry: BOT.real_name, slackbot: "Slackbot" })[name] ?? world.people.find((person) => person.name === name)?.real_name ?? name,
  jump,
};

const places = () => [...world.channels.map((channel) => channel.name), DIRECT];
const title = (channel) => (channel === DIRECT ? "Gantry" : `#${channel}`);

function visible(channel) {
  const mine = (message) => !message.only_to || message.only_to === shown.me || names.person(message.only_to)?.name === shown.me;
  const own = acknowledgements.filter((message) => message.channel === channel);
  return [...(messages.get(channel) ?? []), ...own].filter(mine).sort((a, b) => secondsOf(a) - secondsOf(b));
}

// ---- drawing ----

function drawSidebar() {
  reconcile(byId("channels"), world.channels.map((channel) => channel.name), channelRow());
  reconcile(byId("apps"), [DIRECT], channelRow());
  reconcile(byId("people"), world.people, {
    key: (person) => person.id,
    look: (person) => JSON.stringify([person, person.name === shown.me]),
    make: (person) => h("li", {}, h("label", { class: "person" },
      h("input", { type: "radio", name: "me", value: person.name, checked: person.name === shown.me, onchange: () => become(person.name) }),
      avatar(person.name, "small"), h("span", { class: "name" }, person.real_name), person.guest ? h("span", { class: "guest" }, "guest") : null)),
  });
}

const unread = (channel) => visible(channel).filter((message) => !message.thread && message.user !== shown.me && secondsOf(message) > (seen.get(`${shown.me} ${channel}`) ?? Infinity)).length;

function channelRow() {
  return {
    key: (channel) => channel,
    look: (channel) => JSON.stringify([channel === shown.channel, unread(channel)]),
    make: (channel) => {
      const count = unread(channel);
      return h("li", {}, h("button", { type: "button", class: count ? "channel fresh" : "channel", "aria-current": channel === shown.channel ? "page" : null, onclick: () => open(channel) },
        channel === DIRECT ? avatar("gantry", "small") : icon("hash"), h("span", { class: "name" }, channel === DIRECT ? "Gantry" : channel),
        count ? h("span", { class: "count", "aria-label": `${count} unread` }, String(count)) : null));
    },
  };
}

/** Keeps the list scrolled to its end, if it is there, when messages arrive or the window changes its size. */
function stayAtEnd() {
  const scroller = byId("scroller");
  let atEnd = true;
  scroller.addEventListener("scroll", () => { atEnd = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 60; });
  const follow = (force) => {
    if (atEnd || force) scroller.scrollTop = scroller.scrollHeight;
  };
  new ResizeObserver(() => follow(false)).observe(scroller);
  return follow;
}

function drawChannel({ jumpToEnd = false } = {}) {
  const all = visible(shown.channel);
  const main = all.filter((message) => !message.thread || message.thread === message.id || message.broadcast);
  drawMessages(byId("messages"), main, context(threads(all)));
  byId("quiet").hidden = main.length > 0;
  followEnd(jumpToEnd);
  seen.set(`${shown.me} ${shown.channel}`, Math.max(0, ...all.map(secondsOf)));
  drawThread(all);
  drawSidebar();
}

function drawThread(all) {
  const root = shown.thread && all.find((message) => message.id === shown.thread);
  byId("thread").hidden = !root;
  if (!root) return;
  const replies = all.filter((message) => message.thread === root.id && message.id !== root.id);
  drawMessages(byId("thread-messages"), [root, ...replies], { ...context(null), openThread: undefined });
}

function context(replies) {
  return { world: names, me: shown.me, replies, openThread, press };
}

function drawHeader() {
  const direct = shown.channel === DIRECT;
  byId("channel-name").replaceChildren(direct ? avatar("gantry", "small") : icon("hash"), direct ? "Gantry" : shown.channel);
  byId("tabs").hidden = !direct;
  const home = direct && shown.tab === "home";
  for (const tab of ["messages", "home"]) byId(`tab-${tab}`).setAttribute("aria-selected", String(tab === (home ? "home" : "messages")));
  byId("home").hidden = !home;
  byId("scroller").hidden = home;
  byId("foot").hidden = home;
  box.label(direct ? "Message Gantry" : `Message #${shown.channel}`);
  document.title = `${title(shown.channel)} · Gantry demo`;
}

async function drawHome(again = false) {
  const root = byId("home");
  root.setAttribute("aria-busy", "true");
  try {
    const answer = await controlApi.home(shown.me, again);
    const view = answer?.view ?? answer;
    const ctx = { world: names, press: (element, label, node) => press({ id: "home" }, element, label, node) };
    root.replaceChildren(...(view?.blocks?.length ? blocks(view.blocks, ctx) : [h("p", { class: "empty" }, "Gantry has not published a Home for you yet.")]));
  } catch (problem) {
    root.replaceChildren(h("p", { class: "empty" }, problem.message));
  }
  root.removeAttribute("aria-busy");
}

// ---- actions of the person ----

/** Selects the pane that a narrow window shows: the chat or the live view. */
function showPane(name) {
  document.body.dataset.pane = name;
  for (const other of ["chat", "live"]) byId(`show-${other}`).setAttribute("aria-pressed", String(other === name));
}

function open(channel, tab = "messages") {
  showPane("chat");
  Object.assign(shown, { channel, tab, thread: null });
  remember("channel", channel);
  drawHeader();
  drawChannel({ jumpToEnd: true });
  if (tab === "home") drawHome();
  else box.focus();
}

async function become(name) {
  shown.me = name;
  remember("me", name);
  shown.thread = null;
  await refreshMessages();
  for (const channel of places()) if (!seen.has(`${name} ${channel}`)) seen.set(`${name} ${channel}`, Math.max(0, ...visible(channel).map(secondsOf)));
  drawHeader();
  drawChannel({ jumpToEnd: true });
  if (shown.tab === "home") drawHome();
}

function openThread(id) {
  shown.thread = id;
  drawThread(visible(shown.channel));
  const list = byId("thread-scroller");
  list.scrollTop = list.scrollHeight;
  reply.focus();
}

function closeThread() {
  shown.thread = null;
  byId("thread").hidden = true;
  box.focus();
}

function jump({ channel, id }) {
  const name = names.channel(channel)?.name;
  if (!name) return;
  open(name);
  const message = id && visible(name).find((each) => each.id === id);
  if (message?.thread && message.thread !== message.id) openThread(message.thread);
  const node = id && document.querySelector(`.message[data-id="${CSS.escape(id)}"]`);
  node?.scrollIntoView({ block: "center" });
  node?.classList.add("changed");
}

/** Runs a function that calls the control API, and shows the sentence of its error. */
async function attempt(work) {
  try {
    await work();
    return true;
  } catch (problem) {
    toast(problem.message, "error");
    return false;
  }
}

async function press(message, element, label, node) {
  if (element.confirm && !(await confirmDialog(element.confirm, names))) return;
  const { me, channel } = shown;
  if (node) node.disabled = true;
  await attempt(async () => {
    const answer = await controlApi.click(me, channel, message.id, label);
    if (answer?.status !== undefined && answer.status !== 200) throw new Error(`Gantry did not take that click (${answer.status || answer.body}). Try again.`);
    modals.show(answer?.views, me);
    await refreshMessages();
    drawChannel();
  });
  if (node) node.disabled = false;
}

const send = (text) => attempt(async () => {
  const { me, channel } = shown;
  if (!text.startsWith("/")) await controlApi.say(me, channel, text);
  else {
    const known = new Set(visible(channel).map((message) => message.id));
    const answer = await controlApi.command(me, channel, text);
    modals.show(answer?.views, me);
    await refreshMessages();
    acknowledge(answer, known, { me, channel });
  }
  await refreshMessages();
  drawChannel({ jumpToEnd: true });
});

/** Keeps the text of an acknowledgement, unless a new message of the channel already shows it. */
function acknowledge(answer, known, { me, channel }) {
  // For a failed command, a message of Slackbot gives the reason.
  if (answer?.status !== 200) return;
  let body = answer.body;
  try {
    if (typeof body === "string" && body !== "") body = JSON.parse(body);
  } catch {
    body = { text: body };
  }
  if (!body || (!body.text && !body.blocks?.length)) return;
  const told = visible(channel).some((message) => !known.has(message.id) && (message.only_to || message.text === body.text));
  if (told) return;
  const only = body.response_type === "in_channel" ? null : me;
  acknowledgements.push({ channel, id: (Date.now() / 1000).toFixed(6), user: BOT.name, text: body.text ?? "", blocks: body.blocks, thread: null, edited: null, only_to: only });
}

const answerInThread = (text) => attempt(async () => {
  if (text.startsWith("/")) throw new Error(`${text.split(" ")[0]} does not work in threads, as in Slack. Write @gantry and the command instead.`);
  await controlApi.say(shown.me, shown.channel, text, shown.thread);
  await refreshMessages();
  drawChannel();
});

// ---- requests ----

const fetchMessages = coalesced(async () => {
  const me = shown.me;
  const found = await Promise.all(places().map(async (channel) => [channel, await controlApi.messages(channel, me)]));
  if (me !== shown.me) return;
  for (const [channel, answer] of found) messages.set(channel, answer.messages);
  modals.show(found.at(-1)?.[1].views, me);
  tickBegun(found.flatMap(([, answer]) => answer.messages));
});

// The first line of a promotion's card. A refused promotion has no card, and the card of a rollback begins differently.
const PROMOTION = /^\*[^*]+\* `[^`]+`(?:: | for )/;
const ASKED = /asked by <@(\w+)> · .* · change `(\w+)`/;

/** Ticks off the promotions that this person has begun since the page was opened, by a command or a button. */
function tickBegun(all) {
  for (const message of all.filter((each) => each.user === BOT.name && PROMOTION.test(each.text))) {
    const [, by, change] = ASKED.exec(JSON.stringify(message.blocks)) ?? [];
    if (!change || begun.has(change)) continue;
    begun.add(change);
    if (names.person(by)?.name === shown.me) mark?.(message.text.includes("*prod*") ? "release" : "promote");
  }
}

async function refreshMessages() {
  await fetchMessages();
}

const refreshState = coalesced(async () => {
  truth = await controlApi.state();
  live.truth(truth);
});

const refreshGraph = coalesced(async () => {
  const repository = shown.repository;
  const answer = await controlApi.graph(repository);
  if (repository === shown.repository) live.graph(repository, answer?.commits ?? []);
});

async function changed(what) {
  if (!world) return;
  try {
    if (what === "messages") {
      await refreshMessages();
      drawChannel();
      if (shown.tab === "home") await drawHome(true);
    }
    if (what === "state" || what === "builds" || what === "git") await refreshState();
    if (what === "git") await refreshGraph();
  } catch { /* The stream reports the lost connection, and everything is fetched again when it is back. */ }
}

async function everything() {
  const first = world === null;
  acknowledgements.length = 0;
  world = await controlApi.world();
  if (!world.people.some((person) => person.name === shown.me)) shown.me = world.people[0].name;
  if (!places().includes(shown.channel)) shown.channel = world.channels[0].name;
  shown.repository ??= world.artefacts[0]?.repository ?? null;
  await refreshMessages();
  for (const channel of places()) if (first) seen.set(`${shown.me} ${channel}`, Math.max(0, ...visible(channel).map(secondsOf)));
  drawHeader();
  drawChannel({ jumpToEnd: first });
  live.world(world);
  await refreshState();
  if (shown.repository) await refreshGraph();
  if (first) begin();
}

function begin() {
  const push = async () => { if (await pushDialog(world, branches)) mark("push"); };
  const broken = async (preset) => { if (await faultDialog(world, preset)) mark("break"); };
  mark = hint([
    { id: "push", title: "Push a commit", text: "and watch it reach development", act: push },
    { id: "promote", title: "Promote it", text: "with /promote checkout qa", act: () => { open(shown.channel); box.write("/promote checkout qa"); } },
    { id: "release", title: "Go to production", text: "with /promote checkout prod, then approve it as Bob in #releases", act: () => { open(shown.channel); box.write("/promote checkout prod"); } },
    { id: "break", title: "Break a rollout", text: "then promote, and Roll back from the card that turns red", act: () => broken("crash_loop") },
  ]);
  byId("push").addEventListener("click", push);
  byId("crash").addEventListener("click", () => attempt(async () => {
    // The button promises one crash, so a second click arms no second fault.
    if (!live.crashIsArmed()) await controlApi.fault({ fault: "crash_loop" });
    mark("break");
    await refreshState();
  }));
  byId("break").addEventListener("click", () => broken());
  document.body.dataset.ready = "true";
  box.focus();
}

function branches(repository) {
  const known = Object.keys(truth?.repositories?.[repository]?.branches ?? {});
  const ladder = world.environments.map(branchOf);
  return [...ladder.filter((branch) => known.includes(branch)), ...known.filter((branch) => !ladder.includes(branch))];
}

// ---- start ----

const followEnd = stayAtEnd();
const offers = () => ({ commands: world?.commands ?? [], names: world ? [BOT.name, ...world.people.map((person) => person.name)] : [] });
const box = composer(byId("composer"), { label: "Message", offers, send });
const reply = composer(byId("thread-composer"), { label: "Reply…", offers, send: answerInThread, slash: false });
const modals = viewer(names, press);
const live = liveView({
  pick: (repository) => {
    shown.repository = repository;
    refreshGraph().catch((problem) => toast(problem.message, "error"));
  },
});

byId("thread-close").addEventListener("click", closeThread);
byId("tab-messages").addEventListener("click", () => open(DIRECT));
byId("tab-home").addEventListener("click", () => open(DIRECT, "home"));
for (const name of ["chat", "live"]) byId(`show-${name}`).addEventListener("click", () => showPane(name));
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && shown.thread && !event.defaultPrevented && !document.querySelector("dialog[open]")) closeThread();
});
keepTimesFresh();
listen({
  changed,
  connected: async () => {
    try {
      await everything();
      byId("gone").hidden = true;
    } catch (problem) {
      toast(problem.message, "error");
    }
  },
  lost: () => {
    byId("gone").hidden = false;
    modals.forget();
  },
});
