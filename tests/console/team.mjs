// Drives the console of a team in a real browser, each person in a window of their own: reads a command a line, answers a
// line of JSON.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

import { chromium } from 'playwright-core';

const AXE = readFileSync(new URL('./node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
const PATIENCE = 60_000;
/** Presses of the tab key within which everything on a page is reached. */
const TABS_MAX = 200;
const NARROW = 400;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});

/** What pages complained of, and every request that they sent. */
const problems = [];
const requests = [];
const pages = new Map();

const ARMED = 'article form button.approve[aria-disabled="false"]';

/** Returns the name of what has the focus. */
const focused = (page) =>
  page.evaluate(() => {
    const element = document.activeElement;
    const name = element?.getAttribute('aria-label') ?? element?.labels?.[0]?.textContent ?? element?.textContent ?? '';
    return name.replace(/\s+/g, ' ').trim();
  });

/** Presses the tab key until something of this name has the focus. */
async function tabTo(page, name) {
  for (let presses = 0; presses < TABS_MAX; presses += 1) {
    if ((await focused(page)).startsWith(name)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`the tab key never comes to "${name}"`);
}

async function press(page, name) {
  await tabTo(page, name);
  await page.keyboard.press('Enter');
}

const contains = (page, of, text) =>
  page.waitForFunction(([where, wanted]) => document.querySelector(where)?.innerText.includes(wanted), [of, text]);

const COMMANDS = {
  /** Opens a window for a person. */
  async open({ who, url, headers, wait }) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, acceptDownloads: true, extraHTTPHeaders: headers ?? {} });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE);
    page.on('console', (message) => {
      // What a refused answer logs by itself is no mistake of the page.
      const refused = message.text().startsWith('Failed to load resource');
      if (['error', 'warning'].includes(message.type()) && !refused) problems.push(message.text());
    });
    page.on('pageerror', (error) => problems.push(`uncaught: ${error.message}`));
    page.on('dialog', (dialog) => {
      problems.push(`dialog: ${dialog.message()}`);
      return dialog.dismiss();
    });
    page.on('request', (request) => requests.push({ who, method: request.method(), url: request.url(), body: request.postData() }));
    await page.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
    });
    pages.set(who, page);
    await page.goto(url);
    await page.waitForSelector(wait ?? 'main h1');
    return {};
  },

  /** Pastes a token, by keyboard alone. */
  async paste({ who, token }) {
    const page = pages.get(who);
    await tabTo(page, 'Token of a person');
    await page.keyboard.type(token);
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.querySelector('nav') || document.querySelector('.trouble')?.textContent);
    return { inside: (await page.$('nav')) !== null, text: await page.innerText('main') };
  },

  /** Finds the issuers of a tenant, and signs in at the first. */
  async signIn({ who, tenant }) {
    const page = pages.get(who);
    await tabTo(page, 'Tenant');
    await page.keyboard.type(tenant);
    await page.keyboard.press('Enter');
    await page.waitForSelector('section li button');
    await press(page, 'Sign in at');
    await page.waitForSelector('nav');
    return { address: page.url(), person: await page.innerText('header .who') };
  },

  /** Tells what the browser keeps, and where the page is. */
  async kept({ who }) {
    const page = pages.get(who);
    const kept = await page.evaluate(() => ({ local: localStorage.length, session: Object.keys(sessionStorage), cookies: document.cookie }));
    return { ...kept, address: page.url(), title: await page.title() };
  },

  /** Puts into the tab what a sign-in of its own would keep. */
  async plant({ who, issuer }) {
    const pending = { tenant: 'acme', issuer, state: 'own', verifier: 'v', secret: 's', hash: '' };
    await pages.get(who).evaluate((kept) => sessionStorage.setItem('interlock.sign-in', kept), JSON.stringify(pending));
    return {};
  },

  async reload({ who, wait }) {
    await pages.get(who).reload();
    await pages.get(who).waitForSelector(wait);
    return {};
  },

  async visit({ who, url, of, text }) {
    await pages.get(who).goto(url);
    await contains(pages.get(who), of, text);
    return { address: pages.get(who).url() };
  },

  async go({ who, hash, wait }) {
    const page = pages.get(who);
    await page.evaluate((to) => (location.hash = to), hash);
    await page.waitForSelector(wait);
    return { text: await page.innerText('main') };
  },

  async press({ who, name }) {
    await press(pages.get(who), name);
    return {};
  },

  async waits({ who, of, text }) {
    await contains(pages.get(who), of, text);
    return { text: await pages.get(who).innerText(of) };
  },

  async gone({ who, of }) {
    await pages.get(who).waitForSelector(of, { state: 'detached' });
    return {};
  },

  /** Answers the first card, by keyboard alone; tells what is said then. */
  async answer({ who, choice, note }) {
    const page = pages.get(who);
    await page.waitForSelector(ARMED);
    const before = await page.innerText('article');
    const known = await page.textContent('main .done');
    await press(page, `${choice}…`);
    // The note has the focus, or the button where none can be given.
    await page.waitForSelector('article textarea:focus, article form button:focus');
    if (note) await page.keyboard.type(note);
    await page.waitForSelector('article form button[aria-disabled="false"]');
    await press(page, choice);
    const said = await page.waitForFunction((known) => {
      const done = document.querySelector('main .done')?.textContent;
      return document.querySelector('article .trouble')?.textContent || (done !== known && done);
    }, known);
    return { before, said: await said.jsonValue() };
  },

  /** Keeps everything from the page that it has not read yet. */
  async freeze({ who }) {
    await pages.get(who).waitForSelector(ARMED);
    await pages.get(who).route('**/v1/**', (route) => (route.request().method() === 'GET' ? undefined : route.continue()));
    return {};
  },

  async thaw({ who }) {
    await pages.get(who).unrouteAll({ behavior: 'ignoreErrors' });
    return {};
  },

  /** Presses the button that saves the audit; tells what was saved. */
  async download({ who }) {
    const page = pages.get(who);
    const saved = page.waitForEvent('download');
    await press(page, 'Download the audit');
    const file = await saved;
    return { name: file.suggestedFilename(), text: readFileSync(await file.path(), 'utf8') };
  },

  /** Lists the elements that no page of the console makes. */
  async foreign({ who }) {
    const found = await pages.get(who).evaluate(() => {
      const wanted = 'img:not([src="/icon.svg"]), iframe, object, embed, base, math, video, audio, form[action], meta[http-equiv], [onerror], [onload], a[href^="javascript:" i], a[href^="data:" i], script:not([src])';
      return [...document.querySelectorAll(wanted)].map((one) => one.outerHTML.slice(0, 160));
    });
    return { found };
  },

  /** Looks at a page in both colours and in a narrow window: what axe finds, and what sticks out. */
  async examine({ who, shot }) {
    const page = pages.get(who);
    const found = [];
    const size = page.viewportSize();
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      const session = await page.context().newCDPSession(page);
      const expression = `${AXE};axe.run(document,{resultTypes:['violations']}).then(r=>JSON.stringify(r.violations.map(v=>v.id+': '+v.nodes.map(n=>n.html.slice(0,120)).join(' | '))))`;
      const { result } = await session.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
      found.push(...JSON.parse(result.value ?? '["axe did not run"]').map((one) => `${colorScheme}: ${one}`));
      await session.detach();
      if (shot) await page.screenshot({ path: `${shot}-${colorScheme}.png`, fullPage: true });
    }
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize({ width: NARROW, height: 800 });
    await page.waitForFunction((width) => innerWidth === width, NARROW);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    if (wide > NARROW) found.push(`${wide} wide in a window of ${NARROW}`);
    if (shot) await page.screenshot({ path: `${shot}-narrow.png`, fullPage: true });
    await page.setViewportSize(size);
    return { found };
  },

  async requests() {
    return { requests };
  },

  async problems() {
    return { problems };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { do: name, ...options } = JSON.parse(line);
  let answer;
  try {
    answer = await COMMANDS[name](options);
  } catch (error) {
    const body = await pages.get(options.who)?.innerText('body').catch(() => '');
    answer = { error: `${name}: ${error.message}\n${body}\n${problems.join('\n')}` };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await browser.close();
