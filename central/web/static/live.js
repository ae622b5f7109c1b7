// Keeps the page up to date: the centre says when the fleet has changed, and the part of
// the page that shows it is fetched again. Without this file the page is whole as well.
"use strict";
const path = document.body.dataset.part;
const live = document.getElementById("live");
const link = document.getElementById("link");
let source = null;
let busy = false;
let again = false;

function say(text, fault) {
  if (!link) return;
  link.textContent = text;
  link.classList.toggle("state", fault);
  link.classList.toggle("hot", fault);
}

// Where the reader is stays where it is: the folds, and what has the focus.
function keep() {
  const open = new Map();
  for (const d of live.querySelectorAll("details[data-keep]")) open.set(d.dataset.keep, d.open);
  const at = document.activeElement;
  const alike = (e) => [...live.querySelectorAll(e)];
  const kind = !at || !live.contains(at) ? "" : at.matches("a[href]") ? `a[href="${CSS.escape(at.getAttribute("href"))}"]` :
    at.matches("details[data-keep] > summary") ? `details[data-keep="${CSS.escape(at.parentElement.dataset.keep)}"] > summary` : "";
  const which = kind ? alike(kind).indexOf(at) : -1;
  return () => {
    for (const d of live.querySelectorAll("details[data-keep]")) {
      if (open.has(d.dataset.keep)) d.open = open.get(d.dataset.keep);
    }
    if (kind) (alike(kind)[which] ?? alike(kind)[0])?.focus({preventScroll: true});
  };
}

// A click is a press and a release on one element: what is pressed is not drawn anew.
let pressed = false;
addEventListener("pointerdown", () => { pressed = true; }, true);
for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => { setTimeout(() => { pressed = false; }); }, true);
async function released() {
  for (let i = 0; pressed && i < 40; i++) await new Promise((go) => setTimeout(go, 50));
}

async function refresh() {
  if (busy) { again = true; return; }
  busy = true;
  try {
    const answer = await fetch(path, {headers: {Accept: "text/html"}});
    if (answer.status === 401) { location.reload(); return; }
    if (!answer.ok) throw new Error(await answer.text());
    const text = await answer.text();
    await released();
    if (text !== live.dataset.text) {
      const back = keep();
      live.innerHTML = text;
      live.dataset.text = text;
      back();
    }
    say("Live", false);
  } catch (e) {
    say("Not up to date: " + e.message, true);
  } finally {
    busy = false;
    if (again) { again = false; refresh(); }
  }
}

function connect() {
  if (source || document.hidden) return;
  source = new EventSource("/events");
  source.addEventListener("fleet", refresh);
  source.onerror = () => say("The centre does not answer; this page may be old. Trying again.", true);
}

if (path && live) {
  connect();
  // A page that nobody sees costs the centre nothing.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { source?.close(); source = null; } else { connect(); }
  });
}
