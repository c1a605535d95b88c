// Pictures by uPlot: its frame (axes, cursor, zoom), our words and colours.
import uPlot from "uplot";
import { el, folded, table, ms } from "./dom";
import { t } from "./i18n";
import { color, fonts } from "./theme";

export const height = 260;
const font = "12px " + fonts;

// live are the pictures on the page, drawn anew when its width changes.
let live: { u: uPlot; box: HTMLElement }[] = [];

export function forget(): void {
  for (const x of live) x.u.destroy();
  live = [];
}

const widthOf = (box: HTMLElement): number => Math.max(280, Math.floor(box.clientWidth));

new ResizeObserver(() => {
  for (const { u, box } of live) {
    if (Math.abs(u.width - widthOf(box)) > 1) u.setSize({ width: widthOf(box), height: u.height });
  }
}).observe(document.documentElement);

// axis is an axis with a word beside it, or none. side is the room for its
// figures: below a picture a line of them, to its left as wide as they are.
export function axis(label: string, o: Partial<uPlot.Axis> = {}, side = 30): uPlot.Axis {
  return {
    ...(label ? { label, labelFont: font, labelSize: 22, labelGap: 4 } : {}),
    font,
    size: side,
    stroke: color("fg2"),
    grid: { stroke: color("grid"), width: 1 },
    ticks: { stroke: color("grid"), width: 1, size: 5 },
    ...o,
  };
}

export const msTicks = (_: uPlot, vs: (number | null)[]): string[] => vs.map((v) => (v === null ? "" : ms(v)));

// clock writes seconds of the run.
export const clock = (_: uPlot, vs: (number | null)[]): string[] =>
  vs.map((v) => (v === null ? "" : v < 120 ? +v.toFixed(2) + " s" : +(v / 60).toFixed(2) + " min"));

export const percents = (_: uPlot, vs: (number | null)[]): string[] =>
  vs.map((v) => (v === null ? "" : +(v * 100).toFixed(1) + " %"));

// log10 is a scale by powers of ten; only those and, between few of them, 2 and
// 5 are written.
export const logScale = (min: number, max: number): uPlot.Scale => ({
  distr: 3,
  range: () => [min, max],
  auto: false,
});

export const logAxis = (label: string, side?: number): uPlot.Axis =>
  axis(
    label,
    {
      values: msTicks,
      splits: (_u, _i, min, max) => {
        const out: number[] = [];
        for (let unit = 10 ** Math.floor(Math.log10(min)); unit <= max; unit *= 10) {
          for (let lead = 1; lead <= 9; lead++) {
            if (unit * lead >= min && unit * lead <= max) out.push(+(unit * lead).toPrecision(1));
          }
        }
        return out;
      },
      filter: (_u, splits) => {
        const decades = Math.log10(splits.at(-1)! / splits[0]!);
        return splits.map((v) => {
          const lead = Math.round(v / 10 ** Math.floor(Math.log10(v) + 1e-9));
          return lead === 1 || (decades < 2.5 && (lead === 2 || lead === 5)) ? v : null;
        });
      },
    },
    side,
  );

// line is a vertical line with a word, such as where a stall begins.
export interface Line {
  at: number;
  label: string;
}

export function lines(list: Line[]): uPlot.Plugin {
  return {
    hooks: {
      draw: (u) => {
        const { ctx, bbox } = u;
        ctx.save();
        ctx.strokeStyle = ctx.fillStyle = color("fg2");
        ctx.font = `${11 * devicePixelRatio}px ${fonts}`;
        ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
        list.forEach(({ at, label }) => {
          const { min, max } = u.scales["x"]!;
          if (at < min! || at > max!) return;
          const x = Math.round(u.valToPos(at, "x", true));
          ctx.beginPath();
          ctx.moveTo(x, bbox.top);
          ctx.lineTo(x, bbox.top + bbox.height);
          ctx.stroke();
          const right = x + ctx.measureText(label).width + 8 < bbox.left + bbox.width;
          ctx.textAlign = right ? "left" : "right";
          ctx.fillText(label, x + (right ? 4 : -4) * devicePixelRatio, bbox.top + 12 * devicePixelRatio);
        });
        ctx.restore();
      },
    },
  };
}

// group keeps the time axes of several pictures together.
export interface Group {
  key: string;
  charts: uPlot[];
  busy: boolean;
}

export const group = (key: string): Group => ({ key, charts: [], busy: false });

function together(g: Group): uPlot.Plugin {
  return {
    hooks: {
      ready: (u) => void g.charts.push(u),
      setScale: (u, key) => {
        if (key !== "x" || g.busy || !g.charts.includes(u)) return;
        const { min, max } = u.scales["x"]!;
        g.busy = true;
        for (const o of g.charts) {
          if (o !== u) o.setScale("x", { min: min!, max: max! });
        }
        // uPlot tells of a change of scale only after this turn.
        queueMicrotask(() => queueMicrotask(() => (g.busy = false)));
      },
    },
  };
}

export interface Picture {
  label: string; // for those who hear the page
  data: uPlot.AlignedData;
  series: uPlot.Series[];
  scales?: uPlot.Scales;
  axes: uPlot.Axis[];
  plugins?: uPlot.Plugin[];
  group?: Group;
  height?: number;
  legend?: boolean;
  whole?: [number, number]; // of x
}

// border is a dash as the legend can draw it.
const border = (dash?: number[]): string => (!dash?.length ? "solid" : dash[0]! <= 3 ? "dotted" : "dashed");

// draw puts a picture into a box that is on the page.
export function draw(box: HTMLElement, p: Picture): uPlot {
  const whole = p.whole;
  const u = new uPlot(
    {
      width: widthOf(box),
      height: p.height ?? height,
      series: p.series,
      axes: p.axes,
      scales: { x: { time: false, ...(whole ? { min: whole[0], max: whole[1] } : {}) }, ...p.scales },
      plugins: [...(p.plugins ?? []), ...(p.group ? [together(p.group)] : [])],
      legend: { show: p.legend ?? true, live: true, markers: { width: 2, dash: (u, i) => border(u.series[i]?.dash) } },
      cursor: {
        drag: { x: true, y: false },
        points: { size: 7 },
        ...(p.group ? { sync: { key: p.group.key, setSeries: false } } : {}),
        bind: whole
          ? {
              dblclick: (u) => () => {
                u.setScale("x", { min: whole[0], max: whole[1] });
                return null;
              },
            }
          : {},
      },
    },
    p.data,
    box,
  );
  if (whole) u.setScale("x", { min: whole[0], max: whole[1] });
  box.setAttribute("tabindex", "0");
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", p.label + ". " + t("keys"));
  box.addEventListener("keydown", (e) => keys(u, e, whole));
  live = live.filter((x) => x.box.isConnected);
  live.push({ u, box });
  return u;
}

// keys moves the cursor and the zoom without a mouse.
function keys(u: uPlot, e: KeyboardEvent, whole?: [number, number]): void {
  const xs = u.data[0] as number[];
  const { min, max } = u.scales["x"]!;
  if (min == null || max == null || !xs.length) return;
  const zoom = (f: number): void => {
    const mid = u.cursor.left! >= 0 ? u.posToVal(u.cursor.left!, "x") : (min + max) / 2;
    u.setScale("x", { min: mid - (mid - min) * f, max: mid + (max - mid) * f });
  };
  const move = (by: number): void => {
    const i = Math.min(Math.max((u.cursor.idx ?? (by > 0 ? -1 : xs.length)) + by, 0), xs.length - 1);
    u.setCursor({ left: u.valToPos(xs[i]!, "x"), top: u.over.clientHeight / 2 });
  };
  const act: Record<string, () => void> = {
    ArrowLeft: () => move(-1),
    ArrowRight: () => move(1),
    "+": () => zoom(0.5),
    "=": () => zoom(0.5),
    "-": () => zoom(2),
    "0": () => u.setScale("x", { min: whole?.[0] ?? xs[0]!, max: whole?.[1] ?? xs.at(-1)! }),
  };
  const f = act[e.key];
  if (f && !e.ctrlKey && !e.metaKey && !e.altKey) {
    e.preventDefault();
    f();
  }
}

// figure is a titled place for a picture, its note, and its numbers folded.
export function figure(title: string, note: string, o: { head?: string[]; rows?: () => string[][] } = {}): { fig: HTMLElement; box: HTMLElement } {
  const box = el("div", { class: "chart" });
  const fig = el("figure", {}, el("figcaption", {}, el("b", {}, title), note ? el("span", { class: "note" }, note) : null), box);
  if (o.head && o.rows) {
    const { head, rows } = o;
    fig.append(folded(t("numbers"), () => table(title, head, rows(), head.map((_, i) => i))));
  }
  return { fig, box };
}

export const empty = (title: string, why: string): HTMLElement =>
  el("figure", {}, el("figcaption", {}, el("b", {}, title)), el("p", { class: "none" }, why));
