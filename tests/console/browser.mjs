// Drives the console in a real browser, by keyboard alone: reads a command a line, answers a line of JSON.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

import { chromium } from 'playwright-core';

const AXE = readFileSync(new URL('./node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
const PATIENCE = 90_000;
/** Presses of the tab key within which everything on a page is reached. */
const TABS_MAX = 400;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
});
/** What the page complained of. */
const problems = [];
let page;
/** The page's authenticator: the session that drives it, and its id. */
let keys;

/** Returns what has the focus: its name and its role. */
const focused = () =>
  page.evaluate(() => {
    let element = document.activeElement;
    while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
    const label = element?.labels?.[0]?.textContent;
    const name = element?.getAttribute('aria-label') ?? label ?? element?.textContent ?? '';
    return { name: name.replace(/\s+/g, ' ').trim(), tag: element?.tagName ?? '' };
  });

/** Presses the tab key until something of this name has the focus. */
async function tabTo(name, tag) {
  for (let presses = 0; presses < TABS_MAX; presses += 1) {
    const found = await focused();
    if (found.name.startsWith(name) && (!tag || found.tag === tag)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`the tab key never comes to "${name}"`);
}

async function go(name) {
  await tabTo(name);
  await page.keyboard.press('Enter');
}

/** Waits until the card that asks takes an answer. */
const armed = () =>
  page.waitForSelector('article button[aria-disabled="false"]', { timeout: PATIENCE });

/** What a file has asked for beside itself. */
const requests = [];

/** Opens an empty page whose complaints are kept. */
async function blank({ scheme, width, height }) {
  const context = await browser.newContext({
    viewport: { width: width ?? 1440, height: height ?? 960 },
    colorScheme: scheme ?? 'light',
  });
  page = await context.newPage();
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
  await page.addInitScript(() => {
    // The notifications that the page raises, and what became of each.
    window.raised = [];
    const Own = window.Notification;
    window.Notification = class extends Own {
      constructor(title, options) {
        super(title, options);
        const one = { title, ...options, came: '' };
        for (const name of ['show', 'error']) this.addEventListener(name, () => (one.came = name));
        window.raised.push(one);
      }
    };
    // How long the buttons that say yes were locked, at least: whoever asks later finds them open.
    window.lockedMs = Infinity;
    const since = new WeakMap();
    new MutationObserver(() => {
      for (const button of document.querySelectorAll('article .approve')) {
        if (!since.has(button)) since.set(button, performance.now());
        if (button.getAttribute('aria-disabled') === 'true') continue;
        window.lockedMs = Math.min(window.lockedMs, performance.now() - since.get(button));
      }
    }).observe(document, { childList: true, subtree: true, attributeFilter: ['aria-disabled'] });
    document.addEventListener('securitypolicyviolation', (event) => {
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`);
    });
  });
}

const COMMANDS = {
  async open({ url, scheme, width, height }) {
    await blank({ scheme, width, height });
    await page.goto(url);
    const number = await page.waitForSelector('.number.big');
    return { number: await number.textContent() };
  },

  /** Opens a file from the disk, and tells what a person sees. */
  async file({ url }) {
    await blank({});
    page.on('request', (request) => {
      if (request.url() !== url) requests.push(request.url());
    });
    await page.goto(url);
    await page.waitForSelector('svg [role=treeitem]');
    await page.waitForSelector('.inspector dl, .inspector p');
    return {
      text: await page.innerText('main'),
      states: (await page.$$('svg g.node')).length,
      buttons: await page.$$eval('button', (all) => all.map((button) => button.textContent.trim())),
    };
  },

  async network() {
    return { requests, title: await page.title() };
  },

  /** Filters the log by a text, and tells which lines are left. */
  async filter({ text }) {
    const field = page.locator('#view input[aria-label="Text in the log"]');
    await field.fill(text);
    await page.waitForFunction(() => !document.querySelector('#view').innerText.includes('CallDenied'));
    return { text: await page.innerText('#view') };
  },

  async inside() {
    await page.waitForSelector('nav');
    // Most pages are loaded when somebody opens them.
    await page.waitForSelector('main h1');
    const kept = await page.evaluate(() => ({
      storage: localStorage.length + sessionStorage.length,
      cookies: document.cookie,
    }));
    return { ...kept, address: page.url() };
  },

  /** Looks at what waits, and at what has changed. */
  async inbox() {
    await go('Inbox');
    await page.waitForSelector('article');
    await go('What changed');
    await page.waitForSelector('article pre, article .head');
    await armed();
    const text = await page.innerText('article');
    const lockedMs = await page.evaluate(() => window.lockedMs);
    return { text, lockedMs, title: await page.title() };
  },

  /** Turns notifications on, by the button of the inbox; the browser lets the page show them. */
  async notified() {
    await page.context().grantPermissions(['notifications'], { origin: new URL(page.url()).origin });
    await go('Notify me');
    await page.waitForFunction(() => document.querySelector('main').innerText.includes('Notifications are on'));
    return {};
  },

  /** Looks at another page of the same window; Playwright otherwise has every page believe that it is looked at. */
  async away() {
    const session = await page.context().newCDPSession(page);
    await session.send('Emulation.setFocusEmulationEnabled', { enabled: false });
    await (await page.context().newPage()).bringToFront();
    return { focus: await page.evaluate(() => document.hasFocus()) };
  },

  /** Waits until the title counts so many things that wait; tells what was raised. */
  async raised({ waiting, number }) {
    await page.waitForFunction((wanted) => document.title.startsWith(`(${wanted})`), waiting);
    await page.waitForFunction((wanted) => window.raised.filter((one) => one.came).length >= wanted, number);
    return { raised: await page.evaluate(() => window.raised) };
  },

  async reject({ note }) {
    await armed();
    await go('Reject…');
    await page.waitForSelector('textarea:focus');
    await page.keyboard.type(note);
    await armed();
    await go('Reject');
    await page.waitForSelector('article', { state: 'detached' });
    return {};
  },

  async approve() {
    await armed();
    await go('Approve');
    await page.waitForSelector('article', { state: 'detached' });
    return {};
  },

  /** Types other data for the transition that is asked about. */
  async correct({ data }) {
    await armed();
    if (!(await page.$('.data textarea'))) await go('Correct the data');
    await page.waitForSelector('.data textarea');
    await tabTo('A JSON object');
    await page.keyboard.press('Control+A');
    await page.keyboard.type(data);
    const why = await page.innerText('.data .trouble');
    if (!why) await armed();
    return { why, locked: await page.getAttribute('article .approve', 'aria-disabled') };
  },

  async run({ id }) {
    await go('Runs');
    await page.waitForSelector(`a[href$="${id}"]`);
    for (let presses = 0; presses < TABS_MAX; presses += 1) {
      const href = await page.evaluate(() => document.activeElement?.getAttribute('href') ?? '');
      if (href.endsWith(id)) break;
      await page.keyboard.press('Tab');
    }
    await page.keyboard.press('Enter');
    await page.waitForSelector('input[type=range]');
    await page.waitForSelector('svg [role=treeitem]');
    return { text: await page.innerText('main') };
  },

  /** Goes back in the history until the event of this name, and tells what stands there. */
  async past({ event }) {
    await tabTo('Moment of the run');
    await page.keyboard.press('End');
    const value = () => page.getAttribute('input[type=range]', 'aria-valuetext');
    for (let steps = 0; steps < TABS_MAX; steps += 1) {
      if ((await value())?.endsWith(event)) break;
      const before = await value();
      await page.keyboard.press('ArrowLeft');
      await page.waitForFunction(
        (known) => document.querySelector('input[type=range]').getAttribute('aria-valuetext') !== known,
        before,
      );
    }
    await page.waitForSelector('.why');
    const buttons = await page.$$eval('main button', (all) =>
      all.map((button) => (button.getAttribute('aria-label') ?? button.textContent).trim()),
    );
    return {
      banner: await page.innerText('.past'),
      why: await page.innerText('.why'),
      inspector: await page.innerText('.inspector'),
      here: await page.$$eval('svg g.node.here', (all) => all.map((node) => node.getAttribute('aria-label') ?? node.textContent)),
      buttons,
    };
  },

  /** Selects the last line of the log that has this event, while the run goes on, and tells why. */
  async line({ event }) {
    await page.focus('#view [role=listbox]');
    await page.keyboard.press('End');
    const selected = () => page.innerText('#view [role=option][aria-selected=true]').catch(() => '');
    for (let steps = 0; steps < TABS_MAX && !(await selected()).includes(event); steps += 1) {
      await page.keyboard.press('ArrowUp');
      await page.waitForTimeout(100);
    }
    await page.waitForSelector('.why');
    await page.waitForSelector('.event-panel .details');
    return { text: await page.innerText('.event-panel') };
  },

  /** Lists the elements that no page of the console makes. */
  async foreign() {
    return page.evaluate(() => {
      const wanted = 'img:not([src="/icon.svg"]), iframe, object, embed, base, math, video, audio, form[action], meta[http-equiv], [onerror], [onload], [onmouseover], [onfocus], a[href^="javascript:" i], a[href^="data:" i], script:not([src])';
      const roots = [document, ...[...document.querySelectorAll('*')].map((one) => one.shadowRoot).filter(Boolean)];
      return { found: roots.flatMap((root) => [...root.querySelectorAll(wanted)].map((one) => one.outerHTML.slice(0, 160))) };
    });
  },

  /** Goes on back in the history until the log line that is selected says this. */
  async back({ text }) {
    await tabTo('Moment of the run');
    for (let steps = 0; steps < TABS_MAX; steps += 1) {
      if ((await page.innerText('.event-panel')).includes(text)) return {};
      await page.keyboard.press('ArrowLeft');
      // What is selected is loaded once the scrubber rests.
      await page.waitForTimeout(400);
    }
    throw new Error(`no event says "${text}"`);
  },

  /** Looks at the selected call, and at the same call in another state. */
  async call({ state }) {
    await page.waitForSelector('.event-panel .details');
    await tabTo('The same call in another state');
    await page.keyboard.type(state);
    await page.waitForSelector('.elsewhere .verdict');
    return { details: await page.innerText('.details'), elsewhere: await page.innerText('.elsewhere') };
  },

  /** Opens a tab of a run: the first has the focus, arrow keys go to the others. */
  async tab({ name, wait }) {
    await page.focus('[role=tab][aria-selected=true]');
    for (let presses = 0; presses < 5; presses += 1) {
      if ((await focused()).name === name) break;
      await page.keyboard.press('ArrowRight');
    }
    await page.waitForSelector(`#view ${wait}`);
    return {};
  },

  async text({ of }) {
    return { text: await page.innerText(of) };
  },

  /** Goes down the flame with the arrow keys. */
  async flame() {
    await page.focus('#view [role=treeitem][tabindex="0"]');
    const level = () => page.evaluate(() => document.activeElement?.getAttribute('aria-level'));
    const levels = [];
    for (let steps = 0; steps < 9; steps += 1) {
      const now = await level();
      if (now === levels.at(-1)) break;
      levels.push(now);
      await page.keyboard.press('ArrowDown');
    }
    await page.keyboard.press('Enter');
    await page.waitForSelector('#view [role=treeitem][aria-selected=true]');
    await page.keyboard.press('Escape');
    return { levels };
  },

  /** Opens a workflow of the list. */
  async workflow({ name }) {
    await tabTo(name, 'A');
    await page.keyboard.press('Enter');
    await page.waitForSelector(`main h1:text-is("${name}")`);
    // A change of the page moves the focus to its heading, also where the page is loaded late.
    await page.waitForFunction(() => document.activeElement === document.querySelector('main h1'));
    await page.waitForSelector('.cm-content');
    await page.waitForSelector('svg [role=treeitem]');
    return {};
  },

  /** Selects a state in the graph with the arrow keys. */
  async state({ name }) {
    const role = () => page.evaluate(() => document.activeElement?.getAttribute('role'));
    for (let presses = 0; presses < TABS_MAX && (await role()) !== 'treeitem'; presses += 1) await page.keyboard.press('Tab');
    await page.keyboard.press('Home');
    for (let steps = 0; steps < 20; steps += 1) {
      if ((await focused()).name.startsWith(name)) break;
      await page.keyboard.press('ArrowDown');
    }
    await page.keyboard.press('Enter');
    await page.waitForSelector(`svg [role=treeitem][aria-selected=true]`);
    return {};
  },

  /** Types into a field instead of what stands there, and leaves it. */
  async field({ name, value, tag }) {
    await tabTo(name, tag ?? 'INPUT');
    await page.keyboard.press('Control+A');
    await page.keyboard.type(value);
    await page.keyboard.press('Tab');
    return {};
  },

  async value({ name }) {
    await tabTo(name, 'INPUT');
    return { value: await page.evaluate(() => document.activeElement.value) };
  },

  async go({ name, tag }) {
    await tabTo(name, tag);
    await page.keyboard.press('Enter');
    return {};
  },

  /** Puts the cursor into the text of a workflow, behind its end. */
  async write({ text }) {
    await tabTo('Text of');
    await page.keyboard.press('Control+End');
    await page.keyboard.type(text);
    return {};
  },

  async keys({ keys }) {
    for (const key of keys) await page.keyboard.press(key);
    return {};
  },

  /** Waits until the text in the editor is this one; tells what is there. */
  async source({ text }) {
    const read = () => page.$$eval('.cm-content .cm-line', (lines) => lines.map((line) => line.textContent).join('\n'));
    for (let times = 0; times < 100 && (await read()) !== text; times += 1) await page.waitForTimeout(50);
    return { text: await read() };
  },

  /** Waits until the text in the editor holds this. */
  async holds({ text }) {
    await page.locator('.cm-content').filter({ hasText: text }).waitFor();
    return {};
  },

  /** Returns what is proposed where the cursor is. */
  async proposals() {
    await page.waitForSelector('.cm-tooltip-autocomplete li');
    return { names: await page.$$eval('.cm-tooltip-autocomplete li', (all) => all.map((one) => one.textContent)) };
  },

  async waits({ of, text }) {
    await page.waitForFunction(
      ([where, wanted]) => {
        const element = document.querySelector(where);
        return (element?.innerText ?? element?.textContent ?? '').includes(wanted);
      },
      [of, text],
    );
    return {};
  },

  async page({ name, wait }) {
    await tabTo(name, 'A');
    await page.keyboard.press('Enter');
    await page.waitForSelector(`main h1:text-is("${name}")`);
    await page.waitForSelector(`main ${wait}`);
    return {};
  },

  async press({ name, text }) {
    await go(name);
    await page.waitForFunction((wanted) => document.querySelector('main').innerText.includes(wanted), text);
    return {};
  },

  async look({ path, scheme, width }) {
    const size = page.viewportSize();
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: 960 });
    await page.waitForTimeout(400);
    await page.screenshot({ path, fullPage: true });
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme: 'light' });
    return {};
  },

  /** Takes a picture of the page from its top; `height`: more of it than the window shows. */
  async shot({ path, scheme, height }) {
    const size = page.viewportSize();
    await page.emulateMedia({ colorScheme: scheme ?? 'light' });
    if (height) await page.setViewportSize({ width: size.width, height });
    await page.evaluate(() => window.scrollTo(0, 0));
    // What fades in is there.
    await page.waitForTimeout(400);
    await page.screenshot({ path });
    if (height) await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme: 'light' });
    return {};
  },

  /** Follows a link by its address. */
  async link({ href }) {
    const at = () => page.evaluate(() => document.activeElement?.getAttribute('href') ?? '');
    await page.waitForSelector(`a[href$="${href}"]`);
    for (let presses = 0; presses < TABS_MAX && !(await at()).endsWith(href); presses += 1) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    return {};
  },

  /** Chooses in a list that folds, by typing. */
  async choose({ name, value }) {
    await page.waitForFunction((wanted) => [...document.querySelectorAll('option')].some((one) => one.text.startsWith(wanted)), value);
    await tabTo(name, 'SELECT');
    await page.keyboard.type(value);
    await page.keyboard.press('Tab');
    return {};
  },

  /** Clicks, as with a mouse. */
  async click({ on }) {
    await page.click(on);
    return {};
  },

  /** Tells which row of two runs is looked at, and what stands there. */
  async row() {
    await page.waitForSelector('.line[aria-selected=true]');
    return {
      row: await page.innerText('.line[aria-selected=true]'),
      status: (await page.innerText('.steps [role=status]')).trim(),
    };
  },

  /** Waits until there are so many elements, and tells their names. */
  async counts({ of, number }) {
    await page.waitForFunction(([what, wanted]) => document.querySelectorAll(what).length === wanted, [of, number]);
    return { names: await page.$$eval(of, (all) => all.map((one) => one.querySelector('title')?.textContent ?? one.textContent)) };
  },

  async scroll({ to }) {
    await page.evaluate((y) => window.scrollTo(0, y), to);
    return {};
  },

  /** Looks at a page in both colours and at its narrowest: what axe finds, and what sticks out. */
  async examine({ hash }) {
    const found = [];
    if (hash) {
      await page.evaluate((to) => (location.hash = to), hash);
      await page.waitForTimeout(600);
      // Most pages are loaded when they are opened.
      await page.waitForSelector('main h1');
    }
    const size = page.viewportSize();
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      // A second session that ends would take the authenticator with it.
      const session = keys?.session ?? (await page.context().newCDPSession(page));
      const script = `${AXE};axe.run(document,{resultTypes:['violations']}).then(r=>JSON.stringify(r.violations.map(v=>v.id+': '+v.nodes.map(n=>n.html.slice(0,120)).join(' | '))))`;
      const { result } = await session.send('Runtime.evaluate', {
        expression: script,
        awaitPromise: true,
        returnByValue: true,
      });
      found.push(...JSON.parse(result.value ?? '["axe did not run"]').map((one) => `${colorScheme}: ${one}`));
      if (session !== keys?.session) await session.detach();
    }
    // Forced colours and no motion: nothing is there by colour alone, and nothing moves.
    await page.emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' });
    await page.waitForTimeout(100);
    const moving = await page.evaluate(() => document.getAnimations().filter(({ playState }) => playState === 'running').length);
    if (moving > 0) found.push(`${moving} animations with reduced motion`);
    const unseen = await page.evaluate(() =>
      [...document.querySelectorAll('main button, main a')]
        .filter((one) => one.checkVisibility() && one.getBoundingClientRect().width > 0)
        .filter((one) => {
          const { color, backgroundColor } = getComputedStyle(one);
          return color === backgroundColor;
        })
        .map((one) => one.textContent.trim()),
    );
    if (unseen.length > 0) found.push(`not seen with forced colours: ${unseen.join(', ')}`);
    await page.emulateMedia({ forcedColors: 'none', reducedMotion: 'no-preference' });
    await page.setViewportSize({ width: 360, height: 800 });
    await page.waitForTimeout(200);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    if (wide > 360) found.push(`${wide} wide in a window of 360`);
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme: 'light' });
    return { found };
  },

  /** Goes to another console's page, which asks to be let in. */
  async visit({ url }) {
    await page.goto(url);
    const number = await page.waitForSelector('.number.big');
    return { number: await number.textContent() };
  },

  /** Gives the page an authenticator that has no passkey yet, in place of any other; returns the passkeys that the other had. */
  async authenticator() {
    const session = keys?.session ?? (await page.context().newCDPSession(page));
    let credentials = [];
    if (keys) {
      ({ credentials } = await session.send('WebAuthn.getCredentials', { authenticatorId: keys.id }));
      await session.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId: keys.id });
    } else {
      await session.send('WebAuthn.enable');
    }
    const options = {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    };
    const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', { options });
    keys = { session, id: authenticatorId };
    return { credentials };
  },

  /** Gives the authenticator passkeys that another one had. */
  async passkeys({ credentials }) {
    for (const credential of credentials) {
      await keys.session.send('WebAuthn.addCredential', { authenticatorId: keys.id, credential });
    }
    return {};
  },

  /** Tells whether the authenticator will know who touches it. */
  async verifies({ verified }) {
    await keys.session.send('WebAuthn.setUserVerified', { authenticatorId: keys.id, isUserVerified: verified });
    return {};
  },

  /** Presses a button, and tells what is said then. */
  async said({ name, of }) {
    await go(name);
    await page.waitForFunction((where) => document.querySelector(where)?.textContent.trim(), of);
    return { text: await page.innerText(of) };
  },

  /** Says yes with a passkey that the browser does not give, and tells what the card says. */
  async approveInVain() {
    await armed();
    await go('Approve with a passkey');
    await page.waitForFunction(() => document.querySelector('article footer .trouble[role=status]:last-child')?.textContent.trim());
    return { text: await page.innerText('article footer .trouble[role=status]:last-child') };
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
    const body = await page?.innerText('body').catch(() => '');
    answer = { error: `${name}: ${error.message}\n${body}` };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await browser.close();
