// The input box: Enter sends, `/` and `@` open a menu of commands and names, arrow up restores the last text.

import { h, icon } from "./dom.js";

let boxes = 0;

/** `offers()` gives { commands: [{ name, usage, summary }], names: [..] }; `send(text)` resolves to false to keep the text. */
export function composer(root, { label, offers, send, slash = true }) {
  const id = `menu-${(boxes += 1)}`;
  const box = h("textarea", { rows: 1, "aria-label": label, placeholder: label, autocomplete: "off", spellcheck: "true",
    "aria-haspopup": "listbox", "aria-controls": id, "aria-autocomplete": "list" });
  const menu = h("ul", { class: "menu", id, role: "listbox", "aria-label": "Suggestions", hidden: true });
  const button = h("button", { type: "submit", class: "send", "aria-label": "Send", disabled: true }, icon("send"));
  const form = h("form", { class: "composer" }, menu, box, h("div", { class: "composer-bar" },
    h("p", { class: "tip" }, slash ? [h("kbd", {}, "/"), " commands  ", h("kbd", {}, "@"), " people  ", h("kbd", {}, "Enter"), " sends"] : [h("kbd", {}, "Enter"), " sends"]), button));
  root.replaceChildren(form);

  const sent = [];
  let recall = 0;
  let found = [];
  let chosen = 0;

  function suggest() {
    const text = box.value.slice(0, box.selectionStart);
    const { commands, names } = offers();
    const person = /(?:^|\s)@([\w.-]*)$/.exec(text);
    if (slash && /^\/\S*$/.test(text)) found = commands.filter((each) => each.name.startsWith(text.toLowerCase())).map((each) => ({ put: each.name, from: 0, ...each }));
    else if (person) found = names.filter((name) => name.startsWith(person[1].toLowerCase())).map((name) => ({ put: `@${name}`, from: text.length - person[1].length - 1, name: `@${name}`, usage: "", summary: "" }));
    else found = [];
    chosen = 0;
    paint();
  }

  function paint() {
    menu.hidden = found.length === 0;
    menu.replaceChildren(...found.map((each, at) => h("li", { id: `${id}-${at}`, role: "option", "aria-selected": String(at === chosen), onmousedown: (event) => { event.preventDefault(); take(at); } },
      h("b", {}, each.name), h("span", { class: "usage" }, ` ${each.usage ?? ""}`), h("span", { class: "summary" }, each.summary ?? ""))));
    if (found.length) {
      box.setAttribute("aria-activedescendant", `${id}-${chosen}`);
      menu.children[chosen]?.scrollIntoView({ block: "nearest" });
    } else box.removeAttribute("aria-activedescendant");
  }

  function take(at) {
    const { put, from } = found[at];
    const after = box.value.slice(box.selectionStart).replace(/^ /, "");
    box.value = `${box.value.slice(0, from)}${put} ${after}`;
    box.selectionStart = box.selectionEnd = from + put.length + 1;
    found = [];
    paint();
    grow();
    box.focus();
  }

  function grow() {
    button.disabled = box.value.trim() === "";
    box.style.setProperty("height", "auto");
    // A hidden box has the height 0, which would stay after it is shown.
    if (box.scrollHeight > 0) box.style.setProperty("height", `${Math.min(box.scrollHeight, 160)}px`);
  }

  async function submit() {
    const text = box.value.trim();
    if (text === "") return;
    box.value = "";
    found = [];
    paint();
    grow();
    sent.push(text);
    recall = sent.length;
    if ((await send(text)) === false && box.value === "") {
      box.value = text;
      grow();
    }
  }

  box.addEventListener("input", () => { grow(); suggest(); });
  box.addEventListener("blur", () => { found = []; paint(); });
  box.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const open = found.length > 0;
    const exact = open && found[chosen].put === box.value.trim();
    if (open && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      chosen = (chosen + (event.key === "ArrowDown" ? 1 : found.length - 1)) % found.length;
      paint();
    } else if (open && event.key === "Escape") {
      found = [];
      paint();
    } else if (open && !exact && (event.key === "Tab" || event.key === "Enter") && !event.shiftKey) {
      take(chosen);
    } else if (event.key === "Enter" && !event.shiftKey) {
      submit();
    } else if (event.key === "ArrowUp" && recall > 0 && (box.value === "" || box.value === sent[recall])) {
      recall -= 1;
      box.value = sent[recall];
      grow();
    } else return;
    event.preventDefault();
  });
  form.addEventListener("submit", (event) => { event.preventDefault(); submit(); });
  grow();

  return {
    focus() {
      grow();
      box.focus();
    },
    label(text) {
      box.placeholder = text;
      box.setAttribute("aria-label", text);
    },
    write(text) {
      box.value = text;
      box.focus();
      grow();
    },
  };
}
