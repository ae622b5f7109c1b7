// What can be clicked, and of it has not had the focus by Tab. An element is known by what it
// says and does: a page that is live is drawn anew meanwhile.
(() => {
  "use strict";
  const can = "a[href], button, input:not([type=hidden]), select, textarea, summary, [role=button], [onclick]";
  const group = (e) => (e.type === "radio" ? [...document.querySelectorAll(`input[type=radio][name="${CSS.escape(e.name)}"]`)] : [e]);
  const had = new Set(window.catchmentFocused);
  return [...document.querySelectorAll(can)]
    .filter((e) => !e.disabled && e.checkVisibility({visibilityProperty: true}) && !e.closest("[inert]"))
    .filter((e) => !group(e).some((o) => had.has(window.catchmentKey(o))))
    .map((e) => e.outerHTML.replace(/\s+/g, " ").slice(0, 120));
})()
