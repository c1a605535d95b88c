// Runs the script of the README in a page of Chromium:
// node page.mjs CHROMIUM PLAYWRIGHT PAGE-URL. What it showed, as JSON.
import { pathToFileURL } from 'node:url'
const [executablePath, playwright, url] = process.argv.slice(2)
const { chromium } = await import(pathToFileURL(playwright + '/index.mjs').href)
const args = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage']
const browser = await chromium.launch({ executablePath, args, timeout: 60_000 })
const page = await browser.newPage()
await page.goto(url)
await page.waitForFunction(() => shown.length > 0 && !shown.at(-1).startsWith('{') && shown.at(-1) !== '[DONE]' || socket.readyState === 3, null, { timeout: 60_000 })
console.log(JSON.stringify(await page.evaluate(() => shown)))
await browser.close()
