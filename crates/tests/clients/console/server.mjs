// A server on standard input and output whose tools a file describes; it says so when they change.

import { readFileSync, watchFile } from 'node:fs';
import { createInterface } from 'node:readline';

const file = process.argv[2];
const tools = () => JSON.parse(readFileSync(file, 'utf8'));
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: 'notes', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: tools() }),
  'tools/call': ({ name }) => ({ content: [{ type: 'text', text: `${name} was done` }] }),
};

watchFile(file, { interval: 50 }, () => say({ method: 'notifications/tools/list_changed' }));
createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    const answer = answers[method];
    if (answer) say({ id, result: answer(params ?? {}) });
    else say({ id, error: { code: -32601, message: 'Method not found' } });
  })
  .on('close', () => process.exit(0));
