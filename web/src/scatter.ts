// Pictures of very many points, drawn by ourselves inside uPlot's frame: a
// spot of the screen is painted once for each kind, however many points fall
// on it.
import uPlot from "uplot";
import type { Dots, Page } from "./data";
import { el, ms, num } from "./dom";
import { axis, clock, draw, empty, figure, logAxis, logScale, msTicks, type Group } from "./charts";
import { t, tr } from "./i18n";
import { color, kinds, stamp, type Shape } from "./theme";

interface Points {
  x: Float32Array;
  y: Float32Array;
  kind: Uint8Array; // index into looks
}

interface Look {
  color: string;
  shape: Shape;
  shown: boolean;
}

// fewPoints is up to how many points in view each is drawn large, with its shape.
const fewPoints = 6000;

// cloud draws the points; those of a log scale are given as powers of ten.
function cloud(p: Points, looks: Look[], log = false): uPlot.Plugin {
  return {
    hooks: {
      drawSeries: [],
      draw: (u) => {
        const { ctx, bbox } = u;
        const { min: x0, max: x1 } = u.scales["x"]!;
        const bound = (v: number): number => (log ? Math.log10(v) : v);
        const [y0, y1] = [bound(u.scales["y"]!.min!), bound(u.scales["y"]!.max!)];
        const px = devicePixelRatio;
        const sx = bbox.width / (x1! - x0!);
        const sy = bbox.height / (y1 - y0);
        let inView = 0;
        for (let i = 0; i < p.x.length; i++) {
          if (p.x[i]! >= x0! && p.x[i]! <= x1! && p.y[i]! <= y1 && looks[p.kind[i]!]!.shown) inView++;
        }
        const r = (inView <= fewPoints / 20 ? 3.5 : inView <= fewPoints ? 2.2 : 1) * px;
        const cell = Math.max(1, Math.floor(r));
        const cols = Math.ceil(bbox.width / cell) + 1;
        const seen = new Uint16Array(cols * (Math.ceil(bbox.height / cell) + 1));
        ctx.save();
        ctx.beginPath();
        ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
        ctx.clip();
        ctx.lineWidth = 1.2 * px;
        // The common kinds first, so that the rare ones lie on top.
        looks.forEach((look, k) => {
          if (!look.shown) return;
          ctx.fillStyle = ctx.strokeStyle = look.color;
          const shape = inView <= fewPoints || k > 3 ? look.shape : "square";
          const size = k > 3 && inView > fewPoints ? 1.5 * px : r;
          for (let i = 0; i < p.x.length; i++) {
            if (p.kind[i] !== k) continue;
            const x = (p.x[i]! - x0!) * sx;
            const y = bbox.height - (p.y[i]! - y0) * sy;
            if (x < 0 || x > bbox.width || y < 0 || y > bbox.height) continue;
            const at = Math.floor(y / cell) * cols + Math.floor(x / cell);
            if (seen[at] === k + 1) continue;
            seen[at] = k + 1;
            stamp(ctx, shape, bbox.left + x, bbox.top + y, size);
          }
        });
        ctx.restore();
      },
    },
  };
}

const top = (ys: Float32Array): number => {
  let most = 0;
  for (const y of ys) if (y > most) most = y;
  return most;
};

// invisible is a series that only gives the frame its scale.
const invisible: uPlot.Series = { label: "", stroke: "transparent", points: { show: false }, show: true };

// arrivals is every event of the sample over the time of the run.
export function arrivals(p: Page, g: Group, later: (() => void)[], whole: [number, number]): HTMLElement {
  const s = p.series;
  if (!s) return empty(t("scatter"), t("noSeries"));
  if (!s.kept_events) return empty(t("scatter"), t("noData"));
  const note = `${t("shown")} ${num(s.kept)} ${t("of")} ${num(s.streams)} ${t("streams")}, ${num(s.kept_events)} ${t("of")} ${num(s.events)} ${t("events")}; ${t("dedup")}. ${t("scatterNote")}`;
  const points = eventPoints(p);
  const counts = kinds.map((_, k) => points.kind.reduce((n, x) => n + (x === k ? 1 : 0), 0));
  const { fig, box } = figure(t("scatter"), note, {
    head: [t("events"), "n"],
    rows: () => kinds.flatMap((k, i) => (counts[i] ? [[tr(k.name), num(counts[i]!)]] : [])),
  });
  const looks: Look[] = kinds.map((k) => ({ color: color(k.color), shape: k.shape, shown: true }));
  const legend = el("div", { class: "legend", role: "group", "aria-label": t("events") });
  fig.insertBefore(legend, box.nextSibling);
  later.push(() => {
    const u = draw(box, {
      label: t("scatter"),
      height: 380,
      legend: false,
      group: g,
      whole,
      data: [[0, whole[1]], [0, top(points.y)]],
      scales: { y: { range: () => [0, top(points.y) * 1.04 || 1] } },
      axes: [axis(t("runTime"), { values: clock }), axis(t("sinceSent"), { values: clock }, 56)],
      series: [{}, invisible],
      plugins: [cloud(points, looks)],
    });
    kinds.forEach((k, i) => {
      if (!counts[i]) return;
      const b = el("button", { type: "button", "aria-pressed": "true", class: "small" }, sample(k.shape, color(k.color)), `${tr(k.name)} ${num(counts[i]!)}`);
      b.addEventListener("click", () => {
        looks[i]!.shown = !looks[i]!.shown;
        b.setAttribute("aria-pressed", String(looks[i]!.shown));
        u.redraw(false);
      });
      legend.append(b);
    });
  });
  return fig;
}

// sample is a shape as the legend shows it.
function sample(shape: Shape, c: string): HTMLCanvasElement {
  const e = el("canvas", { width: "24", height: "24", class: "key", "aria-hidden": "true" });
  const ctx = e.getContext("2d")!;
  ctx.fillStyle = ctx.strokeStyle = c;
  ctx.lineWidth = 3;
  stamp(ctx, shape, 12, 12, 8);
  return e;
}

function eventPoints(p: Page): Points {
  const list = p.series!.traces;
  const n = list.reduce((sum, x) => sum + x.steps.length, 0);
  const out: Points = { x: new Float32Array(n), y: new Float32Array(n), kind: new Uint8Array(n) };
  const letter = new Map(kinds.map((k, i) => [k.letter, i]));
  let i = 0;
  for (const tr of list) {
    const start = tr.at === null ? 0 : (tr.at - p.start) / 10_000;
    let at = 0;
    tr.steps.forEach((step, j) => {
      at += step;
      out.x[i] = start + at / 10_000;
      out.y[i] = at / 10_000;
      out.kind[i++] = letter.get(tr.kinds[j]!) ?? kinds.length - 1;
    });
  }
  return out;
}

// dots is a scatter of one kind.
function dots(title: string, note: string, d: Dots, x: string, y: string, later: (() => void)[], log = false): HTMLElement {
  if (!d.x.length) return empty(title, t("noData"));
  const of = `${t("shown")} ${num(d.x.length)} ${t("of")} ${num(d.of)}`;
  const { fig, box } = figure(title, `${of}. ${note}`, {
    head: [x, "n", `${y} min`, "max"],
    rows: () => slices(d),
  });
  later.push(() => {
    const ys = log ? d.y.map((v) => Math.log10(Math.max(v, 0.01))) : d.y;
    const points: Points = { x: Float32Array.from(d.x), y: Float32Array.from(ys), kind: new Uint8Array(d.x.length) };
    const far = Math.max(top(points.x) * 1.03, 1);
    const most = d.y.reduce((a, b) => Math.max(a, b));
    const span: [number, number] = log ? [Math.max(10 ** (ys.reduce((a, b) => Math.min(a, b)) - 0.1), 0.01), most * 1.3] : [0, most * 1.06 || 1];
    draw(box, {
      label: title,
      legend: false,
      whole: [0, far],
      data: [[0, far], span],
      scales: { y: log ? logScale(...span) : { range: () => span } },
      axes: [axis(x), log ? logAxis(y, 60) : axis(y, { values: msTicks }, 60)],
      series: [{}, invisible],
      plugins: [cloud(points, [{ color: color("c1"), shape: "circle", shown: true }], log)],
    });
  });
  return fig;
}

// slices sums a scatter up in ten parts, for its table.
function slices(d: Dots): string[][] {
  const far = d.x.reduce((a, b) => Math.max(a, b), 0) || 1;
  const parts = Array.from({ length: 10 }, () => [] as number[]);
  d.x.forEach((x, i) => parts[Math.min(9, Math.floor((x / far) * 10))]!.push(d.y[i]!));
  return parts.flatMap((ys, i) =>
    ys.length
      ? [[`${num((far * i) / 10)} – ${num((far * (i + 1)) / 10)}`, num(ys.length), ms(ys.reduce((a, b) => Math.min(a, b))), ms(ys.reduce((a, b) => Math.max(a, b)))]]
      : [],
  );
}

export const gapPosition = (p: Page, later: (() => void)[]): HTMLElement =>
  p.series
    ? dots(t("gapPos"), t("gapPosNote"), p.series.gap_dots, t("position"), t("gapLen"), later, true)
    : empty(t("gapPos"), t("noSeries"));

export const inputTokens = (p: Page, later: (() => void)[]): HTMLElement =>
  dots(t("input"), "", p.input, t("inputTokens"), "ttft", later);
