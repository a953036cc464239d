// The modals that the bot opened: each is shown once, whether it came with the answer to a click or a moment after it.

import { viewDialog } from "./dialogs.js";
import { controlApi } from "./control_api.js";

/** `press(message, element, label, node)` is what a button in a modal does. */
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
    /** Shows what `me` has not seen yet, the topmost last. */
    show(views, me) {
      for (const view of views ?? []) if (view?.blocks && !known.has(view.id)) open(view, me);
    },
    /** Another demo counts its modals from the beginning. */
    forget: () => known.clear(),
  };
}
