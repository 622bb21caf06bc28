// The page Live: rows come at the top as they happen, the oldest go, and nothing moves while it is paused.
"use strict";
{
  const rows = document.getElementById("live-rows");
  if (rows) {
    const most = 300, state = document.getElementById("live-state"), pause = document.getElementById("live-pause");
    let source = null, paused = false, skipped = 0, held = 0;
    const say = () => {
      const parts = [paused ? "Paused" : source ? "Live" : "Not connected; load the page again"];
      if (held) parts.push(`${held} held back`);
      if (skipped) parts.push(`skipped ${skipped.toLocaleString("en")}`);
      const words = parts.join(" · ");
      if (state.textContent !== words) state.textContent = words;
    };
    const show = (html) => {
      document.getElementById("live-empty")?.remove();
      rows.insertAdjacentHTML("afterbegin", html);
      while (rows.children.length > most) rows.lastElementChild.remove();
      rows.dispatchEvent(new CustomEvent("nudgewire:rows", { bubbles: true }));
    };
    let waiting = [];
    const open = () => {
      source = new EventSource(rows.dataset.stream);
      source.onmessage = (event) => {
        const told = JSON.parse(event.data);
        skipped += told.skipped ?? 0;
        if (told.html && paused) {
          held += told.html.split("<li").length - 1;
          waiting.push(told.html);
          if (waiting.length > 20) waiting.shift();
        } else if (told.html) show(told.html);
        say();
      };
      source.onerror = () => {
        if (source?.readyState !== EventSource.CLOSED) return; // it comes again by itself
        source = null;
        say();
      };
      say();
    };
    const close = () => { source?.close(); source = null; };
    pause.hidden = false;
    pause.addEventListener("click", () => {
      paused = !paused;
      pause.textContent = paused ? "Go on" : "Pause";
      if (!paused) {
        for (const html of waiting) show(html);
        waiting = [];
        held = 0;
      }
      say();
    });
    document.addEventListener("visibilitychange", () => { document.hidden ? close() : source || open(); });
    addEventListener("pagehide", close);
    if (!document.hidden) open();
  }
}
