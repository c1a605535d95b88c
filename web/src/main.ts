// The page of a report: what the program wrote, in the order of its questions.
import "./report.css";
import { load, type Page } from "./data";
import { el, table } from "./dom";
import { forget, group } from "./charts";
import { firsts } from "./spread";
import { arrivals, gapPosition, inputTokens } from "./scatter";
import { overTime } from "./overtime";
import { worst } from "./timeline";
import { language, setLanguage, t, tr, type Lang } from "./i18n";

type Theme = "auto" | "light" | "dark";
const themes: Theme[] = ["auto", "light", "dark"];

// The address keeps what was chosen: #lang=zh&theme=dark.
const chosen = new URLSearchParams(location.hash.slice(1));

function choose(key: string, value: string): void {
  chosen.set(key, value);
  history.replaceState(null, "", "#" + chosen.toString());
}

function theme(): Theme {
  const v = chosen.get("theme") as Theme;
  return themes.includes(v) ? v : "auto";
}

function section(id: string, title: string, note: string, ...children: (Node | null)[]): HTMLElement {
  return el("section", { id }, el("h2", {}, title), note ? el("p", { class: "note" }, note) : null, ...children);
}

const sign: Record<string, string> = { pass: "✓", fail: "✗", undecided: "?", invalid: "!", valid: "✓", suspect: "?" };

const badge = (v: string): HTMLElement =>
  el("span", { class: "badge " + (v in sign ? v : "plain") }, (sign[v] ? sign[v] + " " : "") + tr(v || "unknown"));

function header(p: Page, again: () => void): HTMLElement {
  const lang = el("button", { type: "button", lang: language() === "zh" ? "en" : "zh-CN" }, language() === "zh" ? "English" : "中文");
  lang.addEventListener("click", () => {
    choose("lang", language() === "zh" ? "en" : "zh");
    again();
  });
  const look = el("button", { type: "button" }, `${t("theme")}: ${t(theme())}`);
  look.addEventListener("click", () => {
    choose("theme", themes[(themes.indexOf(theme()) + 1) % themes.length]!);
    again();
  });
  const get = el("button", { type: "button" }, t("download"));
  get.addEventListener("click", () => {
    const url = URL.createObjectURL(new Blob([JSON.stringify(p.run, null, 1)], { type: "application/json" }));
    const a = el("a", { href: url, download: `weir-${p.run.run.id.replace(/[^\w.-]+/g, "_") || "run"}.json` });
    a.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  });
  const verdict = p.word.toLowerCase();
  return el(
    "header",
    {},
    el("nav", {}, el("span", { class: "brand" }, t("title")), get, look, lang),
    el("h1", { class: verdict in sign ? verdict : "plain" }, el("span", { class: "word" }, `${sign[verdict] ?? ""} ${tr(p.word)}`.trim()), el("span", {}, p.title)),
    el("p", { class: "target" }, p.shown.target),
    p.run.partial ? el("p", { class: "partial" }, t("partial")) : null,
  );
}

function judged(p: Page): Node[] {
  const s = p.shown;
  const out: Node[] = [];
  out.push(
    s.gates.length
      ? section(
          "gates",
          t("gates"),
          t("gatesNote"),
          table(t("gates"), [t("verdict"), t("where"), t("gate"), t("actual"), t("interval"), "n", t("why")], s.gates.map((g) => [badge(g[0]!), ...g.slice(1)]), [3, 4, 5]),
        )
      : section("gates", t("gates"), t("noGates")),
  );
  if (s.rules.length) {
    out.push(
      section(
        "rules",
        t("rules"),
        "",
        table(t("rules"), [t("verdict"), t("rule"), t("scenario"), t("violations"), t("checked"), t("requests"), t("unseen")], s.rules.map((r) => [badge(r[0]!), ...r.slice(1)]), [3, 4]),
      ),
    );
  }
  return out;
}

function facts(p: Page): HTMLElement {
  const s = p.shown;
  const h = p.run.health;
  const verdict = h?.verdict ?? "";
  const health = el(
    "div",
    {},
    el("h3", {}, t("health") + " ", verdict ? badge(verdict) : t("notStated")),
    ...(h?.reasons ?? []).map((r) => el("p", { class: "reason" }, r)),
    s.health.length ? table(t("health"), [t("figure"), t("value")], s.health, [1]) : null,
  );
  const run = el("div", {}, el("h3", {}, t("facts")), el("ul", {}, ...s.facts.map((f) => el("li", {}, f))));
  for (const w of p.run.warnings) run.append(el("p", { class: "reason" }, w));
  const load = s.phases.length
    ? table(t("load"), [t("phase"), t("arrivals"), t("time"), t("planned"), t("sent"), t("dropped"), t("queued"), t("rate")], s.phases, [2, 3, 4, 5, 6, 7])
    : null;
  if (load) run.append(load);
  const plan = p.plan ? el("details", {}, el("summary", {}, t("plan")), el("pre", {}, p.plan)) : null;
  return section("run", t("run"), "", el("div", { class: "two" }, run, health), plan);
}

function scenarios(p: Page): HTMLElement {
  const s = p.shown;
  const head = [t("metric"), t("from"), "n", "p50", "p90", "p95", "p99", "max"];
  const out = section("scenarios", t("scenarios"), s.scenarios.length ? "" : t("noRequests"));
  for (const x of s.scenarios) {
    const rows = x.rows.map((r) => [r[0]!, r[1] === "scheduled" ? t("planned") : r[1] === "sent" ? t("sent") : "", ...r.slice(2)]);
    out.append(el("h3", {}, x.name), el("p", { class: "note" }, x.note), table(x.name, head, rows, [2, 3, 4, 5, 6, 7]));
  }
  if (s.inflation.length) {
    out.append(el("h3", {}, t("inflation")), table(t("inflation"), [t("scenario"), t("metric"), t("alone"), "n", t("loaded"), "n", t("factor")], s.inflation, [2, 3, 4, 5, 6]));
  }
  const outcomes = s.outcomes.map((o) => [tr(o[0]!), ...o.slice(1)]);
  out.append(el("h3", {}, t("outcomes")), table(t("outcomes"), [t("outcome"), "n", t("share"), t("reasons")], outcomes, [1, 2]));
  return out;
}

function page(p: Page): void {
  const again = (): void => page(p);
  const lang = (chosen.get("lang") ?? (navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en")) as Lang;
  setLanguage(lang === "zh" ? "zh" : "en");
  document.documentElement.dataset["theme"] = theme();
  forget();
  const later: (() => void)[] = [];
  const g = group("time");
  const end = Math.max((p.time?.t.at(-1) ?? 0) + (p.time?.step_s ?? 1) / 2, 0.5);
  const whole: [number, number] = [0, end];
  const s = p.shown;
  const first = firsts(p, later);
  document.getElementById("page")!.replaceChildren(
    header(p, again),
    ...judged(p),
    facts(p),
    section("firsts", t("firsts"), "", first.choice, first.box),
    section("arrivals", t("scatter"), "", arrivals(p, g, later, whole)),
    section("position", t("gapPos"), "", el("div", { class: "grid" }, gapPosition(p, later), inputTokens(p, later))),
    section("time", t("overTime"), p.time ? t("overTimeNote") : t("noRequests"), p.time ? el("div", { class: "grid" }, ...overTime(p.time, g, later, whole)) : null),
    scenarios(p),
    worst(p) ?? "",
    section("silence", t("silence"), t("silenceNote"), table(t("silence"), [t("silentFor"), "n", t("failed"), t("share"), t("interval"), t("cut")], s.silence, [0, 1, 2, 3, 4, 5])),
    section("definitions", t("defs"), "", table(t("defs"), [t("metric"), t("unit"), t("doc")], p.metrics.map((m) => [m.name, m.unit, m.doc]))),
  );
  for (const f of later) f();
  document.documentElement.dataset["ready"] = "true";
}

load().then((p) => {
  page(p);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => page(p));
  addEventListener("hashchange", () => {
    for (const [k, v] of new URLSearchParams(location.hash.slice(1))) chosen.set(k, v);
    page(p);
  });
});
