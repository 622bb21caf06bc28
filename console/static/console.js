// What the pages do besides: they read whole without it. It runs nothing that a page holds.
"use strict";

// Parts of a page that are made anew every few seconds (hx-select-oob) stay as they are while somebody is at them.
let moved = 0;
document.addEventListener("pointermove", () => { moved = Date.now(); }, { passive: true });
const inUse = (part) => {
  const chosen = document.getSelection();
  return part.contains(document.activeElement) || part.matches(":active") || (part.matches(":hover") && Date.now() - moved < 10000)
    || (chosen !== null && !chosen.isCollapsed && part.contains(chosen.anchorNode));
};
document.addEventListener("htmx:oobBeforeSwap", (event) => {
  if (inUse(event.detail.target)) event.preventDefault();
});

// Nobody is asked while nobody looks.
document.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden && event.detail.elt.getAttribute("hx-trigger")?.startsWith("every")) event.preventDefault();
});

// Whoever is not signed in any more is told so by the page itself.
document.addEventListener("htmx:responseError", (event) => {
  if (event.detail.xhr.status === 401) location.reload();
});
