// A real browser at the console, and what every test with one does: let in, look, press, judge.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

export const plan = JSON.parse(process.argv[2]);
const require = createRequire(`${plan.browser}/`);
const chromium = require('@sparticuz/chromium').default;
const puppeteer = require('puppeteer-core');
const AXE = readFileSync(createRequire(`${plan.axe}/`).resolve('axe-core/axe.min.js'), 'utf8');

const WIDE = { width: 1280, height: 900 };
const PHONE = { width: 360, height: 740 };
export const PATIENCE = { timeout: 60_000 };

export const browser = await puppeteer.launch({
  // One process for all cannot hold a second person's windows.
  args: chromium.args.filter((flag) => flag !== '--single-process' && flag !== '--no-zygote'),
  defaultViewport: WIDE,
  executablePath: await chromium.executablePath(),
  headless: 'shell',
});
export const page = await browser.newPage();
export const trouble = [];
page.on('pageerror', (error) => trouble.push(`${error}`));
page.on('console', (message) => {
  // A refusal is a page here; a violated policy is trouble.
  if (message.type() === 'error' && !message.text().startsWith('Failed to load')) trouble.push(message.text());
});
page.on('request', (request) => {
  const url = new URL(request.url());
  if (url.protocol !== 'data:' && url.origin !== plan.url && url.origin !== state.foreign) trouble.push(`asked for ${url}`);
});

export const state = {};
const checks = [];
export const check = (name, body) => checks.push([name, body]);
export const holds = (condition, what) => {
  if (!condition) throw new Error(typeof what === 'string' ? what : JSON.stringify(what));
};
export const same = (actual, expected) => {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${a} and not ${b}`);
};
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
/** Asks the test for something; what it answers. */
export const ask = async (what) => {
  process.stdout.write(JSON.stringify({ ask: what }) + '\n');
  return (await answers.next()).value;
};

export const legation = (words, home = plan.home) =>
  execFileSync(plan.legation, words, { encoding: 'utf8', env: { ...process.env, LEGATION_HOME: home } });
export const link = (home) => JSON.parse(legation(['console', '--no-open', '--json'], home)).url;
export const goto = async (path) => (await page.goto(`${plan.url}${path}`)).status();
export const text = () => page.$eval('main', (main) => main.innerText);
export const submit = (selector) => Promise.all([page.waitForNavigation(PATIENCE), page.click(selector)]);
export const shown = (words) =>
  page.waitForFunction((words) => document.body.innerText.includes(words), PATIENCE, words);

/** No rule of accessibility is broken, nothing is wider than the window: light, dark, on a phone. */
export const good = async (name) => {
  for (const scheme of ['light', 'dark']) {
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    for (const size of [WIDE, PHONE]) {
      await page.setViewport(size);
      const wide = await page.evaluate(async () => {
        await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
        return document.documentElement.scrollWidth - window.innerWidth;
      });
      const at = `${name} ${scheme} ${size.width}`;
      if (process.env.SCREENSHOTS) {
        mkdirSync(process.env.SCREENSHOTS, { recursive: true });
        await page.screenshot({ path: `${process.env.SCREENSHOTS}/${at.replaceAll(/[^a-z0-9]+/gi, '-')}.png`, fullPage: true });
      }
      holds(wide <= 0, `${at}: ${wide} px too wide`);
      await page.evaluate(AXE);
      const found = await page.evaluate(async () => {
        const { violations } = await globalThis.axe.run(document, {
          runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
        });
        return violations.map(({ id, nodes }) => [id, nodes.slice(0, 3).map(({ html }) => html.slice(0, 160))]);
      });
      same([at, found], [at, []]);
    }
  }
  await page.setViewport(WIDE);
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'light' }]);
};

/** Makes every check, and tells the test of each. */
export const run = async () => {
  for (const [name, body] of checks) {
    let why = null;
    try {
      await body();
    } catch (error) {
      why = `${error.name}: ${error.message}`.slice(0, 1500);
    }
    process.stdout.write(JSON.stringify({ check: name, ok: why === null, why }) + '\n');
  }
  await browser.close();
  process.exit(0);
};
