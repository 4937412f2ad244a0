// @ai-sdk/mcp as a client of webhooks: a receiver over https, and the hub before it.
//
// One line of JSON a check on standard output. Where the hub has to be started again it says so,
// and reads the new address from standard input.

import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, request as post } from 'node:https';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const plan = JSON.parse(process.argv[2]);
const require = createRequire(`${plan.modules}/package.json`);
const { experimental_createMCPClient, createMCPClient, experimental_createMCPEventWebhook } =
  require('@ai-sdk/mcp');
const connect = createMCPClient ?? experimental_createMCPClient;
const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

async function check(name, work) {
  try {
    await work();
    say({ check: name, ok: true });
  } catch (error) {
    say({ check: name, ok: false, why: `${error?.stack ?? error}` });
  }
}

function holds(condition, why) {
  if (!condition) throw new Error(why);
}

async function until(what, condition) {
  for (let tries = 0; tries < 3000; tries += 1) {
    if (condition()) return;
    await sleep(10);
  }
  throw new Error(`${what}: ${JSON.stringify({ got: [...got.keys()], gaps, ended, errors })}`);
}

const run = promisify(execFile);

// Never blocking: a command may make the hub ask the receiver here.
async function legation(...words) {
  return (await run(plan.legation, words, { encoding: 'utf8', env: process.env })).stdout;
}

async function message(id) {
  await legation('inbox', 'post', `text of ${id}`, '--from', 'Ada Example', '--id', id);
}

// The application's store: private, and updated piece by piece.
const rows = new Map();
const store = {
  get: async (key) => rows.get(key),
  getById: async (id) => [...rows.values()].find((row) => row.id === id),
  set: async (row) => void rows.set(row.key, row),
  update: async (key, patch) => void (rows.has(key) && rows.set(key, { ...rows.get(key), ...patch })),
  delete: async (key) => void rows.delete(key),
};

const got = new Map();
const gaps = [];
const ended = [];
const errors = [];
const refusals = new Map();
const handle = experimental_createMCPEventWebhook({
  store,
  onEvent: async ({ event }) => {
    const id = event.data.id;
    const left = refusals.get(id) ?? 0;
    if (left > 0) {
      refusals.set(id, left - 1);
      throw new Error('not now');
    }
    got.set(id, [...(got.get(id) ?? []), event.eventId]);
  },
  onGap: async ({ gap }) => void gaps.push(gap),
  onTerminated: async ({ termination }) => void ended.push(termination.error),
  onError: (error) => void errors.push(`${error}`),
});

const server = createServer(
  { key: readFileSync(plan.key), cert: readFileSync(plan.certificate) },
  async (incoming, outgoing) => {
    const chunks = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const response = await handle(
      new Request(`https://localhost${incoming.url}`, {
        method: incoming.method,
        headers: incoming.headers,
        body: chunks.length > 0 ? Buffer.concat(chunks) : undefined,
      }),
    );
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.end(Buffer.from(await response.arrayBuffer()));
  },
);
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const receiver = `https://localhost:${server.address().port}/hook?tenant=a%20b`;

const open = (url) =>
  connect({
    transport: { type: 'http', url, headers: { authorization: `Bearer ${plan.token}` } },
    experimental_events: { store },
  });
let client = await open(plan.url);
let granted;

await check('the list has every event type', async () => {
  const list = await client.experimental_events.list();
  const names = list.events.map((event) => event.name).sort();
  const expected = [
    'approval.answered', 'approval.requested', 'message.edited', 'message.received',
    'task.completed',
  ];
  holds(JSON.stringify(names) === JSON.stringify(expected), JSON.stringify(names));
});

await check('a receiver is verified while it subscribes', async () => {
  granted = await client.experimental_events.subscribe({
    name: 'message.received',
    delivery: { mode: 'webhook', url: receiver },
    ttlMs: 600_000,
  });
  holds(granted.id.startsWith('sub_') && granted.truncated === false, JSON.stringify(granted));
  holds(Date.parse(granted.refreshBefore) > Date.now(), granted.refreshBefore);
});

await check('messages arrive, each under an id of its own', async () => {
  for (let nth = 0; nth < 20; nth += 1) await message(`a${nth}`);
  await until('twenty messages', () => got.size === 20);
  const ids = new Set([...got.values()].map((all) => all[0]));
  holds(ids.size === 20, `${ids.size} ids`);
});

await check('what is refused comes again under the same id', async () => {
  refusals.set('b1', 2);
  await message('b1');
  await until('the message', () => got.has('b1'));
  holds(refusals.get('b1') === 0, 'it was refused twice');
});

await check('a forged delivery is refused', async () => {
  const row = [...rows.values()][0];
  const body = JSON.stringify({ eventId: 'evt_x', name: 'message.received', timestamp: new Date().toISOString(), data: { id: 'forged' } });
  const stamp = Math.floor(Date.now() / 1000);
  const signature = createHmac('sha256', 'another secret').update(`evt_x.${stamp}.${body}`).digest('base64');
  const status = await new Promise((done, failed) => {
    const sent = post(row.delivery.url, {
      method: 'POST',
      ca: readFileSync(plan.authority),
      lookup: (_host, _options, found) => found(null, [{ address: '127.0.0.1', family: 4 }]),
      headers: {
        'content-type': 'application/json', 'webhook-id': 'evt_x', 'webhook-timestamp': `${stamp}`,
        'webhook-signature': `v1,${signature}`, 'x-mcp-subscription-id': row.id,
      },
    }, (answer) => done(answer.resume().statusCode));
    sent.on('error', failed);
    sent.end(body);
  });
  holds(status === 401 && !got.has('forged'), `status ${status}`);
});

await check('a refresh is the same subscription', async () => {
  const again = await client.experimental_events.refresh({ id: granted.id });
  holds(again.id === granted.id, `${again.id} is not ${granted.id}`);
  await message('c1');
  await until('the message after it', () => got.has('c1'));
});

await check('it goes on when the hub has been killed', async () => {
  say({ ask: 'restart' });
  const { value: url } = await input.next();
  await message('d1');
  await until('the message after it', () => got.has('d1'));
  await client.close();
  client = await open(url);
});

await check('a receiver inside that nobody allowed is refused', async () => {
  const inside = client.experimental_events.subscribe({
    name: 'message.received',
    delivery: { mode: 'webhook', url: 'https://127.0.0.1:9/hook' },
  });
  const error = await inside.then(() => undefined, (error) => error);
  holds(error?.code === -32602, `${error?.code} ${error}`);
  for (const [key, row] of rows) if (row.id === undefined) rows.delete(key);
});

await check('it is over when the client says so', async () => {
  await client.experimental_events.unsubscribe({ id: granted.id });
  holds(rows.size === 0, 'the store is empty');
  await message('e1');
  await sleep(300);
  holds(!got.has('e1'), 'nothing follows');
});

await check('it is over when the owner says so, and the client hears of it', async () => {
  const other = await client.experimental_events.subscribe({
    name: 'message.received',
    delivery: { mode: 'webhook', url: receiver },
  });
  const listed = JSON.parse(await legation('events', 'list', '--json'));
  holds(listed.subscriptions.length === 1 && listed.subscriptions[0].id === other.id, JSON.stringify(listed));
  holds(!JSON.stringify(listed).includes('tenant'), 'the list shows no path');
  await legation('events', 'test', other.id);
  await legation('events', 'rm', other.id);
  await until('the end', () => ended.length === 1);
  holds(ended[0].code === -32024 && rows.size === 0, JSON.stringify(ended));
});

await check('each message came once', async () => {
  const twice = [...got].filter(([, ids]) => new Set(ids).size !== 1);
  holds(twice.length === 0 && errors.length === 2, JSON.stringify({ twice, errors }));
});

await client.close();
server.close();
process.exit(0);
