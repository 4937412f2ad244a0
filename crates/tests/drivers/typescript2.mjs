// The TypeScript SDK, second generation, in either era.
import { converse } from './asking.mjs';
import { SocketTransport, plan, run } from './session.mjs';

const { Client, StreamableHTTPClientTransport } = await import(`${plan.sdk}/dist/index.mjs`);
const { StdioClientTransport } = await import(`${plan.sdk}/dist/stdio.mjs`);

const { kind, command, args, env, url, token, path } = plan.transport;
const transport = {
  stdio: () => new StdioClientTransport({ command, args, env, stderr: 'ignore' }),
  http: () =>
    new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  socket: () => new SocketTransport(path),
}[kind]();
const mode = plan.era === 'modern' ? 'auto' : 'legacy';
const client = new Client(
  { name: 'typescript2', version: '1.0.0' },
  { capabilities: plan.asked ? { elicitation: {} } : {}, versionNegotiation: { mode } },
);
const anything = { '~standard': { version: 1, vendor: 'legation', validate: value => ({ value }) } };
if (plan.converse) {
  await converse(client, transport, answer => {
    if (plan.asked) client.setRequestHandler('elicitation/create', ({ params }) => answer(params));
  });
} else {
  await run(client, transport, (method, params) => client.request({ method, params }, anything));
}
