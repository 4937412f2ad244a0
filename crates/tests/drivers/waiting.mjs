// The TypeScript SDK in the modern era, as a client that waits for messages in a task. The SDK
// declares the extension and passes its methods on, but has no word for a result that is a task:
// that one is taken from the transport.
import { readFileSync } from 'node:fs';

const plan = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const { Client, StreamableHTTPClientTransport } = await import(`${plan.sdk}/dist/index.mjs`);
const say = said => process.stdout.write(`${JSON.stringify(said)}\n`);
const anything = { '~standard': { version: 1, vendor: 'legation', validate: value => ({ value }) } };

const transport = new StreamableHTTPClientTransport(new URL(plan.url), {
  requestInit: { headers: { authorization: `Bearer ${plan.token}` } },
});
let begun;
let inner;
Object.defineProperty(transport, 'onmessage', {
  configurable: true,
  get: () => inner,
  set: handler => {
    inner = (message, extra) => {
      if (message.result?.resultType === 'task') begun = message.result;
      return handler?.(message, extra);
    };
  },
});
const client = new Client(
  { name: 'waiting', version: '1.0.0' },
  {
    capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } },
    versionNegotiation: { mode: 'auto' },
  },
);
await client.connect(transport);
const call = { name: 'inbox-wait', arguments: {} };
const refused = await client.request({ method: 'tools/call', params: call }, anything).catch(error => error);
if (begun === undefined) throw refused;
say({ task: begun });
for (;;) {
  const params = { taskId: begun.taskId };
  const task = await client.request({ method: 'tasks/get', params }, anything);
  if (task.status !== 'working') {
    say({ ended: task });
    break;
  }
  await new Promise(resolve => setTimeout(resolve, task.pollIntervalMs / 4));
}
await client.close();
process.exit(0);
