// What is wrong with this page for its readers, as a list of sentences.
(() => {
  "use strict";
  const faults = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const seen = (e) => e.checkVisibility({visibilityProperty: true, contentVisibilityAuto: true});
  const short = (e) => e.outerHTML.replace(/\s+/g, " ").slice(0, 120);
  const text = (e) => (e ? e.textContent.replace(/\s+/g, " ").trim() : "");

  // The name of an element, as far as our pages need it (Accessible Name and Description
  // Computation, section 4.3).
  function nameOf(e) {
    const by = e.getAttribute("aria-labelledby");
    if (by) return by.split(/\s+/).map((id) => text(document.getElementById(id))).join(" ").trim();
    const said = (e.getAttribute("aria-label") || "").trim();
    if (said) return said;
    if (e.labels && e.labels.length) return [...e.labels].map(text).join(" ").trim();
    if (e.tagName === "IMG") return (e.getAttribute("alt") || "").trim();
    if (e.tagName.toLowerCase() === "svg") return text(e.querySelector(":scope > title"));
    if (["INPUT", "SELECT", "TEXTAREA"].includes(e.tagName)) return ["submit", "reset", "button"].includes(e.type) ? e.value.trim() : "";
    return text(e) || [...e.querySelectorAll("img, svg")].map(nameOf).join(" ").trim();
  }

  if (!document.documentElement.lang) faults.push("the page does not say its language");
  if (!document.title.trim()) faults.push("the page has no title");
  if (all("main").length !== 1) faults.push(all("main").length + " main elements");
  if (!document.querySelector("meta[name=viewport]")) faults.push("no viewport");

  for (const e of all("input:not([type=hidden]), select, textarea")) {
    if (!nameOf(e)) faults.push("a field without a label: " + short(e));
  }
  for (const e of all("a[href], button, summary, [role=button], [role=img], img, [role=link], table, dialog")) {
    if (e.tagName === "TABLE" || e.tagName === "DIALOG" || e.closest("[aria-hidden=true]")) continue;
    if (e.tagName === "IMG" && e.getAttribute("alt") === "") continue; // said to be of no meaning
    if (!nameOf(e)) faults.push("no name: " + short(e));
  }
  for (const e of all("svg")) {
    if (e.parentElement.closest("svg")) continue;
    if (e.closest("[aria-hidden=true]")) continue;
    if (!nameOf(e)) faults.push("a picture without a name: " + short(e));
  }
  for (const e of all("th")) if (!e.scope && text(e)) faults.push("a heading of a table without scope: " + short(e));
  for (const e of all("table")) if (!e.querySelector("th")) faults.push("a table without headings: " + short(e));

  const ids = new Set();
  for (const e of all("[id]")) {
    if (ids.has(e.id)) faults.push("two elements have the id " + e.id);
    ids.add(e.id);
  }
  for (const e of all("[aria-labelledby], [aria-describedby], [for]")) {
    for (const key of ["aria-labelledby", "aria-describedby", "for"]) {
      for (const id of (e.getAttribute(key) || "").split(/\s+/).filter(Boolean)) {
        if (!document.getElementById(id)) faults.push(key + " names " + id + ", which is not there: " + short(e));
      }
    }
  }

  let level = 0;
  const headings = all("h1, h2, h3, h4, h5, h6").filter(seen);
  if (headings.filter((h) => h.tagName === "H1").length !== 1) faults.push(headings.filter((h) => h.tagName === "H1").length + " headings of the first level");
  for (const h of headings) {
    const l = Number(h.tagName[1]);
    if (l > level + 1) faults.push("a heading of level " + l + " after one of level " + level + ": " + text(h));
    level = l;
  }

  const wide = document.documentElement;
  if (wide.scrollWidth > wide.clientWidth) {
    const out = all("body *").filter((e) => seen(e) && e.getBoundingClientRect().right > wide.clientWidth + 0.5 && !scrolls(e));
    faults.push("the page is " + wide.scrollWidth + " px wide and its window " + wide.clientWidth + ": " + (out.length ? short(out[0]) : "?"));
  }
  function scrolls(e) {
    for (let at = e.parentElement; at && at !== document.body; at = at.parentElement) {
      if (/auto|scroll|hidden|clip/.test(getComputedStyle(at).overflowX)) return true;
    }
    return false;
  }

  // Contrast (WCAG 2.2, success criterion 1.4.3): 4.5 for all text, whatever its size.
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const paint = canvas.getContext("2d", {willReadFrequently: true});
  const colours = new Map();
  function colour(css) {
    if (!colours.has(css)) {
      paint.clearRect(0, 0, 1, 1);
      paint.fillStyle = css;
      paint.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = paint.getImageData(0, 0, 1, 1).data;
      colours.set(css, [r, g, b, a / 255]);
    }
    return colours.get(css);
  }
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  function ground(e) {
    const layers = [];
    for (let at = e; at; at = at.parentElement) {
      const c = colour(getComputedStyle(at).backgroundColor);
      if (c[3] > 0) layers.push(c);
      if (c[3] === 1) break;
    }
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    return layers.reduceRight((below, top) => over(top, below), dark ? [18, 18, 18, 1] : [255, 255, 255, 1]);
  }
  const channel = (v) => (v /= 255, v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = (c) => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  let texts = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const told = new Set();
  for (let n = walker.nextNode(); n; n = walker.nextNode()) {
    const e = n.parentElement;
    if (!n.data.trim() || !seen(e) || e.closest("noscript, script, style, .visually-hidden, title, desc, option")) continue;
    const style = getComputedStyle(e);
    const drawn = e instanceof SVGElement ? style.fill : style.color;
    let opacity = 1;
    for (let at = e; at; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity);
    const below = ground(e);
    const ink = colour(drawn);
    const c = over([ink[0], ink[1], ink[2], ink[3] * opacity], below);
    const [bright, dim] = [light(c), light(below)].sort((x, y) => y - x);
    const ratio = (bright + 0.05) / (dim + 0.05);
    texts++;
    const key = drawn + below.join() + e.className;
    if (ratio < 4.5 && !told.has(key)) {
      told.add(key);
      faults.push("contrast " + ratio.toFixed(2) + " of " + JSON.stringify(n.data.trim().slice(0, 40)) + ": " + short(e));
    }
  }
  if (!texts) faults.push("the page shows no text");
  for (const v of window.catchmentViolations || []) faults.push("CSP: " + v);
  return faults;
})()
