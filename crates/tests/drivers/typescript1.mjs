// The TypeScript SDK, first generation.
import { converse } from './asking.mjs';
import { SocketTransport, plan, run } from './session.mjs';

const load = file => import(`${plan.sdk}/dist/esm/${file}`);
const { Client } = await load('client/index.js');
const { StdioClientTransport } = await load('client/stdio.js');
const { StreamableHTTPClientTransport } = await load('client/streamableHttp.js');
const { ElicitRequestSchema, ResultSchema } = await load('types.js');

const { kind, command, args, env, url, token, path } = plan.transport;
const transport = {
  stdio: () => new StdioClientTransport({ command, args, env, stderr: 'ignore' }),
  http: () =>
    new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  socket: () => new SocketTransport(path),
}[kind]();
const capabilities = plan.asked ? { elicitation: {} } : {};
const client = new Client({ name: 'typescript1', version: '1.0.0' }, { capabilities });
if (plan.converse) {
  await converse(client, transport, answer => {
    if (plan.asked) client.setRequestHandler(ElicitRequestSchema, ({ params }) => answer(params));
  });
} else {
  await run(client, transport, (method, params) => client.request({ method, params }, ResultSchema));
}
