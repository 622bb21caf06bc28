// Draws the plots of a page from the numbers that stand with them (data-plot). A table beside each says the same without it.
"use strict";

const plots = new Map(); // what was drawn, by its element

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const whole = new Intl.NumberFormat("en");

// bound is a whole number at or above the largest.
const bound = (most) => {
  if (most <= 4) return 4;
  const step = 10 ** Math.floor(Math.log10(most));
  for (const f of [1, 1.5, 2, 3, 4, 5, 6, 8, 10]) if (f * step >= most) return f * step;
  return most;
};

function draw(box) {
  plots.get(box)?.destroy();
  const { kind, labels, series } = JSON.parse(box.dataset.plot);
  const stacked = kind === "stack";
  const xs = labels.map((_, i) => i);
  const value = (s, i) => (i < s.values.length ? s.values[i] : null);
  // In a stack each series is drawn up to the sum of itself and those below it, the tallest first.
  const sums = xs.map(() => 0);
  const tall = series.map((s) => xs.map((i) => (stacked ? (sums[i] += value(s, i) ?? 0) : value(s, i))));
  const order = series.map((_, i) => i);
  if (stacked) order.reverse();
  const most = bound(Math.max(1, ...tall.flat().filter((n) => n !== null)));
  const soft = color("--soft"), grid = color("--grid"), card = color("--card");
  const font = "12px system-ui, sans-serif";

  const values = document.createElement("div");
  values.className = "plot-values";
  values.hidden = true;
  const opts = {
    width: box.clientWidth, height: box.clientHeight, legend: { show: false }, padding: [8, 28, 0, 0],
    cursor: { y: false, points: { show: !stacked }, drag: { x: false, y: false, setScale: false } },
    scales: {
      x: { time: false, range: stacked ? [-0.6, xs.length - 0.4] : [0, Math.max(1, xs.length - 1)] },
      y: { range: [0, most] },
    },
    axes: [
      {
        stroke: soft, font, size: 26, gap: 4, grid: { show: false }, ticks: { show: false },
        splits: (u) => {
          const room = Math.max(1, Math.floor(u.bbox.width / devicePixelRatio / 52));
          const step = Math.max(1, Math.ceil(xs.length / room));
          return xs.filter((i) => (xs.length - 1 - i) % step === 0);
        },
        values: (_, splits) => splits.map((i) => labels[i]),
      },
      {
        stroke: soft, font, size: 46, gap: 6, grid: { stroke: grid, width: 1 }, ticks: { show: false },
        splits: () => [0, 0.25, 0.5, 0.75, 1].map((f) => f * most).filter((n) => Number.isInteger(n)),
        values: (_, splits) => splits.map((n) => (n >= 10000 ? whole.format(n / 1000) + " k" : whole.format(n))),
      },
    ],
    series: [{}, ...order.map((i) => {
      const own = color("--s" + series[i].color);
      return stacked
        ? { stroke: card, width: 1, fill: own, points: { show: false }, paths: uPlot.paths.bars({ size: [0.75, 46], radius: 0 }) }
        : { stroke: own, width: series[i].color ? 2.5 : 2, dash: series[i].color ? undefined : [5, 4], points: { show: false } };
    })],
    hooks: {
      setCursor: [(u) => {
        const i = u.cursor.idx;
        values.hidden = i === null || i === undefined;
        if (values.hidden) return;
        const lines = series.filter((s) => value(s, i)).map((s) => s.name + "  " + whole.format(value(s, i)));
        values.textContent = [labels[i], ...(lines.length ? lines : ["0"])].join("\n");
        values.classList.toggle("left", i > xs.length / 2);
      }],
    },
  };
  box.replaceChildren();
  plots.set(box, new uPlot(opts, [xs, ...order.map((i) => tall[i])], box));
  box.append(values);
}

const boxes = () => document.querySelectorAll("[data-plot]");
const resized = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const u = plots.get(target);
    if (u && (u.width !== target.clientWidth || u.height !== target.clientHeight)) u.setSize({ width: target.clientWidth, height: target.clientHeight });
  }
});
for (const box of boxes()) {
  draw(box);
  resized.observe(box);
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => boxes().forEach(draw));
