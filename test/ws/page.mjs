// Opens examples/ws.html in Chromium, asks twice, stops once:
// node page.mjs CHROMIUM PLAYWRIGHT PAGE-URL. One JSON object says what came.
import { pathToFileURL } from 'node:url'
const [executablePath, playwright, url] = process.argv.slice(2)
const { chromium } = await import(pathToFileURL(playwright + '/index.mjs').href)
const args = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage']
const browser = await chromium.launch({ executablePath, args, timeout: 60_000 })
const page = await browser.newPage()
const seen = { errors: [], answers: [], states: [] }
page.on('pageerror', e => seen.errors.push(String(e)))
await page.goto(url)
const state = words => page.waitForFunction(w => w.some(x => document.querySelector('#state').textContent.startsWith(x)), words, { timeout: 60_000 })
const text = id => page.evaluate(i => document.querySelector(i).textContent, id)
await state(['connected', 'closed'])
seen.states.push(await text('#state'))
if (seen.states[0] === 'connected') {
  for (const stop of [false, false, true]) {
    await page.evaluate(() => { document.querySelector('#state').textContent = '' })
    await page.click('form button')
    if (stop) {
      await page.waitForFunction(() => document.querySelector('#answer').textContent !== '')
      await page.click('#stop')
    }
    await state(['done', 'cancelled', 'error', 'broken'])
    seen.states.push(await text('#state'))
    seen.answers.push(await text('#answer'))
  }
}
console.log(JSON.stringify(seen))
await browser.close()
