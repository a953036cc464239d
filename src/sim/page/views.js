// The modals that the bot opened. Each is shown once: it comes with the answer to a click, or a moment later.

import { viewDialog } from "./dialogs.js";
import { controlApi } from "./control_api.js";

/** A click on a button in a modal calls `press(message, element, label, node)`. */
export function viewer(world, press) {
  const known = new Set();

  function open(view, me) {
    known.add(view.id);
    viewDialog(view, { world, press: (element, label, node) => press({ id: view.id }, element, label, node) }, async (values) => {
      const result = await controlApi.submit(me, view.id, values);
      const errors = result?.errors ?? result?.body?.errors;
      if (errors) throw new Error(Object.values(errors).join(" "));
    });
  }

  return {
    /** Shows the modals that `me` has not seen yet, the topmost last. */
    show(views, me) {
      for (const view of views ?? []) if (view?.blocks && !known.has(view.id)) open(view, me);
    },
    /** To be called for a new demo, in which the ids of modals begin again. */
    forget: () => known.clear(),
  };
}
