// Makes DOM nodes without ever parsing text as HTML: every string becomes a text node or an attribute.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, props, children) {
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "dataset") Object.assign(node.dataset, value);
    else if (key === "value" && "value" in node) node.value = value;
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** h("p", { class: "x", onclick: f }, "text", node, [more]) */
export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

export function svg(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

/** An icon from the SVG sheet in index.html. It is hidden from screen readers, because a text is beside it. */
export function icon(name) {
  return svg("svg", { class: "icon", "aria-hidden": "true", focusable: "false" }, svg("use", { href: `#i-${name}` }));
}

export const byId = (id) => document.getElementById(id);

const looks = new WeakMap();

/**
 * Makes `parent` show `items` in order. A node is kept while its item's `look` is the same, so that
 * focus, animations and scroll positions survive; `make(item, old)` builds the others.
 */
export function reconcile(parent, items, { key, look, make }) {
  const old = new Map([...parent.children].map((node) => [node.dataset.key, node]));
  let cursor = parent.firstElementChild;
  for (const item of items) {
    const id = String(key(item));
    const signature = look(item);
    const before = old.get(id);
    old.delete(id);
    let node = before;
    if (!before || looks.get(before) !== signature) {
      node = make(item, before ?? null);
      node.dataset.key = id;
      looks.set(node, signature);
      if (before) {
        if (cursor === before) cursor = node;
        before.replaceWith(node);
      }
    }
    if (node === cursor) cursor = cursor.nextElementSibling;
    else parent.insertBefore(node, cursor);
  }
  for (const node of old.values()) node.remove();
}
