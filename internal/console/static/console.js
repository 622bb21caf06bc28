// What the pages do besides: they read whole without it. It runs nothing that a page holds.
"use strict";

// Parts of a page that are made anew every few seconds (hx-select-oob) stay as they are while somebody is at them.
let moved = 0;
document.addEventListener("pointermove", () => { moved = Date.now(); }, { passive: true });
const inUse = (part) => {
  const chosen = document.getSelection();
  return part.contains(document.activeElement) || part.querySelector(":checked[type=checkbox]") || part.matches(":active") || (part.matches(":hover") && Date.now() - moved < 10000)
    || (chosen !== null && !chosen.isCollapsed && part.contains(chosen.anchorNode));
};
document.addEventListener("htmx:oobBeforeSwap", (event) => {
  const { target, fragment } = event.detail;
  if (held(target, fragment) || inUse(target)) event.preventDefault();
});

// Rows that came to a list do not push away what somebody reads: they are counted, and shown at the press of a button. Those that are there
// are kept as they are by now.
let waiting = null; // the list with its new rows
const rowsOf = (part) => new Map([...part.querySelectorAll("tr[data-row]")].map((row) => [row.dataset.row, row]));
const tell = (words) => {
  const button = document.querySelector("button[data-fresh]"), said = document.querySelector("[data-fresh-said]");
  if (button.hidden === !words && button.textContent === words) return;
  if (!words) said.textContent = "";
  else if (button.hidden) said.textContent = `${words}. A button above the list shows them.`; // once: a list may move all day
  button.textContent = words;
  button.hidden = !words;
};
const held = (target, fragment) => {
  const next = fragment.querySelector(`#${target.id}`) ?? fragment, now = rowsOf(target), then = rowsOf(next);
  if (!document.querySelector("button[data-fresh]") || !now.size) return false;
  const known = [...then.keys()].filter((id) => now.has(id)), fresh = then.size - known.length;
  if (!fresh) {
    waiting = null;
    tell("");
    return false;
  }
  waiting = next.cloneNode(true);
  tell(`${fresh}${known.length ? "" : " or more"} new`);
  if (!inUse(target)) for (const id of known) if (!now.get(id).isEqualNode(then.get(id))) now.get(id).replaceWith(then.get(id).cloneNode(true));
  target.dispatchEvent(new CustomEvent("htmx:oobAfterSwap", { bubbles: true }));
  return true;
};
document.addEventListener("click", (event) => {
  if (!event.target.closest("button[data-fresh]") || !waiting) return;
  const list = document.getElementById(waiting.id), ticks = [...list.querySelectorAll(":checked[type=checkbox]")].map((box) => box.value);
  list.replaceWith(waiting);
  for (const box of waiting.querySelectorAll("[type=checkbox]")) box.checked = ticks.includes(box.value);
  waiting.dispatchEvent(new CustomEvent("htmx:oobAfterSwap", { bubbles: true }));
  document.querySelector("button[data-pause]").focus({ preventScroll: true }); // the button that had it goes away
  waiting = null;
  tell("");
});

// All rows that have a box, or none of them where each is ticked.
document.addEventListener("click", (event) => {
  const form = event.target.closest("button[data-tick-all]")?.form;
  if (!form) return;
  const boxes = [...form.elements].filter((one) => one.type === "checkbox"), tick = !boxes.every((box) => box.checked);
  for (const box of boxes) box.checked = tick;
});

// Nobody is asked while nobody looks, or while somebody wants the page to stand still.
let paused = false;
for (const button of document.querySelectorAll("button[data-pause]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    paused = !paused;
    button.textContent = paused ? "Go on" : "Pause";
  });
}
document.addEventListener("htmx:beforeRequest", (event) => {
  if ((document.hidden || paused) && event.detail.elt.getAttribute("hx-trigger")?.startsWith("every")) event.preventDefault();
});

// Whoever is not signed in any more is told so by the page itself.
document.addEventListener("htmx:responseError", (event) => {
  if (event.detail.xhr.status === 401) location.reload();
});

// A link that a program of this machine made for its own user signs in at once. One from elsewhere waits for the button: it might sign somebody in as somebody else.
if (location.hash === "#begin" && ["127.0.0.1", "localhost", "[::1]"].includes(location.hostname)) {
  document.querySelector('form[action="/sign-in"] input[name="link"]')?.form.requestSubmit();
}

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

// Times are those of whoever reads, as people say them (times.go has the same rule), and grow old while the page is open; without scripts they are
// those of the config, which the page names.
{
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
  const weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
  const two = (n) => String(n).padStart(2, "0");
  const day = (t) => Date.UTC(t.getFullYear(), t.getMonth(), t.getDate()) / 86400000;
  const spoken = (at, now) => {
    const ahead = at > now, minutes = Math.floor(Math.abs(at - now) / 60000);
    if (minutes < 1) return ahead ? "in a moment" : "just now";
    if (minutes < 60) return ahead ? `in ${minutes} min` : `${minutes} min ago`;
    const clock = `${two(at.getHours())}:${two(at.getMinutes())}`;
    const near = ["yesterday", "today", "tomorrow"][day(at) - day(now) + 1];
    if (near) return `${near} ${clock}`;
    const date = `${at.getDate()} ${months[at.getMonth()]}`;
    return at.getFullYear() === now.getFullYear() ? `${weekdays[at.getDay()]} ${date}, ${clock}` : `${date} ${at.getFullYear()}, ${clock}`;
  };
  const dated = (at) => `${at.getDate()} ${months[at.getMonth()]} ${at.getFullYear()}, ${two(at.getHours())}:${two(at.getMinutes())}`;
  const exact = (at) => `${at.getDate()} ${months[at.getMonth()]} ${at.getFullYear()}, ${[at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(":")}`;
  const local = () => {
    const now = new Date();
    for (const time of document.querySelectorAll("time[datetime]")) {
      const at = new Date(time.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      const words = "exact" in time.dataset ? exact(at) : "dated" in time.dataset ? dated(at) : spoken(at, now);
      if (time.textContent !== words) time.textContent = words;
    }
    for (const name of document.querySelectorAll("[data-zone]")) name.textContent = zone;
  };
  if (zone) {
    local();
    document.addEventListener("htmx:afterSettle", local);
    document.addEventListener("htmx:oobAfterSwap", local);
    setInterval(local, 20000);
  }
}

// What is pasted elsewhere has a button that copies it: phones, numbers and commands.
if (navigator.clipboard) {
  const equip = () => {
    for (const one of document.querySelectorAll("main :is(.facts, .empty, .notice, h2) :is(code, .phone)")) {
      if (one.parentElement.classList.contains("copied-from")) continue;
      const frame = document.createElement("span"), button = document.createElement("button");
      frame.className = "copied-from";
      button.type = "button";
      button.className = "copy quiet";
      const say = (word) => {
        button.textContent = word;
        button.setAttribute("aria-label", `${word} ${one.textContent}`);
      };
      say("Copy");
      button.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(one.textContent);
          say("Copied");
        } catch {
          say("Not copied");
        }
        setTimeout(() => say("Copy"), 2000);
      });
      one.replaceWith(frame);
      frame.append(one, button);
    }
  };
  equip();
  document.addEventListener("htmx:afterSettle", equip);
}

// Keys: g and a letter goes to a page, / finds, ? says which there are. None of them while somebody types.
{
  const links = [...document.querySelectorAll(".top nav a")];
  const keys = new Map();
  for (const link of links) {
    const letter = [...link.textContent.toLowerCase()].find((one) => /[a-z]/.test(one) && !keys.has(one));
    if (letter) keys.set(letter, link);
  }
  const help = () => {
    let dialog = document.getElementById("keys");
    if (!dialog) {
      dialog = document.createElement("dialog");
      dialog.id = "keys";
      dialog.setAttribute("aria-labelledby", "keys-title");
      const title = document.createElement("h2"), list = document.createElement("dl"), form = document.createElement("form"), close = document.createElement("button");
      title.id = "keys-title";
      title.textContent = "Keys";
      for (const [key, words] of [...[...keys].map(([letter, link]) => [`g ${letter}`, link.textContent]), ["/", "Find"], ["?", "These keys"], ["Esc", "Close"]]) {
        const row = document.createElement("div"), dt = document.createElement("dt"), dd = document.createElement("dd"), kbd = document.createElement("kbd");
        kbd.textContent = key;
        dd.textContent = words;
        dt.append(kbd);
        row.append(dt, dd);
        list.append(row);
      }
      form.method = "dialog";
      close.textContent = "Close";
      form.append(close);
      dialog.append(title, list, form);
      document.body.append(dialog);
    }
    if (!dialog.open) dialog.showModal();
  };
  let going = 0;
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !links.length || document.querySelector("dialog[open]")) return;
    if (Date.now() - going < 1500 && keys.has(event.key)) {
      event.preventDefault();
      going = 0;
      keys.get(event.key).click();
      return;
    }
    going = event.key === "g" ? Date.now() : 0;
    const find = document.getElementById("find");
    if (event.key === "/" && find) {
      event.preventDefault();
      find.focus();
      find.select();
    } else if (event.key === "?") {
      event.preventDefault();
      help();
    }
  });
}
