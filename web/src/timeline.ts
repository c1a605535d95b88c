// One request on one axis: its phases, its events, its silences.
import type { Page, Worst } from "./data";
import { el, ms, svg } from "./dom";
import { t, tr, type Word } from "./i18n";
import { color, kinds } from "./theme";

const width = 1000;
const lane = { phases: 8, events: 40, axis: 112 };

// timeline draws a trace; patterns need ids of their own on the page.
export function timeline(x: Worst, id: number): HTMLElement {
  const length = Math.max(x.end, 1);
  const at = (v: number): number => (Math.min(Math.max(v, 0), length) / length) * width;
  const pattern = `hatch${id}`;
  const pic = svg("svg", { viewBox: `0 0 ${width} 132`, class: "timeline", role: "img", "aria-label": `${x.id}: ${tr(x.outcome)}, ${ms(x.end)}` });
  pic.append(
    svg(
      "defs",
      {},
      svg(
        "pattern",
        { id: pattern, width: 8, height: 8, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        svg("line", { x1: 0, y1: 0, x2: 0, y2: 8, stroke: color("bad"), "stroke-width": 3 }),
      ),
    ),
  );
  phases(x, length).forEach(([name, from, to, c]) => {
    const w = Math.max(at(to) - at(from), 1);
    pic.append(svg("rect", { x: at(from), y: lane.phases, width: w, height: 20, fill: color(c), rx: 2 }, svg("title", {}, `${name} ${ms(to - from)}`)));
    if (w > 70) pic.append(svg("text", { x: at(from) + 4, y: lane.phases + 14, class: "on" }, `${name} ${ms(to - from)}`));
  });
  for (const g of x.gaps ?? []) {
    if (!g.stall && !g.open) continue;
    const w = at(g.to) - at(g.from);
    pic.append(svg("rect", { x: at(g.from), y: lane.events, width: w, height: 56, fill: `url(#${pattern})`, opacity: 0.55 }, svg("title", {}, `${t("stall")} ${ms(g.to - g.from)}`)));
    if (w > 60) pic.append(svg("text", { x: at(g.from) + w / 2, y: lane.events + 33, "text-anchor": "middle", class: "halo" }, ms(g.to - g.from)));
  }
  ticks(x, at, pic);
  pic.append(svg("line", { x1: 0, x2: width, y1: lane.axis, y2: lane.axis, stroke: color("fg2") }));
  for (const v of round(length)) {
    const anchor = v === 0 ? "start" : at(v) > width - 30 ? "end" : "middle";
    pic.append(svg("line", { x1: at(v), x2: at(v), y1: lane.axis, y2: lane.axis + 4, stroke: color("fg2") }), svg("text", { x: at(v), y: lane.axis + 16, "text-anchor": anchor }, ms(v)));
  }
  return el("div", {}, el("div", { class: "scroll" }, pic as unknown as Node), legend(x), marks(x));
}

// round is round times of a length, from 0: 4 to 10 of them.
function round(length: number): number[] {
  const unit = 10 ** Math.floor(Math.log10(length / 4));
  const step = [5, 2, 1].map((f) => f * unit).find((s) => length / s >= 4) ?? unit;
  const out: number[] = [];
  for (let v = 0; v <= length; v += step) out.push(v);
  return out;
}

// phases are the parts of a request end to end.
function phases(x: Worst, length: number): [string, number, number, string][] {
  const out: [string, number, number, string][] = [];
  let from = 0;
  const mark = (name: string): number | undefined => x.marks?.find((m) => m.name === name)?.at;
  const upTo = (name: string, to: number | undefined, c: string): void => {
    if (to === undefined || to <= from) return;
    out.push([name, from, to, c]);
    from = to;
  };
  upTo("DNS", x.dns, "c3");
  upTo("connect", x.connect === undefined ? undefined : from + x.connect, "c2");
  upTo("TLS", x.tls === undefined ? undefined : from + x.tls, "c5");
  upTo("write", x.written, "muted");
  upTo("wait", mark("ttft") ?? mark("headers"), "bar1");
  upTo("reasoning", mark("first_reasoning") === undefined ? undefined : mark("first_text"), "bar3");
  upTo(mark("ttft") === undefined ? "end" : "stream", mark("done") ?? length, mark("ttft") === undefined ? "muted" : "bar2");
  upTo("tail", length, "muted");
  return out;
}

// ticks draws a tick an event, those of one place and kind once.
function ticks(x: Worst, at: (v: number) => number, pic: SVGElement): void {
  const paths = new Map<number, Set<number>>();
  let sum = 0;
  x.steps.forEach((step, i) => {
    sum += step;
    const k = kinds.findIndex((k) => k.letter === x.kinds[i]);
    if (!paths.has(k)) paths.set(k, new Set());
    paths.get(k)!.add(Math.round(at(sum / 10) * 2) / 2);
  });
  for (const [k, xs] of paths) {
    const kind = kinds[k] ?? kinds.at(-1)!;
    const business = "trfm".includes(kind.letter);
    const [y, h] = business ? [lane.events + 4, 48] : [lane.events + 56, 12];
    pic.append(svg("path", { d: [...xs].map((v) => `M${v} ${y}v${h}`).join(""), stroke: color(kind.color), "stroke-width": kind.letter === "r" ? 2 : 1.2, ...(kind.letter === "r" ? { "stroke-dasharray": "4 3" } : {}) }, svg("title", {}, tr(kind.name))));
  }
}

function legend(x: Worst): HTMLElement {
  const parts = kinds.flatMap((k) => {
    const n = [...x.kinds].filter((c) => c === k.letter).length;
    return n ? [`${tr(k.name)} ${n}`] : [];
  });
  if (x.cut) parts.push(`${x.cut} ${t("leftOut")}`);
  return el("p", { class: "note" }, parts.join(" · "));
}

function marks(x: Worst): HTMLElement {
  const parts = (x.marks ?? []).map((m) => `${m.name in { headers: 1, done: 1 } ? t(m.name as Word) : m.name} ${ms(m.at)}`);
  if (x.lateness > 0) parts.unshift(`${t("late")} ${ms(x.lateness)}`);
  return el("p", { class: "note" }, parts.join(" · "));
}

export function worst(p: Page): HTMLElement | null {
  const list = p.series?.worst ?? [];
  if (!list.length) return null;
  const box = el("section", { id: "worst" }, el("h2", {}, t("worst")), el("p", { class: "note" }, t("worstNote")));
  list.forEach((x, i) => {
    const head = [`${t("waited")} ${ms(x.waited)}`, tr(x.outcome) + (x.reason ? ` (${x.reason})` : ""), [x.scenario, x.phase].filter(Boolean).join(" / "), x.id];
    const d = el("details", { class: "worst" }, el("summary", {}, el("b", {}, `${i + 1}. ${head[0]}`), " ", head.slice(1).filter(Boolean).join(" · ")));
    d.addEventListener("toggle", () => {
      if (d.open && d.childElementCount === 1) d.append(timeline(x, i));
    });
    if (i === 0) d.open = true;
    box.append(d);
  });
  return box;
}
