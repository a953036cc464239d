// Tests of the demo's page in a real browser: the actions of a person and their effects, from a push to the bot's message.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";

const BINARY = process.env.GANTRY_BIN ?? fileURLToPath(new URL("../../target/debug/gantry", import.meta.url));
const BROWSER = process.env.CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const TIMEOUT = 30_000;
const START_TIMEOUT = 20_000;

const playwright = await import("playwright-core").catch(() => null);
const missing = !playwright ? "playwright-core is not installed (npm ci)" : !existsSync(BROWSER) ? `there is no ${BROWSER}` : null;
if (missing) console.error(`\n!!! THE PAGE IS NOT TESTED IN A BROWSER: ${missing}\n`);
// In CI, a missing browser is a failure.
const skip = missing && !process.env.CI ? missing : false;

let demo;
let url;
let browser;
let page;
const consoleErrors = [];
const foreignRequests = [];

const started = [];

/** Starts another demo on a free port: returns the process and its address. */
async function startDemo() {
  const child = spawn(BINARY, ["demo", "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "inherit"] });
  started.push(child);
  const address = await new Promise((resolve, reject) => {
    let output = "";
    const late = setTimeout(() => reject(new Error(`the demo did not print its address: ${output}`)), START_TIMEOUT);
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`the demo ended with ${code}: ${output}`)));
    child.stdout.on("data", (chunk) => {
      output += chunk;
      const match = /http:\/\/127\.0\.0\.1:\d+\//.exec(output);
      if (match) {
        clearTimeout(late);
        resolve(match[0]);
      }
    });
  });
  return { child, address };
}

async function visit(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, deviceScaleFactor: 1, colorScheme: "light", ...options });
  const opened = await context.newPage();
  opened.setDefaultTimeout(TIMEOUT);
  opened.on("console", (message) => { if (["error", "warning"].includes(message.type())) consoleErrors.push(message.text()); });
  opened.on("pageerror", (error) => consoleErrors.push(error.message));
  opened.on("request", (request) => { if (!request.url().startsWith(url) && !request.url().startsWith("data:")) foreignRequests.push(request.url()); });
  return opened;
}

async function enter(opened, address = url) {
  await opened.goto(address);
  await opened.locator("body[data-ready]").waitFor();
}

const workload = (environment, artefact) => page.locator(`.workload[data-environment="${environment}"][data-artefact="${artefact}"]`);
const tried = (title) => page.getByRole("complementary", { name: "Four things to try" }).getByRole("listitem").filter({ hasText: title });
const messages = (selector = "") => page.locator(`#messages .message${selector}`);

async function type(text) {
  await page.locator("#composer textarea").fill(text);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
}

async function push(artefact, message) {
  await page.getByRole("button", { name: "Push a commit", exact: true }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Artefact").selectOption(artefact);
  if (message) await dialog.getByLabel("Message").fill(message);
  await dialog.getByRole("button", { name: "Push" }).click();
  await dialog.waitFor({ state: "detached" });
}

before(async () => {
  if (skip) return;
  assert.equal(missing, null);
  ({ child: demo, address: url } = await startDemo());
  browser = await playwright.chromium.launch({ executablePath: BROWSER, args: FLAGS });
  page = await visit();
  await enter(page);
});

after(async () => {
  await browser?.close();
  for (const child of started) child.kill("SIGKILL");
});

test("the page first shows the running versions and four things to try", { skip }, async () => {
  for (const environment of ["development", "qa", "staging", "prod"]) {
    await page.locator(`.workload[data-environment="${environment}"][data-artefact="checkout"][data-state="running"]`).waitFor();
  }
  assert.equal(await page.getByRole("complementary", { name: "Four things to try" }).getByRole("listitem").count(), 4);
  assert.ok((await page.locator(".commits li").count()) > 1, "the Git graph shows commits");
  assert.ok((await page.locator(".lanes .edge").count()) > 1, "and the lines between them");
  const fits = await page.evaluate(() => document.documentElement.scrollHeight <= innerHeight && document.documentElement.scrollWidth <= innerWidth);
  assert.ok(fits, "the page as a whole does not scroll");
});

test("a push is built, rolled out, and announced in the channel", { skip }, async () => {
  const before = await workload("development", "checkout").getAttribute("data-version");
  await push("checkout", "Round taxes per line, not per basket");
  await page.locator('.build[data-artefact="checkout"]').first().waitFor();
  const arrived = page.locator(`.workload[data-environment="development"][data-artefact="checkout"][data-state="running"]:not([data-version="${before}"])`);
  await arrived.waitFor();
  const version = await arrived.getAttribute("data-version");
  await page.locator(".commits li", { hasText: "Round taxes per line" }).locator(".ref.running", { hasText: "development" }).waitFor();
  const told = messages('[data-user="gantry"]').filter({ hasText: "checkout" }).filter({ hasText: version.slice(-7) });
  await told.first().waitFor();
  assert.match(await told.first().innerText(), /development/);
});

test("/list answers with a table that only the requester sees", { skip }, async () => {
  await page.locator("#composer textarea").fill("/li");
  await page.getByRole("option", { name: /\/list/ }).waitFor();
  await type("/list");
  const answer = messages(".private").filter({ has: page.locator("table") });
  await answer.first().waitFor();
  const table = await answer.first().locator("table").first().innerText();
  for (const word of ["checkout", "search", "storefront", "mailer"]) assert.ok(table.includes(word), `${word} is in the table`);
  assert.match(await answer.first().innerText(), /Only visible to you/);
});

test("one card follows a promotion from the command to the last pod", { skip }, async () => {
  const source = await workload("development", "checkout").getAttribute("data-version");
  const before = await workload("qa", "checkout").getAttribute("data-version");
  // A refused command does not tick off the step; the begin of a change does.
  for (const [typed, said] of [["/promote checkout development", "fed by pushes"], ["/promote chekout qa", "Did you mean checkout?"]]) {
    await type(typed);
    await messages(".private").filter({ hasText: said }).last().waitFor();
  }
  assert.equal(await tried("Promote it").getByText("(done)").count(), 0);
  await type("/promote checkout qa");
  await tried("Promote it").getByText("(done)").waitFor({ state: "attached" });
  const card = messages('[data-user="gantry"]').filter({ hasText: "asked by" }).filter({ hasText: source.slice(-7) });
  await card.first().waitFor();
  // The card is edited in place: the same message shows the progress and the end.
  const id = await card.first().getAttribute("data-id");
  const same = page.locator(`#messages .message[data-id="${id}"]`);
  await same.filter({ hasText: "deploying to qa" }).waitFor();
  // Progress is shown every few seconds, so a quick rollout may be over before the next update.
  await same.filter({ hasText: /rolling out|running in qa/ }).waitFor();
  await same.filter({ hasText: "running in qa, 2 of 2 ready" }).waitFor();
  const text = await same.innerText();
  for (const part of ["merged into qa", "tagged qa/", "rolled out", "Round taxes per line", "Next: /promote checkout staging"]) {
    assert.ok(text.includes(part), `${part} is on the card: ${text}`);
  }
  // The cluster and Git agree with the card.
  await page.locator(`.workload[data-environment="qa"][data-artefact="checkout"][data-state="running"]:not([data-version="${before}"])`).waitFor();
  await page.locator(".commits li", { hasText: "Promote checkout" }).first().locator(".ref", { hasText: /^qa\/\d/ }).waitFor();
});

test("a refusal is shown only to the requester, with the next step", { skip }, async () => {
  for (const [typed, said] of [["/promote checkout qa", "has everything of"], ["/promote checkout development", "fed by pushes"], ["/promote chekout qa", "Did you mean checkout?"]]) {
    const before = await messages(".private").count();
    await type(typed);
    await page.waitForFunction(([count, words]) => {
      const all = [...document.querySelectorAll("#messages .message.private")];
      return all.length > count && all.some((message) => message.innerText.includes(words));
    }, [before, said]);
  }
});

test("the button on an arrival promotes it, and asks first if other artefacts move too", { skip }, async () => {
  await push("storefront", "Say how many are left in stock");
  const arrival = messages('[data-user="gantry"]').filter({ hasText: "Say how many are left in stock" }).filter({ hasText: "storefront" });
  await arrival.first().getByRole("button", { name: "Promote" }).click();
  const question = messages(".private").filter({ hasText: "Moves as well" });
  await question.last().getByRole("button", { name: "Confirm" }).click();
  await messages('[data-user="gantry"]').filter({ hasText: "storefront" }).filter({ hasText: "running in qa, 2 of 2 ready" }).first().waitFor();
});

test("a second person must approve the pull request for production", { skip }, async () => {
  const be = async (name) => page.getByRole("radio", { name: new RegExp(name, "i") }).check({ force: true });
  const channel = async (name) => page.locator("#channels .channel", { hasText: name }).click();
  const before = await workload("prod", "checkout").getAttribute("data-version");
  await type("/promote checkout prod");
  const question = messages(".private").filter({ hasText: "by a pull request into prod" }).last();
  await question.waitFor();
  assert.equal(await tried("Go to production").getByText("(done)").count(), 0, "the plan is not confirmed yet");
  await question.getByRole("button", { name: "Confirm" }).click();
  await tried("Go to production").getByText("(done)").waitFor({ state: "attached" });
  await channel("releases");
  const card = messages('[data-user="gantry"]').filter({ hasText: "asked by" }).last();
  await card.filter({ hasText: "waiting for 1 approval" }).waitFor();
  const pulls = page.locator("#pulls a", { hasText: "Promote checkout" });
  await pulls.first().waitFor();

  // A rejection asks for a reason in a modal, which opens a moment after the click.
  await be("bob");
  await card.getByRole("button", { name: "Reject" }).click();
  const modal = page.getByRole("dialog", { name: "Reject this change" });
  await modal.getByLabel("Why?").fill("Not before the invoices are out");
  await modal.getByRole("button", { name: "Reject" }).click();
  await card.filter({ hasText: "Not before the invoices are out" }).waitFor();

  await be("alice");
  await channel("deploys");
  await type("/promote checkout prod");
  await messages(".private").filter({ hasText: "by a pull request into prod" }).last().getByRole("button", { name: "Confirm" }).click();
  await channel("releases");
  const second = messages('[data-user="gantry"]').filter({ hasText: "asked by" }).last();
  await second.filter({ hasText: "waiting for 1 approval" }).waitFor();

  // The review is made on the pull request's own page.
  const review = await visit();
  await review.goto(await pulls.first().getAttribute("href").then((href) => new URL(href, url).href));
  await review.getByText("Asked for by alice in Slack").waitFor();
  await review.getByRole("combobox").selectOption("bob");
  await review.getByRole("button", { name: /approve/i }).click();
  await review.getByText(/approved/i).first().waitFor();
  await review.context().close();

  await second.filter({ hasText: "approved by" }).filter({ hasText: "running in prod, 3 of 3 ready" }).waitFor();
  await page.locator(`.workload[data-environment="prod"][data-artefact="checkout"][data-state="running"]:not([data-version="${before}"])`).waitFor();
  await channel("deploys");
});

test("the next rollout crashes once, and the button shows whether it is armed", { skip }, async () => {
  const button = page.getByRole("button", { name: "Make the next rollout crash" });
  const said = page.getByRole("status").filter({ hasText: /Armed|struck/ });
  assert.equal(await button.getAttribute("aria-pressed"), "false");
  await button.click();
  await page.locator('#crash[aria-pressed="true"]').waitFor();
  assert.match(await said.innerText(), /^Armed: what rolls out next crashes/);
  await button.click();
  const truth = () => page.evaluate(() => fetch("/sim/state").then((answer) => answer.json()));
  assert.deepEqual((await truth()).armed, [{ fault: "crash_loop", times: 1, artefact: null, environment: null }], "it is armed once, even if pressed twice");

  await push("checkout", "Ask for the address twice");
  await page.locator('#crash[aria-pressed="false"]').waitFor();
  assert.match(await said.innerText(), /^It has struck/);
  assert.deepEqual((await truth()).armed, []);
  await page.locator('.workload[data-environment="development"][data-artefact="checkout"][data-state="degraded"]').waitFor();
  await messages('[data-user="gantry"]').filter({ hasText: "Ask for the address twice" }).filter({ hasText: "CrashLoopBackOff" }).first().waitFor();

  await push("checkout", "Ask for the address once");
  await page.locator('.workload[data-environment="development"][data-artefact="checkout"][data-state="running"]').waitFor();
  assert.equal(await button.getAttribute("aria-pressed"), "false");
});

test("a failed promotion is rolled back from its card", { skip }, async () => {
  await page.getByRole("button", { name: "Make the next rollout crash" }).click();
  await page.locator('#crash[aria-pressed="true"]').waitFor();
  const runs = (artefact) => page.evaluate((name) => fetch("/sim/state").then((answer) => answer.json()).then((truth) => truth.environments.staging[name].state), artefact);
  await type("/promote checkout staging");
  const red = messages('[data-user="gantry"]').filter({ hasText: "failed in staging" }).filter({ hasText: "asked by" });
  await red.getByText("CrashLoopBackOff").waitFor();
  assert.equal(await runs("checkout"), "degraded");
  await red.getByRole("button", { name: "Roll back", exact: true }).click();
  await page.locator("dialog").getByRole("button", { name: "Roll back", exact: true }).click();
  const restored = messages('[data-user="gantry"]').filter({ hasText: "restored as" }).filter({ hasText: "running in staging" });
  await restored.first().waitFor();
  assert.equal(await runs("checkout"), "running");
  assert.match(await restored.first().innerText(), /failed: CrashLoopBackOff/, "the reason is the failure");
  await red.waitFor();
  assert.equal(await red.getByRole("button", { name: "Roll back", exact: true }).count(), 0, "the card shows that it was rolled back");
});

test("a wrong command is answered with help", { skip }, async () => {
  const before = await messages(".private").count();
  await type("/gantry frobnicate");
  await page.waitForFunction((count) => document.querySelectorAll("#messages .message.private").length > count, before);
  const help = await messages(".private").last().innerText();
  for (const word of ["list", "promote"]) assert.ok(help.includes(word), `the help names ${word}: ${help}`);
});

test("the Home tab shows approvals, versions and actions, and updates by itself", { skip }, async () => {
  const fresh = await startDemo();
  // This demo has another address, so the check for foreign requests does not cover this page.
  const other = await (await browser.newContext()).newPage();
  await enter(other, fresh.address);
  const call = (path, body) => fetch(new URL(path, fresh.address), { method: "POST", body: JSON.stringify(body) }).then((answer) => answer.json());
  await other.locator("#apps .channel", { hasText: "Gantry" }).click();
  await other.getByRole("tab", { name: "Home" }).click();
  const home = other.locator("#home");
  await home.getByText("Waits for your approval").waitFor();
  await home.getByText("checkout").first().waitFor();
  await home.getByRole("button", { name: "Promote checkout to qa" }).waitFor();
  await call("/sim/command", { user: "bob", channel: "deploys", text: "/promote checkout qa" });
  await home.getByText("asked by").first().waitFor();
  await home.getByRole("button", { name: "Status" }).click();
  await other.getByRole("tab", { name: "Messages" }).click();
  await other.locator("#messages .message").filter({ hasText: "under way" }).first().waitFor();
  await other.context().close();
  fresh.child.kill("SIGINT");
});

test("another person does not see the private messages of alice", { skip }, async () => {
  assert.ok((await messages(".private").count()) > 0);
  const all = await messages().count();
  await page.getByRole("radio", { name: /bob/i }).check({ force: true });
  await page.waitForFunction((count) => document.querySelectorAll("#messages .message").length < count, all);
  assert.equal(await messages(".private").count(), 0);
  await page.getByRole("radio", { name: /alice/i }).check({ force: true });
  await messages(".private").first().waitFor();
});

test("typed text is shown, and markup in it stays text", { skip }, async () => {
  await type('<img src=x onerror="alert(1)"> & *bold*');
  const said = messages('[data-user="alice"]').last();
  await page.waitForFunction(() => document.querySelector("#messages").innerText.includes("onerror"));
  assert.equal(await said.locator("img").count(), 0);
  assert.equal(await said.locator("b", { hasText: /^bold$/ }).count(), 1);
  await push("search", "<script>alert(1)</script> <!channel>");
  await page.getByLabel("Repository").selectOption("acme/search");
  await page.locator(".commits li", { hasText: "<script>alert(1)</script> <!channel>" }).first().waitFor();
});

test("an error of the control API is shown as its message", { skip }, async () => {
  const other = await visit();
  await other.route("**/sim/say", (route) => route.fulfill({ status: 409, contentType: "application/json", body: '{"error":"The channel is archived."}' }));
  await enter(other);
  await other.locator("#composer textarea").fill("hello");
  await other.keyboard.press("Enter");
  await other.getByRole("alert").filter({ hasText: "The channel is archived." }).waitFor();
  assert.equal(await other.locator("#composer textarea").inputValue(), "hello", "the typed text is kept");
  // The browser logs the 409 itself.
  assert.equal(consoleErrors.filter((text) => text.includes("409")).length, 1);
  consoleErrors.splice(consoleErrors.findIndex((text) => text.includes("409")), 1);
  await other.context().close();
});

test("Block Kit is rendered as in Slack", { skip }, async () => {
  const other = await visit();
  const text = (words) => ({ type: "plain_text", text: words });
  const card = (edited) => ({
    id: "1763262000.000100", user: "gantry", text: "checkout to prod", thread: null, edited, blocks: [
      { type: "header", text: text("checkout to prod :rocket:") },
      { type: "section", text: { type: "mrkdwn", text: edited ? "Approved by <@U0BOB>" : "Asked by <@U0ALICE> <!date^1763262000^{date_num}|then>" }, fields: [{ type: "mrkdwn", text: "*From*\n`1.3`" }, { type: "mrkdwn", text: "*To*\n`1.4`" }] },
      { type: "divider" },
      { type: "context", elements: [{ type: "mrkdwn", text: "waiting for 1 approval" }] },
      { type: "table", column_settings: [{}, { align: "right" }], rows: [[{ type: "raw_text", text: "artefact" }, { type: "raw_text", text: "version" }], [{ type: "raw_text", text: "checkout" }, { type: "rich_text", elements: [{ type: "rich_text_section", elements: [{ type: "text", text: "1.4", style: { code: true } }] }] }]] },
      ...(edited ? [] : [{ type: "actions", elements: [{ type: "button", action_id: "yes", style: "primary", text: text("Approve"), confirm: { title: text("Approve it?"), text: { type: "mrkdwn", text: "*checkout* goes to *prod*" }, confirm: text("Approve"), deny: text("Not yet") } }, { type: "button", action_id: "no", style: "danger", text: text("Reject") }] }]),
    ],
  });
  let edited = 0;
  const clicks = [];
  const reply = { id: "1763262060.000100", user: "bob", text: "looks good :+1:", thread: "1763262000.000100", edited: 0, blocks: [] };
  await other.route("**/sim/messages?*", (route) => route.fulfill({ json: { messages: route.request().url().includes("deploys") ? [card(edited), reply] : [] } }));
  await other.route("**/sim/click", (route) => {
    clicks.push(route.request().postDataJSON());
    edited = 1;
    return route.fulfill({ json: { status: 200, body: "", views: [{ id: "V1", title: text("Why?"), submit: text("Send"), blocks: [{ type: "input", block_id: "why", label: text("Reason"), element: { type: "plain_text_input", action_id: "reason" } }] }] } });
  });
  const submitted = [];
  await other.route("**/sim/submit", (route) => { submitted.push(route.request().postDataJSON()); return route.fulfill({ json: { status: 200, body: "" } }); });
  await enter(other);

  const message = other.locator("#messages .message");
  assert.equal(await message.count(), 1, "replies are only in the thread");
  assert.equal(await message.locator("h3").innerText(), "checkout to prod 🚀");
  assert.equal(await message.locator(".fields > div").count(), 2);
  assert.match(await message.locator(".section-text").innerText(), /Asked by @alice \d{4}-\d\d-\d\d/);
  assert.equal(await message.locator("td.align-right code").innerText(), "1.4");

  await message.getByRole("button", { name: "Approve" }).click();
  const confirm = other.getByRole("dialog");
  assert.match(await confirm.innerText(), /Approve it\?[\s\S]*checkout goes to prod[\s\S]*Not yet/);
  await confirm.getByRole("button", { name: "Not yet" }).click();
  assert.deepEqual(clicks, []);
  await message.getByRole("button", { name: "Approve" }).click();
  await confirm.getByRole("button", { name: "Approve" }).click();
  await other.getByRole("dialog").getByLabel("Reason").fill("because");
  assert.deepEqual(clicks, [{ user: "alice", channel: "deploys", message: "1763262000.000100", button: "Approve" }]);
  await other.getByRole("dialog").getByRole("button", { name: "Send" }).click();
  await other.getByRole("dialog").waitFor({ state: "detached" });
  assert.deepEqual(submitted, [{ user: "alice", view: "V1", values: { why: { reason: { type: "plain_text_input", value: "because" } } } }]);

  await message.locator(".edited").waitFor();
  assert.equal(await message.getByRole("button", { name: "Approve" }).count(), 0);
  await message.getByRole("button", { name: /1 reply/ }).click();
  await other.getByRole("region", { name: "Thread" }).getByText("looks good").waitFor();
  await other.keyboard.press("Escape");
  await other.getByRole("region", { name: "Thread" }).waitFor({ state: "hidden" });
  await other.context().close();
});

test("a diff shows removed and added words, and its file opens in a new tab", { skip }, async () => {
  const other = await visit();
  const piece = (words, ...styles) => ({ type: "text", text: words, ...(styles.length ? { style: Object.fromEntries(styles.map((style) => [style, true])) } : {}) });
  const difference = { type: "rich_text", elements: [{ type: "rich_text_section", elements: [
    piece("@@ -1 +1 @@", "italic"), piece("\n"),
    piece("-   image: ", "code"), piece("<!channel> 1.4", "bold", "strike", "code"), piece("\n"),
    piece("+   image: ", "code"), piece("1.5", "bold", "code"),
  ] }] };
  const file = { id: "F1", name: "checkout.diff", title: "checkout, all 412 lines", permalink: `${url}sim/slack/files/F1` };
  const messages = [
    { id: "1763262000.000100", user: "gantry", text: "what differs", thread: null, edited: 0, blocks: [difference], files: [] },
    { id: "1763262060.000100", user: "gantry", text: "", thread: null, edited: 0, blocks: [], files: [file] },
  ];
  await other.route("**/sim/messages?*", (route) => route.fulfill({ json: { messages: route.request().url().includes("deploys") ? messages : [] } }));
  await other.context().route("**/sim/slack/files/F1", (route) => route.fulfill({ contentType: "text/plain; charset=utf-8", body: "-old\n+нове\n" }));
  await enter(other);

  const block = other.locator("#messages .block-rich_text");
  assert.equal(await block.innerText(), "@@ -1 +1 @@\n-   image: <!channel> 1.4\n+   image: 1.5");
  assert.equal(await block.locator("i").innerText(), "@@ -1 +1 @@");
  assert.equal(await block.locator("code s b").innerText(), "<!channel> 1.4", "removed text is struck through, and markup in it stays text");
  assert.deepEqual(await block.locator("code b").allInnerTexts(), ["<!channel> 1.4", "1.5"]);
  const [opened] = await Promise.all([other.context().waitForEvent("page"), other.getByRole("link", { name: file.title }).click()]);
  assert.equal(await opened.locator("body").innerText(), "-old\n+нове\n");
  await other.context().close();
});

test("the page works in a narrow window and in dark mode", { skip }, async () => {
  const other = await visit({ viewport: { width: 480, height: 800 }, colorScheme: "dark" });
  await enter(other);
  await other.locator("#composer textarea").waitFor();
  await other.getByRole("button", { name: "Live view" }).click();
  await other.locator('.workload[data-environment="prod"][data-artefact="checkout"]').waitFor();
  assert.ok(await other.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page does not scroll sideways");
  await other.context().close();
});

test("the page sent no foreign requests and logged no errors", { skip }, () => {
  assert.deepEqual(foreignRequests, []);
  assert.deepEqual(consoleErrors, []);
});

// `PICTURES=pictures npm test` makes new pictures. It needs a font with emoji, such as Debian's fonts-noto-color-emoji.
const PICTURES = process.env.PICTURES;
test("take the pictures for the README", { skip: skip || (PICTURES ? false : "PICTURES is not set") }, async () => {
  const { child: other, address } = await startDemo();
  const fresh = await visit();
  const shown = page;
  page = fresh;
  const picture = async (name, of = fresh) => {
    for (const toast of await fresh.getByRole("button", { name: "Dismiss" }).all()) await toast.click();
    await fresh.mouse.move(640, 790);
    await fresh.waitForTimeout(400);
    await of.screenshot({ path: `${PICTURES}/${name}.png` });
  };
  await enter(fresh, address);
  await fresh.getByRole("button", { name: "Hide the four things to try" }).click();
  const before = await messages('[data-user="gantry"]').count();
  await push("checkout", "Round taxes per line, not per basket");
  await fresh.waitForFunction((count) => document.querySelectorAll('#messages .message[data-user="gantry"]').length > count, before);
  await type("/promote checkout qa");
  const card = messages('[data-user="gantry"]').filter({ hasText: "asked by" }).first();
  await card.filter({ hasText: /deploying to qa, \d of 2 ready/ }).waitFor();
  await picture("demo");
  // Wide enough for a table of four environments.
  await fresh.setViewportSize({ width: 2200, height: 1100 });
  await card.filter({ hasText: "running in qa" }).waitFor();
  await picture("card", card);

  const answer = (text) => messages(".private").filter({ hasText: text }).last();
  await type("/list");
  await answer("storefront").locator("table").first().waitFor();
  await picture("list", answer("storefront"));
  await type("/diff qa staging checkout");
  await answer("Round taxes").getByRole("button").first().waitFor();
  await picture("diff", answer("Round taxes"));

  await type("/promote checkout prod");
  await answer("by a pull request into prod").getByRole("button", { name: "Confirm" }).click();
  await fresh.getByRole("radio", { name: /bob/i }).check({ force: true });
  await fresh.locator("#apps .channel", { hasText: "Gantry" }).click();
  await fresh.getByRole("tab", { name: "Home" }).click();
  await fresh.locator("#home").getByRole("button", { name: "Approve" }).waitFor();
  await picture("home", fresh.locator("#home"));
  await fresh.context().close();
  other.kill("SIGINT");
  page = shown;
});

test("the demo ends within three seconds, and the page shows that it is gone", { skip }, async () => {
  const ended = new Promise((resolve) => { demo.once("exit", resolve); });
  const asked = Date.now();
  demo.kill("SIGINT");
  await ended;
  assert.ok(Date.now() - asked < 3500, "it ended in time while a page was open");
  await page.getByRole("alert").filter({ hasText: "The demo is gone" }).waitFor();
});
