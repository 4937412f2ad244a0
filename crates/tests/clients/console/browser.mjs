// A real browser at the console: let in, asked, told, refused. Only clicks and keys, but for what
// another program does to the hub meanwhile.

import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';

import {
  PATIENCE, ask, browser, check, good, goto, holds, legation, link, page, plan, run, same, shown, state, submit, text, trouble,
} from './common.mjs';

const SECTIONS = ['/', '/servers', '/approvals', '/inbox', '/tasks', '/desk', '/models', '/governance', '/ledger'];

/** A call of an agent's that cannot ask its person. */
const call = async (name, args) => {
  const post = async (body, session) => {
    const answer = await fetch(`${plan.url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${plan.token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(session ? { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' } : {}),
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...body }),
    });
    const said = await answer.text();
    const json = said.startsWith('{') ? said : said.split('\n').filter((line) => line.startsWith('data: ')).at(-1)?.slice(6);
    return [answer.headers.get('mcp-session-id'), json ? JSON.parse(json) : null];
  };
  const clientInfo = { name: 'console-test', version: '1.0.0' };
  const [session] = await post({
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo },
  });
  await post({ method: 'notifications/initialized' }, session);
  const [, answer] = await post({ id: 2, method: 'tools/call', params: { name, arguments: args } }, session);
  return answer;
};

check('nobody is let in without a link', async () => {
  for (const path of [...SECTIONS, '/definitions', '/live', '/tasks/x', '/ledger/calls/x']) {
    same([path, await goto(path)], [path, 401]);
  }
  holds((await text()).includes('legation console'), await text());
  await good('outside');
});

check('a link lets one browser in, once', async () => {
  const url = link();
  await page.goto(url);
  await shown('This hub');
  same(new URL(page.url()).pathname, '/');
  const stranger = await (await browser.createBrowserContext()).newPage();
  await stranger.goto(url);
  await stranger.waitForFunction(() => document.body.innerText.includes('was used'), PATIENCE);
  same(await stranger.goto(`${plan.url}/`).then((answer) => answer.status()), 401);
  const cookies = await browser.cookies();
  const own = cookies.find((cookie) => cookie.name.startsWith('legation-'));
  same([own.httpOnly, own.sameSite, own.path], [true, 'Strict', '/']);
  state.cookie = own;
});

check('every page is there, whole, readable and narrow enough', async () => {
  for (const path of SECTIONS) {
    same([path, await goto(path)], [path, 200]);
    await good(path === '/' ? 'overview' : path);
  }
  same(await goto('/servers/notes'), 200);
  holds((await text()).includes('Writes a note'), await text());
  await good('server');
});

check('the pages work with keys alone', async () => {
  await goto('/');
  await page.keyboard.press('Tab');
  same(await page.evaluate(() => document.activeElement.textContent), 'Skip to the content');
  await page.keyboard.press('Enter');
  same(await page.evaluate(() => document.activeElement.id), 'main');
  const bare = await page.$$eval('input:not([type=hidden]),select,textarea', (fields) =>
    fields.filter((field) => field.labels.length === 0).map((field) => field.name));
  same(bare, []);
});

const waits = async (note) => {
  const answer = await call('notes-write', { note });
  const id = answer.result?.structuredContent?.approval_id;
  holds(id, answer);
  return id;
};

check('a question comes by itself, shows what it is about, and is approved', async () => {
  await goto('/approvals');
  holds((await text()).includes('Nothing waits for you'), await text());
  const id = await waits('<b>buy</b> milk & bread');
  await shown(id);
  const card = await page.$eval(`[id="${id}"]`, (card) => card.innerText);
  for (const words of ['notes/write', '<b>buy</b> milk & bread', 'Digest']) holds(card.includes(words), card);
  await good('approvals with a question');
  await submit(`[id="${id}"] button[value=once]`);
  holds((await text()).includes('was approved (once)'), await text());
  const done = await call('notes-write', { note: '<b>buy</b> milk & bread' });
  holds(JSON.stringify(done).includes('write was done'), done);
});

check('a question is denied', async () => {
  const id = await waits('never');
  await goto('/approvals');
  await submit(`[id="${id}"] button[value=deny]`);
  holds((await text()).includes('was denied'), await text());
  const refused = await call('notes-write', { note: 'never' });
  holds(!JSON.stringify(refused).includes('was done'), refused);
});

check('what changes before a page hears of changes is shown as well', async () => {
  let hold;
  const held = new Promise((ready) => {
    hold = (request) => { if (request.url().includes('/live')) ready(request); else request.continue(); };
  });
  page.on('request', hold);
  await page.setRequestInterception(true);
  await goto('/approvals');
  const id = await waits('early');
  await (await held).continue();
  await shown(id);
  await page.setRequestInterception(false);
  page.off('request', hold);
  await submit(`[id="${id}"] button[value=deny]`);
});

check('what is no longer what was looked at is not approved', async () => {
  const id = await waits('later');
  await goto('/approvals');
  await page.$eval(`[id="${id}"] input[name=digest]`, (field) => { field.value = 'f'.repeat(64); });
  await submit(`[id="${id}"] button[value=once]`);
  holds((await text()).includes('no longer what you looked at'), await text());
  await submit(`[id="${id}"] button[value=deny]`);
});

check('the provider is changed, and a change is tried first', async () => {
  await goto('/models');
  await page.select('#default', 'disabled');
  await submit('button[value=try]');
  holds((await text()).includes('It would be changed'), await text());
  same(JSON.parse(legation(['models', 'list', '--configured', '--json'])).default_provider, 'local_model');
  await page.select('#default', 'disabled');
  await submit('button[value=change]');
  holds((await text()).includes('preferences were changed'), await text());
  same(JSON.parse(legation(['models', 'list', '--configured', '--json'])).default_provider, 'disabled');
  await page.select('#default', 'local_model');
  await submit('button[value=change]');
  await page.type('#explain-entity', 'personal');
  await submit('button[name=explain]');
  holds((await text()).includes('local_model'), await text());
  await good('models explained');
});

check('a tool that changed is looked at and accepted', async () => {
  const tools = JSON.parse(readFileSync(plan.tools, 'utf8'));
  tools.find((tool) => tool.name === 'read').description = 'Reads a note, <i>and every file</i>';
  await goto('/servers');
  // The server reads it whenever it is asked: never half of it.
  writeFileSync(`${plan.tools}.new`, JSON.stringify(tools));
  renameSync(`${plan.tools}.new`, plan.tools);
  await shown('1 definition to review');
  await goto('/definitions');
  const diff = await page.$eval('.diff', (diff) => diff.innerText);
  for (const line of ['-   "description": "Reads a note"', '+   "description": "Reads a note, <i>and every file</i>"']) {
    holds(diff.includes(line), diff);
  }
  await good('definitions');
  await submit('button[value=yes]');
  holds((await text()).includes('was accepted'), await text());
  holds((await text()).includes('Nothing waits to be reviewed'), await text());
});

check('a task is handed in and followed as it is worked on', async () => {
  await goto('/tasks');
  await page.type('#message', 'HOLD alpha beta gamma');
  await submit('form[action="/tasks"] button');
  holds(page.url().includes('/sessions/'), page.url());
  const writing = () => page.$eval('#writing', (writing) => (writing.hidden ? '' : writing.innerText));
  await page.waitForFunction(() => document.querySelector('#writing').innerText.includes('alpha'), PATIENCE);
  holds(!(await writing()).includes('gamma'), await writing());
  await ask('let go');
  // What was being written is an entry now.
  await page.waitForFunction(
    () => [...document.querySelectorAll('#conversation li:not(.mine)')].some((entry) => entry.innerText.includes('gamma')), PATIENCE);
  same(await writing(), '');
  await good('conversation');
  await page.reload();
  holds((await text()).includes('alpha beta gamma'), await text());
});

check('the desk says what it has', async () => {
  same(await goto('/desk'), 200);
  same(await page.$eval('h1', (title) => title.innerText), 'Brief');
  for (const part of ['digest', 'deals', 'triage', 'calendar']) same([part, await goto(`/desk/${part}`)], [part, 200]);
});

check('rules are explained and other rules are tried', async () => {
  await goto('/governance');
  await page.type('#call', 'notes/write');
  await submit('button[value=decide]');
  holds((await text()).includes('A person would be asked'), await text());
  await good('governance explained');
  await page.type('#rules', 'version = 1\n\n[[rule]]\nid = "no-notes"\nrule = \'deny notes/*\'\n');
  await submit('form[action="/governance/replay"] button');
  holds((await text()).includes('decided again'), await text());
  await good('replay');
});

check('the ledger is searched and verified', async () => {
  await goto('/ledger?server=notes&kind=intent');
  holds((await text()).includes('notes/write'), await text());
  await submit('td a[href^="/ledger/calls/"]');
  holds((await text()).includes('definition'), await text());
  await good('call');
  await goto('/ledger');
  await page.waitForSelector('svg[role=img] rect', PATIENCE);
  await submit('form[action="/ledger/verify"] button');
  holds((await text()).includes('The ledger is intact'), await text());
  await good('verified');
});

check('another page can neither send a form nor frame the console', async () => {
  const server = createServer((_, answer) => {
    answer.setHeader('content-type', 'text/html');
    answer.end(`<form id="f" method="post" action="${plan.url}/logout"></form><iframe src="${plan.url}/"></iframe>
      <script>document.getElementById('f').submit()</script>`);
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  const { port } = server.address();
  // The same host with another port is the same site: the browser brings the cookie along.
  for (const host of ['127.0.0.1', 'localhost']) {
    state.foreign = `http://${host}:${port}`;
    const other = await browser.newPage();
    await other.goto(state.foreign, { waitUntil: 'networkidle0' });
    holds(!(await other.content()).includes('Sign out'), await other.content());
    await other.close();
  }
  server.close();
  same(await goto('/'), 200);
  // Without the token, from the console's own page.
  await page.$eval('form.leave input[name=csrf]', (field) => { field.value = 'x'; });
  await submit('form.leave button');
  holds((await text()).includes('not of this session'), await text());
  same(await goto('/'), 200);
});

check('a cookie of another hub opens nothing', async () => {
  const context = await browser.createBrowserContext();
  const other = await context.newPage();
  await other.goto(link(plan.other_home));
  await other.waitForFunction(() => document.body.innerText.includes('This hub'), PATIENCE);
  const theirs = (await context.cookies()).find((cookie) => cookie.name.startsWith('legation-'));
  holds(theirs.name !== state.cookie.name, 'two hubs share the name of a cookie');
  for (const name of [theirs.name, state.cookie.name]) {
    const answer = await fetch(`${plan.url}/`, { headers: { cookie: `${name}=${theirs.value}` } });
    same([name, answer.status], [name, 401]);
  }
  const ours = await fetch(`${plan.url}/`, { headers: { cookie: `${state.cookie.name}=${state.cookie.value}` } });
  same(ours.status, 200);
  const policy = ours.headers.get('content-security-policy');
  holds(policy.includes("default-src 'none'") && policy.includes("frame-ancestors 'none'"), policy);
});

check('without a script everything but the changes is there', async () => {
  await page.setJavaScriptEnabled(false);
  const id = await waits('quiet');
  await goto('/approvals');
  await submit(`[id="${id}"] button[value=once]`);
  holds((await text()).includes('was approved'), await text());
  await page.setJavaScriptEnabled(true);
});

check('whoever signs out is out, and nothing went wrong or elsewhere', async () => {
  await goto('/');
  await submit('form.leave button');
  same(await goto('/'), 401);
  same(trouble, []);
});

await run();
