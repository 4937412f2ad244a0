// What both generations of the TypeScript SDK do for the matrix: connect, list
// everything, read, get and call what the plan says, and print the answers as
// they came off the wire, next to proof that the SDK accepted them.
//
// The answers are taken from the transport and not from the SDK's return
// values, because those have already been through its schemas.
import { readFileSync } from 'node:fs';
import { connect as connectSocket } from 'node:net';

export const plan = JSON.parse(readFileSync(process.argv[2], 'utf8'));

/** Newline-delimited JSON over a Unix socket, in the shape of an SDK transport. */
export class SocketTransport {
  constructor(path) {
    this.path = path;
  }

  async start() {
    this.socket = connectSocket(this.path);
    let rest = '';
    this.socket.setEncoding('utf8');
    this.socket.on('data', chunk => {
      rest += chunk;
      for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n')) {
        const line = rest.slice(0, end);
        rest = rest.slice(end + 1);
        if (line.trim() !== '') this.onmessage?.(JSON.parse(line));
      }
    });
    this.socket.on('error', error => this.onerror?.(error));
    this.socket.on('close', () => this.onclose?.());
    await new Promise((resolve, reject) => this.socket.once('connect', resolve).once('error', reject));
  }

  async send(message) {
    this.socket.write(`${JSON.stringify(message)}\n`);
  }

  async close() {
    this.socket.end();
  }
}

/** Keeps every response that reaches the client. */
function tap(transport) {
  const seen = [];
  let inner;
  Object.defineProperty(transport, 'onmessage', {
    configurable: true,
    get: () => inner,
    set: handler => {
      inner =
        handler &&
        ((message, extra) => {
          if ('result' in message || 'error' in message) seen.push(structuredClone(message));
          return handler(message, extra);
        });
    },
  });
  return seen;
}

/** Runs the plan and prints one JSON document. */
export async function run(client, transport, rawRequest) {
  const seen = tap(transport);
  await client.connect(transport);
  const said = { modern: false, refusals: [] };

  const raw = async (name, act, again) => {
    seen.length = 0;
    try {
      await act();
    } catch (error) {
      said.refusals.push(`${name}: ${error.message}`);
      if (seen.length === 0 && again) await again().catch(() => {});
    }
    said.modern ||= seen.some(({ result }) => result?.resultType !== undefined);
    return seen.map(({ result, error }) => (error ? { error } : { result }));
  };
  const last = async (...args) => (await raw(...args)).at(-1) ?? { nothing: true };
  const list = async (method, field) => {
    const all = [];
    let cursor;
    do {
      const page = await last(method, () => rawRequest(method, cursor ? { cursor } : {}));
      all.push(...(page.result?.[field] ?? []));
      cursor = page.result?.nextCursor;
    } while (cursor);
    return all;
  };

  const capabilities = client.getServerCapabilities() ?? {};
  said.tools = capabilities.tools ? await list('tools/list', 'tools') : [];
  said.resources = capabilities.resources ? await list('resources/list', 'resources') : [];
  said.templates = capabilities.resources ? await list('resources/templates/list', 'resourceTemplates') : [];
  said.prompts = capabilities.prompts ? await list('prompts/list', 'prompts') : [];
  // The SDK's own listing fills the caches its calls rely on, and proves that it accepts the lists.
  if (capabilities.tools) await raw('listTools', () => client.listTools());
  said.calls = [];
  for (const call of plan.calls) {
    const params = { name: call.name, arguments: call.arguments };
    said.calls.push(await last(call.name, () => client.callTool(params), () => rawRequest('tools/call', params)));
  }
  said.reads = [];
  for (const uri of plan.reads) said.reads.push(await last(uri, () => client.readResource({ uri })));
  said.gets = [];
  for (const get of plan.gets) said.gets.push(await last(get.name, () => client.getPrompt(get)));
  await client.close();
  process.stdout.write(JSON.stringify(said), () => process.exit(0));
}
