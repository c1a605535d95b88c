// The run over its time: pictures that share their cursor and zoom.
import uPlot from "uplot";
import type { OverTime } from "./data";
import { axis, clock, draw, empty, figure, msTicks, percents, type Group } from "./charts";
import { ms, num } from "./dom";
import { t, tr } from "./i18n";
import { color } from "./theme";

const outcomeLook: Record<string, [string, number[]]> = {
  complete: ["good", []],
  gapped: ["c3", [6, 3]],
  cancelled: ["muted", [2, 3]],
  timeout: ["warn", [8, 4]],
  hung: ["warn", [2, 2]],
  truncated: ["c2", []],
  reset: ["c2", [8, 3]],
  error_mid: ["bad", [3, 3]],
  error_early: ["bad", []],
  dropped: ["c4", [8, 3, 2, 3]],
};

// wholes are steps of an axis of counts.
const wholes = [1, 2, 5].flatMap((f) => Array.from({ length: 8 }, (_, i) => f * 10 ** i)).sort((a, b) => a - b);

const secs = (v: number): string => (v < 120 ? +v.toFixed(2) + " s" : +(v / 60).toFixed(2) + " min");
const timeSeries: uPlot.Series = { label: t("runTime"), value: (_, v) => (v === null ? "–" : secs(v)) };

export function overTime(o: OverTime, g: Group, later: (() => void)[], whole: [number, number]): Node[] {
  const one = (title: string, note: string, xs: number[], list: { name: string; ys: (number | null)[]; stroke: string; dash?: number[]; fill?: boolean }[], unit: "ms" | "share" | "n"): HTMLElement => {
    if (list.every((s) => s.ys.every((v) => v === null))) return empty(title, t(unit === "ms" ? "noQuantile" : "noData"));
    const write = (v: number | null | undefined): string => (v == null ? "–" : unit === "ms" ? ms(v) : unit === "share" ? (100 * v).toFixed(1) + " %" : num(v));
    const { fig, box } = figure(title, note, {
      head: [t("runTime"), ...list.map((s) => s.name)],
      rows: () => xs.map((x, i) => [secs(x), ...list.map((s) => write(s.ys[i]))]),
    });
    later.push(() => {
      draw(box, {
        label: title,
        group: g,
        whole,
        height: 210,
        data: [xs, ...list.map((s) => s.ys)] as uPlot.AlignedData,
        scales: { y: { range: (_u, _a, b) => [0, unit === "share" ? Math.max(Math.min(b * 1.2, 1.02), 0.01) : b > 0 ? b * 1.1 : 1] } },
        axes: [axis("", { values: clock }), axis("", unit === "ms" ? { values: msTicks } : unit === "share" ? { values: percents } : { incrs: wholes }, 60)],
        series: [
          { ...timeSeries, label: t("runTime") },
          ...list.map((s) => ({
            label: s.name,
            stroke: color(s.stroke),
            dash: s.dash ?? [],
            width: 1.6,
            ...(s.fill ? { fill: color(s.stroke) + "22" } : {}),
            spanGaps: false,
            points: { show: xs.length < 60, size: 4 },
            value: (_: uPlot, v: number | null) => write(v),
          })),
        ],
      });
    });
    return fig;
  };
  const p50 = { name: "p50", ys: o.ttft_p50, stroke: "c1" };
  const p90 = { name: "p90", ys: o.ttft_p90, stroke: "c3", dash: [8, 3] };
  const p95 = { name: "p95", ys: o.ttft_p95, stroke: "c2", dash: [2, 3] };
  const outcomes = (o.outcomes ?? []).map((name, i) => {
    const [stroke, dash] = outcomeLook[name] ?? ["muted", [1, 3]];
    return { id: name, name: tr(name), ys: o.shares![i]!.map((v, k) => (o.n[k] ? v : null)), stroke, dash };
  });
  // Beside the complete ones the others would lie on the axis.
  const others = outcomes.filter((x) => x.id !== "complete");
  const out: Node[] = [
    one(t("quantiles"), `${t("quantilesNote")} ${secs(o.wide_s)}`, o.w, [p50, p90, p95], "ms"),
    one(others.length ? t("others") : t("outcomes"), `${t("share")}, ${t("quantilesNote")} ${secs(o.wide_s)}`, o.w, others.length ? others : outcomes, "share"),
    one(t("active"), `${t("quantilesNote")} ${secs(o.step_s)}`, o.t, [{ name: t("streams"), ys: o.active, stroke: "c1", fill: true }], "n"),
    one(
      t("rps"),
      `${t("quantilesNote")} ${secs(o.step_s)}`,
      o.t,
      [
        { name: t("started"), ys: o.starts, stroke: "c1" },
        { name: t("ended"), ys: o.ends, stroke: "good", dash: [6, 3] },
      ],
      "n",
    ),
  ];
  if (o.tokens.some((v) => v !== null)) {
    out.push(one(t("tps"), t("tpsNote"), o.t, [{ name: "tok/s", ys: o.tokens.map((v) => v ?? 0), stroke: "c4", fill: true }], "n"));
  }
  return out;
}
