// Colours come from the style sheet, so that canvas and text agree.

export const fonts =
  'system-ui, -apple-system, "Segoe UI", "PingFang SC", "Hiragino Sans GB", "Microsoft YaHei", "Noto Sans CJK SC", "Source Han Sans SC", "WenQuanYi Micro Hei", sans-serif';

export const color = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim() || "#888";

// kinds are the event kinds by the letter the data uses, in the order of the
// legend, each with a colour and a shape of its own.
export const kinds: { letter: string; name: string; color: string; shape: Shape }[] = [
  { letter: "t", name: "text", color: "c1", shape: "square" },
  { letter: "r", name: "reasoning", color: "c4", shape: "triangle" },
  { letter: "f", name: "tool", color: "c2", shape: "diamond" },
  { letter: "m", name: "media", color: "c5", shape: "circle" },
  { letter: "s", name: "stage", color: "c3", shape: "plus" },
  { letter: "e", name: "error", color: "bad", shape: "cross" },
  { letter: "d", name: "done", color: "good", shape: "ring" },
  { letter: "x", name: "restart", color: "warn", shape: "cross" },
  { letter: "c", name: "connect", color: "muted", shape: "ring" },
  { letter: "h", name: "heartbeat", color: "muted", shape: "dash" },
  { letter: "u", name: "usage", color: "muted", shape: "plus" },
  { letter: "o", name: "other", color: "muted", shape: "circle" },
];

export type Shape = "square" | "triangle" | "diamond" | "circle" | "plus" | "cross" | "ring" | "dash";

// stamp draws a shape around a point, r being half its size.
export function stamp(c: CanvasRenderingContext2D, s: Shape, x: number, y: number, r: number): void {
  c.beginPath();
  switch (s) {
    case "square":
      c.fillRect(x - r, y - r, 2 * r, 2 * r);
      return;
    case "dash":
      c.fillRect(x - r, y - r / 3, 2 * r, (2 * r) / 3);
      return;
    case "triangle":
      c.moveTo(x, y - r);
      c.lineTo(x + r, y + r);
      c.lineTo(x - r, y + r);
      c.fill();
      return;
    case "diamond":
      c.moveTo(x, y - 1.2 * r);
      c.lineTo(x + 1.2 * r, y);
      c.lineTo(x, y + 1.2 * r);
      c.lineTo(x - 1.2 * r, y);
      c.fill();
      return;
    case "circle":
      c.arc(x, y, r, 0, 7);
      c.fill();
      return;
    case "ring":
      c.arc(x, y, r, 0, 7);
      c.stroke();
      return;
    case "plus":
      c.moveTo(x - r, y);
      c.lineTo(x + r, y);
      c.moveTo(x, y - r);
      c.lineTo(x, y + r);
      c.stroke();
      return;
    case "cross":
      c.moveTo(x - r, y - r);
      c.lineTo(x + r, y + r);
      c.moveTo(x - r, y + r);
      c.lineTo(x + r, y - r);
      c.stroke();
  }
}
