// Dialogs and toasts: confirm dialogs of buttons, modals of views, and the forms of the page itself.

import { blocks } from "./blocks.js";
import { byId, h, icon } from "./dom.js";
import { values } from "./inputs.js";
import { plainText, textObject } from "./text.js";

/**
 * A modal form. If `submit(form)` throws, the dialog stays open and shows the error. Resolves to true when the form is
 * submitted, and to false when it is closed.
 */
export function form({ title, body, yes = "OK", no = "Cancel", style = "primary", submit = () => {} }) {
  return new Promise((resolve) => {
    const error = h("p", { class: "dialog-error", role: "alert", hidden: true });
    const confirm = h("button", { type: "submit", class: `button ${style}` }, yes);
    const close = () => dialog.close();
    const content = h("form", { method: "dialog", novalidate: false },
      h("header", {}, h("h2", { id: "dialog-title" }, title), h("button", { type: "button", class: "quiet", "aria-label": "Close", onclick: close }, icon("close"))),
      h("div", { class: "dialog-body" }, body, error),
      h("footer", {}, no ? h("button", { type: "button", class: "button", onclick: close }, no) : null, yes ? confirm : null));
    const dialog = h("dialog", { "aria-labelledby": "dialog-title" }, content);
    let done = false;
    content.addEventListener("submit", async (event) => {
      event.preventDefault();
      confirm.disabled = true;
      try {
        await submit(content);
        done = true;
        dialog.close();
      } catch (problem) {
        error.textContent = problem.message;
        error.hidden = false;
        confirm.disabled = false;
      }
    });
    dialog.addEventListener("click", (event) => { if (event.target === dialog) close(); });
    dialog.addEventListener("close", () => { dialog.remove(); resolve(done); });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** The confirm dialog of a Block Kit element, with the texts of its `confirm` object. */
export function confirmDialog(confirm, world) {
  return form({
    title: plainText(confirm.title?.text ?? "Are you sure?"),
    body: h("div", { class: "content" }, textObject(confirm.text, world)),
    yes: confirm.confirm?.text ?? "Yes",
    no: confirm.deny?.text ?? "Cancel",
    style: confirm.style === "danger" ? "danger" : "primary",
  });
}

/** A view that the bot opened; `send(values)` submits it and may answer with errors for its blocks. */
export function viewDialog(view, ctx, send) {
  return form({
    title: plainText(view.title?.text ?? "Gantry"),
    body: blocks(view.blocks, ctx),
    yes: view.submit?.text ?? null,
    no: view.close?.text ?? "Cancel",
    submit: (content) => send(values(content)),
  });
}

export function toast(text, kind = "info") {
  const close = () => node.remove();
  const node = h("div", { class: `toast ${kind}`, role: kind === "error" ? "alert" : "status" }, icon(kind === "error" ? "alert" : "check"),
    h("p", {}, text), h("button", { type: "button", class: "quiet", "aria-label": "Dismiss", onclick: close }, icon("close")));
  byId("toasts").append(node);
  setTimeout(close, kind === "error" ? 9000 : 5000);
}
