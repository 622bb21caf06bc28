// The playground: a choice loads what it names, and Tab indents in code.
"use strict";

document.addEventListener("change", (event) => {
  const load = event.target.dataset?.load;
  const field = event.target.closest("form");
  if (load && field) field.querySelector(`button[name=do][value=${load}]`)?.click();
});

// Whoever writes in a field of code indents with Tab, until they press Esc or leave it. Whoever only comes by goes on with Tab.
let writing = false;
document.addEventListener("focusin", () => { writing = false; });
document.addEventListener("input", (event) => { writing = event.target.matches("textarea.code"); });
document.addEventListener("keydown", (event) => {
  const at = event.target;
  if (!(at instanceof HTMLTextAreaElement) || !at.classList.contains("code")) return;
  if (event.key === "Escape") writing = false;
  if (event.key === "Tab" && writing && !event.shiftKey && !event.ctrlKey && !event.altKey && !event.metaKey) {
    event.preventDefault();
    at.setRangeText("  ", at.selectionStart, at.selectionEnd, "end");
  }
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) at.form?.querySelector("button[name=do][value=try]")?.click();
});
