// Opens report pages in Chromium and says what a person would have noticed:
// errors, requests to the network, what overflows, how long it took.
// node page.mjs CHROMIUM DIR [SHOTS]: every DIR/*.html; one JSON object a line.
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, dir, shots] = process.argv.slice(2);
const args = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--force-color-profile=srgb"];
const browser = await chromium.launch({ executablePath, args, timeout: 60_000 });

async function visit(file, lang, theme) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: lang === "zh" ? "zh-CN" : "en-US", colorScheme: theme });
  const page = await context.newPage();
  const seen = { page: basename(file, ".html"), lang, theme, errors: [], requests: [] };
  page.on("console", (m) => m.type() !== "log" && seen.errors.push(m.text()));
  page.on("pageerror", (e) => seen.errors.push(String(e)));
  page.on("dialog", (d) => (seen.errors.push("dialog: " + d.message()), d.dismiss()));
  page.on("request", (r) => !r.url().startsWith("file://") && seen.requests.push(r.url()));
  const began = Date.now();
  await page.goto(pathToFileURL(file).href);
  await page.waitForSelector("html[data-ready]", { timeout: 60_000 });
  seen.ready_ms = Date.now() - began;
  // A zoom redraws every picture that shares the time axis.
  const shared = () => page.evaluate(() => document.querySelector("#time .chart canvas")?.toDataURL() ?? "");
  const before = await shared();
  seen.zoom_ms = await page.evaluate(async () => {
    const box = document.querySelector("#arrivals .chart");
    if (!box) return 0;
    const t = performance.now();
    box.dispatchEvent(new KeyboardEvent("keydown", { key: "+" }));
    await new Promise((r) => requestAnimationFrame(() => setTimeout(r)));
    return performance.now() - t;
  });
  seen.linked = (await shared()) !== before;
  await page.evaluate(() => document.querySelector("#arrivals .chart")?.dispatchEvent(new KeyboardEvent("keydown", { key: "0" })));
  Object.assign(seen, await page.evaluate(() => ({
    title: document.title,
    text: document.body.innerText,
    html_lang: document.documentElement.lang,
    overflow: document.documentElement.scrollWidth - innerWidth,
    charts: document.querySelectorAll(".chart canvas").length,
    scripts: document.scripts.length,
    images: document.images.length,
  })));
  if (shots) await page.screenshot({ path: join(shots, `${seen.page}-${lang}-${theme}.png`), fullPage: true });
  // Other curves can be chosen.
  const choice = page.locator("#firsts select");
  if (await choice.count()) {
    const first = () => page.evaluate(() => document.querySelector("#firsts .chart canvas")?.toDataURL() ?? "");
    const was = await first();
    await choice.selectOption("1");
    seen.chosen = (await first()) !== was;
  }
  // The download is what the json format gives.
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator("nav button").first().click()]);
  seen.download = download.suggestedFilename();
  // Theme and language draw the page anew, and the address keeps them.
  await page.locator("nav button").nth(1).click();
  await page.locator("nav button").nth(2).click();
  seen.other_lang = await page.evaluate(() => document.documentElement.lang);
  seen.hash = new URL(page.url()).hash;
  await context.close();
  return seen;
}

for (const name of readdirSync(dir).filter((f) => f.endsWith(".html")).sort()) {
  for (const [lang, theme] of [["en", "light"], ["zh", "dark"]]) {
    console.log(JSON.stringify(await visit(join(dir, name), lang, theme)));
  }
}
await browser.close();
