// A real browser at the tenant's pages: a code approved, a chat written in, a fault ordered and
// withdrawn, by clicking and typing alone.

import { execFileSync } from 'node:child_process';

import { ENV, check, holds, human, require, runAll, same } from './common.mjs';

const chromium = require('@sparticuz/chromium').default;
const puppeteer = require('puppeteer-core');

const WIDE = { width: 900, height: 1000 };
const NARROW = { width: 360, height: 740 };

const browser = await puppeteer.launch({
  args: chromium.args,
  defaultViewport: WIDE,
  executablePath: await chromium.executablePath(),
  headless: 'shell',
  // Browsers take authorities from the system's store, where the tenant's must not be put.
  acceptInsecureCerts: true,
});
const page = await browser.newPage();
const trouble = [];
page.on('pageerror', (error) => trouble.push(`${error}`));
page.on('console', (message) => {
  // A refusal is a page here; a violated policy is trouble.
  if (message.type() === 'error' && !message.text().startsWith('Failed to load')) trouble.push(message.text());
});
page.on('request', (request) => {
  const url = new URL(request.url());
  // The browser draws its own controls from data.
  if (url.protocol !== 'data:' && url.origin !== ENV.AUTHORITY_HOST) trouble.push(`asked for ${request.url()}`);
});

const form = (path, fields) =>
  fetch(`${ENV.AUTHORITY}/oauth2/v2.0/${path}`, { method: 'POST', body: new URLSearchParams(fields) }).then((answer) =>
    answer.json());
const graph = (path, options = {}) =>
  fetch(`${ENV.GRAPH_BASE}/v1.0${path}`, {
    ...options,
    headers: { authorization: `Bearer ${state.token}`, 'content-type': 'application/json' },
  });
const text = () => page.$eval('main', (main) => main.innerText);
const submit = (selector) => Promise.all([page.waitForNavigation(), page.click(selector)]);
/** Nothing is wider than the window, however narrow. */
const fits = async () => {
  for (const size of [NARROW, WIDE]) {
    await page.setViewport(size);
    const wide = await page.evaluate(async () => {
      await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
      return document.documentElement.scrollWidth - window.innerWidth;
    });
    holds(wide <= 0, `${page.url().split('?')[0]} is ${wide} px too wide at ${size.width}`);
    if (process.env.SCREENSHOTS) {
      state.shots = (state.shots ?? 0) + 1;
      await page.screenshot({ path: `${process.env.SCREENSHOTS}/${state.shots}.png`, fullPage: true });
    }
  }
};

const state = {};

check('a code is typed, read and approved', async () => {
  const scope = 'https://graph.microsoft.com/Chat.Create https://graph.microsoft.com/Chat.ReadWrite openid';
  const code = await form('devicecode', { client_id: ENV.CLIENT_ID, scope });
  await page.goto(`${ENV.AUTHORITY_HOST}/`);
  await Promise.all([page.waitForNavigation(), page.click('a[href="/device"]')]);
  await page.type('#user_code', code.user_code.toLowerCase());
  await fits();
  await submit('button');
  const shown = await text();
  holds(shown.includes('Chat.ReadWrite') && shown.includes('Legation command line'), shown);
  await fits();
  await submit('button[value=approve]');
  holds((await text()).includes('You have signed in'), await text());
  const token = await form('token', {
    client_id: ENV.CLIENT_ID,
    device_code: code.device_code,
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
  });
  holds(token.access_token, token);
  state.token = token.access_token;
});

check('a wrong code and a declined one sign nobody in', async () => {
  await page.goto(`${ENV.AUTHORITY_HOST}/device`);
  await page.type('#user_code', 'WRONGCODE');
  await submit('button');
  holds((await page.$eval('[role=alert]', (alert) => alert.innerText)).includes('did not work'), 'an alert');
  const code = await form('devicecode', { client_id: ENV.CLIENT_ID, scope: 'User.Read' });
  await page.goto(`${ENV.AUTHORITY_HOST}/device?otc=${code.user_code}`);
  await submit('button[value=decline]');
  holds((await text()).includes('declined'), await text());
});

check('the desk opens with its link and with nothing else', async () => {
  await page.goto(`${ENV.AUTHORITY_HOST}/human`);
  holds(!(await text()).includes('Alex Sample'), await text());
  const command = ENV.REVOKE_CMD.replace(/ revoke$/, ' desk');
  const link = execFileSync('/bin/sh', ['-c', command], { encoding: 'utf8' }).trim();
  await page.goto(link);
  same(new URL(page.url()).search, '', 'the token in the address');
  holds((await text()).includes('You are Alex Sample'), await text());
});

check('the human writes in a chat and the agent reads it', async () => {
  const members = [ENV.HUMAN_ID, ENV.AGENT_USER_ID].map((id) => ({
    '@odata.type': '#microsoft.graph.aadUserConversationMember',
    roles: ['owner'],
    'user@odata.bind': `https://graph.microsoft.com/v1.0/users('${id}')`,
  }));
  const made = await graph('/chats', { method: 'POST', body: JSON.stringify({ chatType: 'oneOnOne', members }) });
  const chat = await made.json();
  human.ctl('say', chat.id, '--user', ENV.AGENT_USER_ID, '<script>alert(1)</script> The build is red. Look at it now?');
  await page.reload();
  holds((await text()).includes('The build is red'), await text());
  await page.type('textarea[name=text]', 'Yes & please,\ntwice.');
  await fits();
  await submit('form:has(input[value=say]) button');
  holds((await text()).includes('Done.'), await text());
  const messages = await (await graph(`/chats/${chat.id}/messages`)).json();
  const bodies = messages.value.map((message) => message.body.content);
  holds(bodies.some((body) => body.includes('please') && body.includes('twice.')), bodies);
});

check('a fault is ordered, happens, and is withdrawn', async () => {
  await page.select('#kind', 'throttle');
  await page.type('#matching', '/chats');
  await page.type('#left', 'always');
  await page.type('#retry_after', '3');
  await submit('form:has(input[value=fault]) button');
  const answer = await graph('/chats');
  same([answer.status, answer.headers.get('retry-after')], [429, '3']);
  await fits();
  await submit('td button');
  holds(!(await text()).includes('Withdraw'), await text());
  same((await graph('/chats')).status, 200);
});

check('every field has a label, and nothing went wrong or left the tenant', async () => {
  const bare = await page.$$eval('input:not([type=hidden]),select,textarea', (fields) =>
    fields.filter((field) => field.labels.length === 0).map((field) => field.name));
  same(bare, []);
  same(trouble, []);
});

await runAll();
await browser.close();
