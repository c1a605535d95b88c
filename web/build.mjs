// Bundles the page of a report into report/assets, from where the Go program
// embeds it. No source map and no licence file beside it: the page is one file.
import { build } from "esbuild";

await build({
  entryPoints: { report: "src/main.ts" },
  bundle: true,
  minify: true,
  charset: "utf8",
  format: "iife",
  target: ["chrome110", "firefox113", "safari16.4"],
  legalComments: "inline",
  outdir: "../report/assets",
  logLevel: "warning",
});
