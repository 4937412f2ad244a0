// The TypeScript SDK as a client of the delegate server: it polls a task, and has another as a
// task of the protocol, in the shape of its generation. It prints what it got.
import { plan } from './session.mjs';

const { command, args, env, cwd } = plan.transport;
const final = ['completed', 'failed', 'cancelled'];
const later = ms => new Promise(resolve => setTimeout(resolve, ms));
const chat = message => ({ name: 'chat', arguments: { message } });

/** Hands a task in and polls it to its end. */
async function polled(call) {
  let { structuredContent: task } = await call(chat('SAY polled by an SDK'));
  const first = task;
  while (!final.includes(task.status)) {
    await later(50);
    const poll = { name: 'poll_task', arguments: { task_id: task.task_id } };
    ({ structuredContent: task } = await call(poll));
  }
  return { first, last: task };
}

/** 2025-11-25, as the first generation has it. */
async function first() {
  const load = file => import(`${plan.sdk}/dist/esm/${file}`);
  const { Client } = await load('client/index.js');
  const { StdioClientTransport } = await load('client/stdio.js');
  const { CallToolResultSchema } = await load('types.js');
  const client = new Client({ name: 'delegating', version: '1.0.0' }, { capabilities: { tasks: {} } });
  await client.connect(new StdioClientTransport({ command, args, env, cwd, stderr: 'ignore' }));
  // With the list it knows what each tool answers, and holds it to that.
  const { tools } = await client.listTools();
  const poll = await polled(params => client.callTool(params));
  const steps = [];
  let result;
  const stream = client.experimental.tasks.callToolStream(chat('SAY told as a task'), CallToolResultSchema, {
    task: { ttl: 60_000 },
  });
  for await (const message of stream) {
    steps.push(message.type);
    if (message.type === 'error') throw message.error;
    if (message.type === 'result') result = message.result.structuredContent;
  }
  await client.close();
  return { tools: tools.map(tool => tool.name), ...poll, steps, result };
}

/** The extension of 2026-07-28; the second generation has no words for it yet. */
async function second() {
  const { Client } = await import(`${plan.sdk}/dist/index.mjs`);
  const { StdioClientTransport } = await import(`${plan.sdk}/dist/stdio.mjs`);
  const transport = new StdioClientTransport({ command, args, env, cwd, stderr: 'ignore' });
  const client = new Client({ name: 'delegating', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(transport);
  const { tools } = await client.listTools();
  const poll = await polled(params => client.callTool(params));
  await client.close();
  return { tools: tools.map(tool => tool.name), ...poll };
}

const told = await (plan.generation === 1 ? first() : second());
process.stdout.write(JSON.stringify(told));
process.exit(0);
