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

// A form is sent once, and its answer comes by itself.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post" || event.defaultPrevented) return;
  if (form.dataset.sent) { event.preventDefault(); return; }
  form.dataset.sent = "yes";
});
addEventListener("pageshow", () => { // also where the browser goes back to it
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

// What came of a form is said once: who loads the page again, or sends its address to somebody, has the page alone.
{
  const here = new URL(location.href);
  if (here.searchParams.has("said")) {
    here.searchParams.delete("said");
    history.replaceState(history.state, "", here);
  }
}
