// Measures the page of the console in a real browser; prints one object of JSON. `cargo xtask bench browser` starts it:
// node load.mjs URL LONG_RUN OTHER_LONG_RUN LARGE_RUN
import { chromium } from 'playwright-core';

const [url, long, other, large] = process.argv.slice(2);
const PATIENCE = 180_000;
const STEPS = 60;
const PAN_MS = 4_000;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--enable-precise-memory-info', '--js-flags=--expose-gc'],
});
const page = await browser.newPage({ viewport: { width: 1440, height: 960 } });
page.setDefaultTimeout(PATIENCE);
const cdp = await page.context().newCDPSession(page);
await cdp.send('Performance.enable');

/** Returns the used memory of the page in KiB, and how many elements it has. */
async function weight() {
  await page.evaluate(() => globalThis.gc?.());
  const { metrics } = await cdp.send('Performance.getMetrics');
  const of = (name) => metrics.find((one) => one.name === name)?.value ?? 0;
  return { kib: Math.round(of('JSHeapUsedSize') / 1024), elements: of('Nodes') };
}

/** Goes to an address of the page, and returns how many milliseconds it took until all of these are there and painted. */
const open = (hash, wanted) =>
  page.evaluate(
    async ([to, selectors]) => {
      const begun = performance.now();
      location.hash = to;
      const there = () => selectors.every((one) => document.querySelector(one));
      await new Promise((done) => {
        const look = () => (there() ? done() : setTimeout(look, 2));
        setTimeout(look, 0);
      });
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      return performance.now() - begun;
    },
    [hash, wanted],
  );

const sorted = (times) => [...times].sort((one, two) => one - two);
const at = (times, share) => sorted(times)[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;

/** Presses a key, and returns how long it took until the page shows another moment. */
const step = (key) =>
  page.evaluate(
    async (pressed) => {
      const range = document.querySelector('input[type=range]');
      // An odd number of events further on the run is paused where it went on, or the other way round.
      const shown = () => document.querySelector('.inspector')?.textContent;
      const before = shown();
      const begun = performance.now();
      const to = Number(range.value) + pressed;
      range.value = String(to);
      range.dispatchEvent(new Event('input', { bubbles: true }));
      range.dispatchEvent(new Event('change', { bubbles: true }));
      await new Promise((done) => {
        const look = () => (shown() !== before ? done() : setTimeout(look, 1));
        look();
      });
      await new Promise((done) => requestAnimationFrame(done));
      return performance.now() - begun;
    },
    key,
  );

/** Collects the gaps between frames until it is told to stop. */
const watchFrames = () =>
  page.evaluate(() => {
    window.gaps = [];
    window.watching = true;
    let last = performance.now();
    const frame = (now) => {
      window.gaps.push(now - last);
      last = now;
      if (window.watching) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
const frames = async () => {
  const gaps = await page.evaluate(() => {
    window.watching = false;
    return window.gaps.slice(1);
  });
  // A frame that is late by more than half of a sixtieth of a second has missed one.
  const kept = gaps.filter((gap) => gap < 25).length;
  return { frames: gaps.length, kept: gaps.length > 0 ? kept / gaps.length : 0, p95: at(gaps, 0.95), longest: at(gaps, 1) };
};

const found = {};
await page.goto(url);
await page.waitForSelector('nav');
const empty = await weight();

found.open = await open(`#/runs/${long}`, ['input[type=range]', 'svg [role=treeitem]', '.inspector dl, .inspector p', '#view [role=option], #view li, #view .line']);
found.opened = await weight();

const back = [];
for (let count = 0; count < STEPS; count += 1) back.push(await step(-1));
found.step = { median: at(back, 0.5), p95: at(back, 0.95) };
const far = [];
for (let count = 0; count < STEPS; count += 1) far.push(await step(count % 2 === 0 ? -40_001 - 2 * count : 39_001 + 2 * count));
found.jump = { median: at(far, 0.5), p95: at(far, 0.95) };

// The log is gone through from end to end, and the run scrubbed, twenty times: memory stays where it was.
const scrubbed = await weight();
for (let round = 0; round < 20; round += 1) {
  await page.evaluate(async (share) => {
    const list = [...document.querySelectorAll('#view *')].find((one) => one.scrollHeight > one.clientHeight + 1000);
    if (list) list.scrollTop = list.scrollHeight * share;
    await new Promise((done) => setTimeout(done, 60));
  }, round / 20);
  await step(round % 2 === 0 ? -7_001 : 6_501);
}
found.memory = { empty, scrubbed, later: await weight() };

found.compare = await open(`#/compare/${long}/${other}`, ['.line', 'svg [role=treeitem]']);
await watchFrames();
await page.keyboard.press('n');
await page.waitForTimeout(500);
found.compareFrames = await frames();

found.whatIf = await open(`#/runs/${long}/what-if?workflow=bugfix`, ['main dl.ends']);

found.large = await open(`#/runs/${large}`, ['svg [role=treeitem]', '.inspector']);
const canvas = await page.locator('.canvas').boundingBox();
const middle = [canvas.x + canvas.width / 2, canvas.y + canvas.height / 2];
await page.mouse.move(...middle);
await page.mouse.down();
await watchFrames();
const begun = Date.now();
for (let count = 0; Date.now() - begun < PAN_MS; count += 1) {
  const angle = count / 12;
  await page.mouse.move(middle[0] + Math.cos(angle) * 180, middle[1] + Math.sin(angle) * 180);
}
await page.mouse.up();
found.pan = await frames();
found.elements = (await weight()).elements;

await browser.close();
process.stdout.write(`${JSON.stringify(found)}\n`);
