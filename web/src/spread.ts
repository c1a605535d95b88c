// How latencies and gaps are spread: curves and histograms.
import uPlot from "uplot";
import type { Curve, Page } from "./data";
import { el, ms, num } from "./dom";
import { axis, draw, empty, figure, lines, logAxis, logScale, msTicks, percents } from "./charts";
import { t } from "./i18n";
import { color } from "./theme";

const dashes: number[][] = [[], [8, 4], [2, 3]];
const colors = ["c1", "c2", "c3"];

// firsts are the curves of ttft, first_text and useful and their histograms, of
// the requests that the reader chooses.
export function firsts(p: Page, later: (() => void)[]): { choice: HTMLElement | null; box: HTMLElement } {
  const box = el("div", { class: "grid" });
  const rest = gaps(p, later);
  const fill = (i: number): (() => void)[] => {
    const list = (p.curves[i]?.curves ?? []).filter((c) => c.reached > 0);
    const now: (() => void)[] = [];
    const why = p.shown.scenarios.length ? t("noData") : t("noRequests");
    box.replaceChildren(...(list.length ? [ecdf(list, now), histogram(list, now)] : [empty(t("firsts"), why)]), rest);
    return now;
  };
  later.push(...fill(0));
  if (p.curves.length < 2) return { choice: null, box };
  const select = el("select", {}, ...p.curves.map((c, i) => el("option", { value: String(i) }, c.name || t("underLoad"))));
  select.addEventListener("change", () => {
    for (const f of fill(Number(select.value))) f();
  });
  return { choice: el("label", { class: "choice" }, t("of_which"), " ", select), box };
}

const named = (c: Curve): string => `${c.metric} (${c.reached} ${t("of")} ${c.n})`;

function ecdf(list: Curve[], later: (() => void)[]): HTMLElement {
  const note = list.map(named).join(" · ") + ". " + t("firstsNote");
  const quantiles = [1, 5, 10, 25, 50, 75, 90, 95, 99];
  const { fig, box } = figure(t("firsts"), note, {
    head: ["%", ...list.map((c) => c.metric)],
    rows: () => quantiles.map((q) => [String(q), ...list.map((c) => at(c, q / 100))]),
  });
  const toggle = el("button", { type: "button", "aria-pressed": "false", class: "small" }, t("logScale"));
  fig.querySelector("figcaption")!.append(toggle);
  later.push(() => {
    const paint = (log: boolean): uPlot => {
      box.replaceChildren();
      return draw(box, ecdfPicture(list, log));
    };
    let u = paint(false);
    toggle.addEventListener("click", () => {
      const log = toggle.getAttribute("aria-pressed") !== "true";
      toggle.setAttribute("aria-pressed", String(log));
      u.destroy();
      u = paint(log);
    });
  });
  return fig;
}

// at is when a share of all requests had it.
function at(c: Curve, share: number): string {
  const i = c.y.findIndex((y) => y >= share);
  return i < 0 ? "–" : ms(c.x[i]!);
}

function ecdfPicture(list: Curve[], log: boolean) {
  const low = Math.min(...list.map((c) => c.x[0]!));
  const high = Math.max(...list.map((c) => c.x.at(-1)!));
  const xs = [...new Set([...(log ? [] : [0]), ...list.flatMap((c) => c.x)])].sort((a, b) => a - b);
  const ys = list.map((c) => {
    let k = 0;
    return xs.map((x) => {
      while (k < c.x.length && c.x[k]! <= x) k++;
      return k ? c.y[k - 1]! : 0;
    });
  });
  const lo = log ? Math.max(low * 0.8, 0.01) : 0;
  const hi = Math.max(high * (log ? 1.25 : 1.04), lo + 1);
  return {
    label: t("firsts"),
    data: [xs, ...ys] as uPlot.AlignedData,
    whole: [lo, hi] as [number, number],
    scales: { x: log ? logScale(lo, hi) : { time: false }, y: { range: [0, 1.02] as uPlot.Range.MinMax } },
    axes: [log ? logAxis("") : axis("", { values: msTicks }), axis("", { values: percents }, 52)],
    series: [
      { label: "≤", value: (_: uPlot, v: number | null) => (v === null ? "–" : ms(v)) },
      ...list.map((c, i) => ({
        label: c.metric,
        stroke: color(colors[i % 3]!),
        dash: dashes[i % 3]!,
        width: 2,
        paths: uPlot.paths.stepped!({ align: 1 }),
        points: { show: false },
        value: (_: uPlot, v: number | null) => (v === null ? "–" : (100 * v).toFixed(1) + " %"),
      })),
    ],
  };
}

const edge = (from: number, i: number): number => from * 10 ** (i / 20);

function histogram(list: Curve[], later: (() => void)[]): HTMLElement {
  const { fig, box } = figure(t("firstsSpread"), list.map((c) => c.metric).join(", "), {
    head: ["≥", ...list.map((c) => c.metric)],
    rows: () => bins(list).map(([x, ...n]) => [ms(x!), ...n.map(String)]),
  });
  later.push(() => {
    const rows = bins(list);
    const xs = rows.map((r) => r[0]!);
    const lo = xs[0]! * 0.95;
    const hi = edge(xs.at(-1)!, 1.3);
    draw(box, {
      label: list.map((c) => c.metric).join(", "),
      data: [xs, ...list.map((_, i) => rows.map((r) => r[i + 1]!))] as uPlot.AlignedData,
      whole: [lo, hi],
      scales: { x: logScale(lo, hi), y: { range: (_u, _a, b) => [0, Math.max(b, 1) * 1.08] } },
      axes: [logAxis(""), axis("", {}, 56)],
      series: [
        { label: "≥", value: (_, v) => (v === null ? "–" : ms(v)) },
        ...list.map((c, i) => ({
          label: c.metric,
          stroke: color(colors[i % 3]!),
          fill: i === 0 ? color(colors[0]!) + "55" : "transparent",
          dash: dashes[i % 3]!,
          width: i === 0 ? 1 : 2,
          paths: i === 0 ? uPlot.paths.bars!({ size: [0.9, Infinity], align: 1 }) : uPlot.paths.stepped!({ align: 1 }),
          points: { show: false },
          value: (_: uPlot, v: number | null) => (v === null ? "–" : num(v)),
        })),
      ],
    });
  });
  return fig;
}

// bins lays the histograms of several metrics side by side.
function bins(list: Curve[]): number[][] {
  const key = (from: number, i: number): number => Math.round(Math.log10(from) * 20) + i;
  const at = new Map<number, number[]>();
  list.forEach((c, k) =>
    c.counts.forEach((n, i) => {
      const id = key(c.from, i);
      if (!at.has(id)) at.set(id, list.map(() => 0));
      at.get(id)![k] = n;
    }),
  );
  const ids = [...at.keys()];
  const out: number[][] = [];
  for (let id = Math.min(...ids); id <= Math.max(...ids); id++) {
    out.push([10 ** (id / 20), ...(at.get(id) ?? list.map(() => 0))]);
  }
  return out;
}

// gaps is the histogram of all gaps.
function gaps(p: Page, later: (() => void)[]): HTMLElement {
  const s = p.series;
  if (!s) return empty(t("gapHist"), t("noSeries"));
  if (!s.gap_counts.length) return empty(t("gapHist"), t("noData"));
  const { fig, box } = figure(t("gapHist"), `n ${s.gap_n}. ${t("gapHistNote")}`, {
    head: ["≥", "n"],
    rows: () => s.gap_counts.map((n, i) => [ms(edge(s.gap_from, i)), String(n)]),
  });
  later.push(() => {
    const xs = s.gap_counts.map((_, i) => edge(s.gap_from, i));
    const lo = Math.min(xs[0]!, 10) * 0.95;
    const hi = Math.max(edge(xs.at(-1)!, 1.3), p.stall_ms * 2);
    draw(box, {
      label: t("gapHist"),
      data: [xs, s.gap_counts],
      whole: [lo, hi],
      scales: { x: logScale(lo, hi), y: { range: (_u, _a, b) => [0, Math.max(b, 1) * 1.15] } },
      axes: [logAxis(""), axis("", {}, 56)],
      plugins: [
        lines([
          { at: 16.7, label: "16.7 ms" },
          { at: 100, label: "100 ms" },
          { at: p.stall_ms, label: t("stall") },
        ]),
      ],
      series: [
        { label: "≥", value: (_, v) => (v === null ? "–" : ms(v)) },
        {
          label: "n",
          stroke: color("c1"),
          fill: color("c1") + "66",
          width: 1,
          paths: uPlot.paths.bars!({ size: [0.9, Infinity], align: 1 }),
          points: { show: false },
          value: (_, v) => (v === null ? "–" : num(v)),
        },
      ],
    });
  });
  return fig;
}
