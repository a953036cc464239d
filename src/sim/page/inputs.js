// The inputs of a modal's `input` blocks, and their values in the form of Slack's `view.state.values`.

import { h } from "./dom.js";
import { plainText } from "./text.js";

let count = 0;

export function input(block) {
  const id = `input-${(count += 1)}`;
  const field = control(block.element ?? {}, id, !block.optional);
  field.dataset.block = block.block_id ?? "";
  field.dataset.action = block.element?.action_id ?? "";
  field.dataset.kind = block.element?.type ?? "";
  return [
    h("label", { for: id }, plainText(block.label?.text), block.optional ? h("span", { class: "optional" }, " (optional)") : null),
    field,
    block.hint ? h("p", { class: "hint-text" }, plainText(block.hint.text)) : null,
  ];
}

function control(element, id, required) {
  const placeholder = element.placeholder?.text;
  if (element.options) {
    const chosen = element.initial_option?.value;
    const multiple = element.type === "checkboxes" || /^multi_/.test(element.type);
    return h("select", { id, required, multiple, class: "select" }, multiple ? null : h("option", { value: "" }, placeholder ?? "Choose one"),
      element.options.map((option) => h("option", { value: option.value, selected: option.value === chosen }, plainText(option.text?.text))));
  }
  const common = { id, required, placeholder, maxlength: element.max_length, minlength: element.min_length };
  if (element.multiline) return h("textarea", { ...common, rows: 4, value: element.initial_value ?? "" });
  const type = { number_input: "number", email_text_input: "email", url_text_input: "url", datepicker: "date", timepicker: "time" }[element.type] ?? "text";
  return h("input", { ...common, type, value: element.initial_value ?? element.initial_date ?? element.initial_time ?? "" });
}

/** `{block_id: {action_id: {type, value | selected_option | selected_options | ...}}}` */
export function values(form) {
  const all = {};
  for (const field of form.querySelectorAll("[data-kind]")) {
    const { block, action, kind } = field.dataset;
    all[block] ??= {};
    all[block][action] = { type: kind, ...value(field, kind) };
  }
  return all;
}

function value(field, kind) {
  const option = (chosen) => ({ text: { type: "plain_text", text: chosen.textContent }, value: chosen.value });
  if (field.tagName === "SELECT") {
    const chosen = [...field.selectedOptions].filter((each) => each.value !== "");
    return field.multiple ? { selected_options: chosen.map(option) } : { selected_option: chosen[0] ? option(chosen[0]) : null };
  }
  if (kind === "datepicker") return { selected_date: field.value || null };
  if (kind === "timepicker") return { selected_time: field.value || null };
  return { value: field.value || null };
}
