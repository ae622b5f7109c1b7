// Notes what has the focus: the end once it has come round, else what is wrong with it.
(() => {
  "use strict";
  window.catchmentFocused ||= [];
  window.catchmentKey = (e) => [e.tagName, e.id, e.name, e.value, e.getAttribute("href"), e.textContent.trim()].join(" ");
  const e = document.activeElement;
  if (!e || e === document.body || e === document.documentElement) return {end: true, fault: ""};
  const key = window.catchmentKey(e);
  if (key === window.catchmentFocused[0]) return {end: true, fault: ""};
  window.catchmentFocused.push(key);
  const style = getComputedStyle(e);
  const box = e.getBoundingClientRect();
  let fault = "";
  // A field of a date shows by itself which part of it has the focus.
  const marked = e.matches("input[type=date], input[type=time], input[type=datetime-local]");
  if (!marked && (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 1)) fault = "the focus is not seen";
  if (box.right <= 0 || box.bottom <= 0 || box.left >= innerWidth || box.top >= innerHeight) fault = "what has the focus is outside of the window";
  return {end: false, fault: fault && fault + ": " + e.outerHTML.replace(/\s+/g, " ").slice(0, 120)};
})()
