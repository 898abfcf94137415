// Keeps the page up to date with what the worker sends, and says in words when it does not.

import { morph } from "./morph.js";

const QUIET_MS = 5000;
const LONGEST_PAUSE_MS = 10000;
const badge = document.getElementById("live");
const lost = document.getElementById("lost");
let source = null;
let last = Date.now();
let heard = new Date();
let pause = 500;
let waiting = null;

const clock = (date) => `${date.toISOString().slice(11, 19)} UTC`;

function open() {
  waiting = null;
  source?.close();
  last = Date.now();
  source = new EventSource(`/events?page=${encodeURIComponent(location.pathname)}`);
  source.onmessage = (event) => take(JSON.parse(event.data));
  source.onerror = () => missing();
}

function take({ at, sections }) {
  last = Date.now();
  heard = new Date(at);
  pause = 500;
  for (const [name, html] of Object.entries(sections)) {
    const wanted = new DOMParser().parseFromString(html, "text/html").body.firstElementChild;
    const current = document.getElementById(name);
    if (wanted && current) morph(current, document.adoptNode(wanted));
  }
  badge.dataset.live = "yes";
  badge.textContent = `Live, ${clock(heard)}`;
  lost.hidden = true;
  lost.textContent = "";
}

function missing() {
  source?.close();
  source = null;
  if (badge.dataset.live !== "lost") {
    badge.dataset.live = "lost";
    badge.textContent = `Not live since ${clock(heard)}`;
    lost.textContent =
      `Not live since ${clock(heard)}: the worker that serves this page does not answer. ` +
      "What you see is from then. It is tried again by itself; another worker's page may answer meanwhile.";
    lost.hidden = false;
  }
  if (waiting === null) {
    waiting = setTimeout(open, pause);
    pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
  }
}

// A connection can be dead without an error.
setInterval(() => {
  if (source !== null && Date.now() - last > QUIET_MS) missing();
}, 1000);

open();
