// What rules may say is offered where they are written: keys and values by the schema of the config, events and templates by their names. The
// field stays a text field: the offer is a list that it controls.
"use strict";
for (const field of document.querySelectorAll("textarea[data-words]")) {
  const list = document.createElement("ul"), said = document.createElement("span");
  list.id = "offered";
  list.className = "offered";
  list.hidden = true;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "What may stand here");
  said.className = "hidden";
  said.setAttribute("role", "status");
  field.setAttribute("aria-label", "YAML"); // and not what is offered as well, which stands in its label
  field.setAttribute("aria-autocomplete", "list");
  field.closest(".painted").append(list);
  field.closest("label").after(said);
  let tree = null, at = 0, offered = [], from = 0;

  // words are asked for once, when somebody begins to write.
  field.addEventListener("focus", async () => {
    if (tree) return;
    try {
      tree = await (await fetch(field.dataset.words)).json();
      open(false); // for what was written meanwhile
    } catch { /* the next time; rules are written without it, too */ }
  });

  const below = (node, key) => node?.k?.[key] ?? node?.k?.["*"];
  const keyOf = /^([ ]*(?:- +)*)([\w.*-]+):(?:\s|$)/;
  // path is the part of the tree that a line with that margin is in, and the key that it is below.
  const parentOf = (lines, margin) => {
    const path = [];
    for (let i = lines.length - 1; i >= 0 && margin > 0; i--) {
      const found = keyOf.exec(lines[i]);
      if (found && found[1].length < margin) {
        margin = found[1].length;
        path.unshift(found[2]);
        if (found[1].includes("-")) margin = Math.min(margin, found[1].indexOf("-") + 1);
      }
    }
    return { node: path.reduce(below, tree), key: path.at(-1) };
  };
  const valuesOf = (node, key) => [
    ...(["on", "cancel_on", "stop_on"].includes(key) ? field.dataset.events.split(" ") : key === "template" ? field.dataset.templates.split(" ") : []), ...(node?.v ?? []),
  ].filter(Boolean).map((text) => ({ text, put: text }));
  const offers = () => {
    const before = field.value.slice(0, field.selectionStart), lines = before.split("\n"), line = lines.pop();
    const value = /^([ ]*(?:- +)*)([\w.*-]+):[ ]+(?:\[(?:[^\],]*,)*[ ]*)?([\w.-]*)$/.exec(line), bare = /^([ ]*(?:- +)*)([\w.-]*)$/.exec(line);
    const typed = value ? value[3] : bare?.[2];
    if (!tree || typed === undefined) return { typed: "", all: [] };
    if (value) {
      const { node } = parentOf(lines, value[1].length);
      return { typed, all: valuesOf(below(node, value[2]), value[2]) };
    }
    const { node, key } = parentOf(lines, bare[1].length);
    const all = Object.entries(node?.k ?? {}).filter(([name]) => name !== "*").map(([name, one]) => ({
      text: name, says: one.d, put: one.k && !one.v ? `${name}:\n${" ".repeat(bare[1].length + 2)}` : `${name}: `,
    }));
    return { typed, all: bare[1].includes("-") ? [...valuesOf(node, key), ...all] : all };
  };
  const close = () => {
    list.hidden = true;
    offered = [];
    said.textContent = "";
    for (const name of ["aria-controls", "aria-activedescendant"]) field.removeAttribute(name);
  };
  const choose = (i) => {
    at = (i + offered.length) % offered.length;
    for (const [n, item] of [...list.children].entries()) item.setAttribute("aria-selected", n === at);
    field.setAttribute("aria-activedescendant", `offered-${at}`);
    list.children[at].scrollIntoView({ block: "nearest" });
  };
  const open = (asked) => {
    const { typed, all } = offers();
    offered = typed || asked ? all.filter(({ text }) => text.startsWith(typed) && text !== typed).slice(0, 40) : [];
    if (!offered.length) {
      close();
      return;
    }
    from = field.selectionStart - typed.length;
    list.replaceChildren(...offered.map(({ text, says }, i) => {
      const item = document.createElement("li"), name = document.createElement("b");
      item.id = `offered-${i}`;
      item.setAttribute("role", "option");
      name.textContent = text;
      item.append(name);
      if (says) item.append(` ${says}`);
      item.addEventListener("pointerdown", (event) => {
        event.preventDefault(); // the field keeps the focus
        at = i;
        take();
      });
      return item;
    }));
    const style = getComputedStyle(field), ruler = document.createElement("canvas").getContext("2d");
    ruler.font = `${style.fontSize} ${style.fontFamily}`;
    const lines = field.value.slice(0, from).split("\n");
    const left = parseFloat(style.paddingLeft) + ruler.measureText(lines.at(-1)).width - field.scrollLeft;
    list.hidden = false;
    list.style.left = `${Math.max(0, Math.min(left, field.clientWidth - list.offsetWidth))}px`;
    list.style.top = `${parseFloat(style.paddingTop) + lines.length * parseFloat(style.lineHeight) - field.scrollTop + 4}px`;
    field.setAttribute("aria-controls", list.id);
    choose(0);
    said.textContent = offered.length === 1 ? "1 word is offered." : `${offered.length} words are offered.`;
  };
  const take = () => {
    const { put } = offered[at];
    close();
    field.setRangeText(put, from, field.selectionStart, "end");
    field.dispatchEvent(new Event("input", { bubbles: true }));
    close();
  };
  field.addEventListener("input", () => open(false));
  field.addEventListener("blur", close);
  field.addEventListener("click", close);
  field.addEventListener("keydown", (event) => {
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      open(true);
      return;
    }
    if (list.hidden || event.isComposing) {
      if (["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) close();
      return;
    }
    const does = { ArrowDown: () => choose(at + 1), ArrowUp: () => choose(at - 1), Enter: take, Tab: take, Escape: close }[event.key];
    if (!does || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) {
      close();
      if (!does) open(false);
      return;
    }
    event.preventDefault();
    event.stopPropagation(); // Tab makes no spaces, and Esc does not leave the field
    does();
  });
}
