// The few ways text gets into the page: always as text, never as HTML.

type Child = Node | string | null | undefined | false;

// clean shows what would turn the direction of a line, or is a control
// character, instead of obeying it.
export function clean(s: string): string {
  return s.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (c) =>
    "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"),
  );
}

export function el<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attrs: Record<string, string> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(attrs)) e.setAttribute(k, v);
  for (const c of children) {
    if (c) e.append(typeof c === "string" ? clean(c) : c);
  }
  return e;
}

export function svg(name: string, attrs: Record<string, string | number> = {}, ...children: Child[]): SVGElement {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [k, v] of Object.entries(attrs)) e.setAttribute(k, String(v));
  for (const c of children) {
    if (c) e.append(typeof c === "string" ? clean(c) : c);
  }
  return e;
}

// table writes rows of text; num names the columns that hold figures.
export function table(caption: string, head: string[], rows: Child[][], num: number[] = []): HTMLElement {
  const cls = (i: number): Record<string, string> => (num.includes(i) ? { class: "num" } : {});
  const t = el("table", {}, caption ? el("caption", { class: "sr" }, caption) : null);
  t.append(el("thead", {}, el("tr", {}, ...head.map((h, i) => el("th", { scope: "col", ...cls(i) }, h)))));
  const body = el("tbody");
  for (const r of rows) {
    body.append(el("tr", {}, ...r.map((c, i) => el("td", cls(i), c))));
  }
  t.append(body);
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption || head.join(", ") }, t);
}

// folded is a table of a picture's numbers, for those who cannot see it.
export function folded(summary: string, make: () => Node): HTMLElement {
  const d = el("details", { class: "numbers" }, el("summary", {}, summary));
  d.addEventListener("toggle", () => {
    if (d.open && d.childElementCount === 1) d.append(make());
  });
  return d;
}

export const ms = (v: number): string => {
  const a = Math.abs(v);
  if (a === 0) return "0 ms";
  if (a < 0.995) return v.toFixed(2) + " ms";
  if (a < 9.95) return v.toFixed(1) + " ms";
  if (a < 999.5) return v.toFixed(0) + " ms";
  if (a < 9995) return (v / 1000).toFixed(2) + " s";
  if (a < 99950) return (v / 1000).toFixed(1) + " s";
  return (v / 1000).toFixed(0) + " s";
};

export const num = (v: number): string =>
  Number.isInteger(v) || Math.abs(v) >= 100 ? Math.round(v).toLocaleString("en-US") : v.toFixed(Math.abs(v) >= 1 ? 1 : 2);
