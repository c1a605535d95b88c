// What the program writes into the page (report/html_data.go). Numbers are
// made there; here they are only drawn.

export interface Curve {
  metric: string;
  n: number;
  reached: number;
  x: number[];
  y: number[];
  from: number;
  counts: number[];
}

export interface OverTime {
  step_s: number;
  t: number[];
  starts: number[];
  ends: number[];
  active: number[];
  tokens: (number | null)[];
  wide_s: number;
  w: number[];
  ttft_p50: (number | null)[];
  ttft_p90: (number | null)[];
  ttft_p95: (number | null)[];
  n: number[];
  outcomes: string[] | null;
  shares: number[][] | null;
}

export interface Dots {
  of: number;
  x: number[];
  y: number[];
}

// Trace is when the events of one answer came.
export interface Trace {
  at: number | null; // 0.1 ms of the wall clock
  steps: number[]; // 0.1 ms from one event to the next
  kinds: string; // one letter an event
}

// Worst is a trace with all that its timeline shows.
export interface Worst extends Trace {
  id: string;
  scenario: string;
  phase: string;
  outcome: string;
  reason: string;
  end: number;
  lateness: number;
  waited: number;
  marks: { name: string; at: number }[] | null;
  cut: number;
  dns?: number;
  connect?: number;
  tls?: number;
  written?: number;
  gaps?: { from: number; to: number; open: boolean; phase: string; stall: boolean }[];
}

export interface Series {
  streams: number;
  events: number;
  kept: number;
  kept_events: number;
  traces: Trace[];
  worst: Worst[] | null;
  gap_n: number;
  gap_from: number;
  gap_counts: number[];
  gap_dots: Dots;
}

export interface Shown {
  facts: string[];
  target: string;
  gates: string[][];
  rules: string[][];
  health: string[][];
  scenarios: { name: string; note: string; rows: string[][] }[];
  inflation: string[][];
  outcomes: string[][];
  silence: string[][];
  phases: string[][];
  started: string;
}

export interface Page {
  run: {
    verdict: string;
    health: { verdict?: string; reasons?: string[] } | null;
    warnings: string[];
    run: { id: string };
    partial: boolean;
  };
  word: string;
  title: string;
  shown: Shown;
  curves: { name: string; curves: Curve[] }[];
  time: OverTime | null;
  input: Dots;
  stall_ms: number;
  series: Series | null;
  metrics: { name: string; unit: string; doc: string }[];
  start: number;
  plan?: string;
}

// load reads the data out of the page. What is large is gzip in base64.
export async function load(): Promise<Page> {
  const el = document.getElementById("data")!;
  const text = el.textContent ?? "";
  if (el.dataset["form"] !== "gzip") {
    return JSON.parse(text) as Page;
  }
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text()) as Page;
}
