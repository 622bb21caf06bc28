// YAML in colours: keys, texts and remarks, where rules are read and where they are written. What is copied or sent is the plain text.
"use strict";
{
  const key = /^(\s*(?:- +)*)([\w.*-]+|"[^"]*"|'[^']*')(:)(?=\s|$)/;
  const parts = /("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')|((?:^|\s)#.*$)/g;
  const paint = (line, into) => {
    const add = (words, kind) => {
      if (!words) return;
      if (!kind) { into.append(words); return; }
      const span = document.createElement("span");
      span.className = kind;
      span.textContent = words;
      into.append(span);
    };
    let rest = line;
    const begins = key.exec(line);
    if (begins) {
      add(begins[1]);
      add(begins[2], "y-key");
      add(begins[3]);
      rest = line.slice(begins[0].length);
    }
    let from = 0;
    for (const one of rest.matchAll(parts)) {
      add(rest.slice(from, one.index));
      add(one[0], one[1] ? "y-text" : "y-note");
      from = one.index + one[0].length;
    }
    add(rest.slice(from));
  };
  const read = () => {
    for (const code of document.querySelectorAll("table.yaml code:not([data-painted])")) {
      const line = code.textContent;
      code.dataset.painted = "yes";
      code.replaceChildren();
      paint(line, code);
    }
  };
  read();
  document.addEventListener("htmx:afterSettle", read);

  // Behind a field that is written in lies the same text in colours; the field's own letters are not painted then.
  for (const field of document.querySelectorAll("textarea.yaml")) {
    const frame = document.createElement("div"), behind = document.createElement("pre");
    frame.className = "painted";
    behind.setAttribute("aria-hidden", "true");
    field.replaceWith(frame);
    frame.append(behind, field);
    const draw = () => {
      behind.replaceChildren();
      const marked = field.value === tried ? wrong : new Set();
      for (const [i, line] of field.value.split("\n").entries()) {
        let into = behind;
        if (marked.has(i + 1)) {
          into = document.createElement("span");
          into.className = "y-wrong";
          behind.append(into);
        }
        paint(line, into);
        behind.append("\n");
      }
      follow();
    };
    // Lines that a try found something wrong in are marked until they are edited.
    let tried = field.value, wrong = new Set();
    const mark = () => {
      wrong = new Set([...document.querySelectorAll("#result table.yaml tr.wrong > td.n")].map((cell) => Number(cell.textContent)));
      tried = field.value;
      draw();
    };
    document.addEventListener("htmx:afterSettle", (event) => { if (event.detail.target?.id === "result") mark(); });
    const follow = () => {
      behind.scrollTop = field.scrollTop;
      behind.scrollLeft = field.scrollLeft;
    };
    field.addEventListener("input", draw);
    field.addEventListener("scroll", follow, { passive: true });
    new ResizeObserver(follow).observe(field);
    mark();
  }
}
