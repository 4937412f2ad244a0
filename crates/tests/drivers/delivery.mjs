// The TypeScript SDK in the modern era, as a client that listens: pulls until nothing is left, then
// waits to be told, and says all it gets, one line each. It begins anew whenever something breaks.
import { readFileSync } from 'node:fs';

const plan = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const { Client, StreamableHTTPClientTransport } = await import(`${plan.sdk}/dist/index.mjs`);
const say = said => process.stdout.write(`${JSON.stringify(said)}\n`);
const later = ms => new Promise(resolve => setTimeout(resolve, ms));
let last;

async function session() {
  const transport = new StreamableHTTPClientTransport(new URL(plan.url), {
    requestInit: { headers: { authorization: `Bearer ${plan.token}` } },
  });
  const client = new Client({ name: 'delivery', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
  let told = 0;
  let tell = () => {};
  client.setNotificationHandler('notifications/resources/updated', notification => {
    told += 1;
    say({ pushed: notification });
    tell();
  });
  try {
    await client.connect(transport);
    const listening = await client.listen({ resourceSubscriptions: ['legation://inbox'] });
    let open = true;
    listening.closed.then(() => {
      open = false;
      tell();
    });
    say({ ready: true });
    while (open) {
      const before = told;
      const pull = { name: 'inbox-pull', arguments: last === undefined ? {} : { since_id: last } };
      const { messages } = (await client.callTool(pull)).structuredContent;
      if (messages.length > 0) {
        last = messages.at(-1).id;
        say({ pulled: messages });
      } else if (open && told === before) {
        await Promise.race([new Promise(resolve => (tell = resolve)), later(10_000)]);
      }
    }
  } finally {
    await client.close().catch(() => {});
  }
}

process.stdin.on('end', () => process.exit(0)).resume();
while (true) {
  await session().catch(error => say({ broke: String(error) }));
  await later(200);
}
