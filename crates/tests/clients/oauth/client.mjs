// A client of the TypeScript SDK that signs in at the hub with the SDK's own provider, as any
// client of a protected server does: it is told where by the hub, registers, sends its person to
// the page, and trades what comes back for a token.
//
// One line of JSON a check on standard output.
import { createRequire } from 'node:module';
import { browse } from './person.mjs';

const plan = JSON.parse(process.argv[2]);
const require = createRequire(`${plan.modules}/package.json`);
const sdk = (path) => require(`@modelcontextprotocol/sdk/${path}`);
const { Client } = sdk('client/index.js');
const { StreamableHTTPClientTransport } = sdk('client/streamableHttp.js');
const { UnauthorizedError } = sdk('client/auth.js');
const { decodeJwt } = require('jose');

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

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

/** What a program keeps of its sign-in. */
class Kept {
  redirectUrl = 'http://127.0.0.1:9/back';
  clientMetadata = {
    client_name: 'a program', redirect_uris: [this.redirectUrl], application_type: 'native',
    grant_types: ['authorization_code', 'refresh_token'], token_endpoint_auth_method: 'none',
  };
  #kept = {};
  page;
  clientInformation() { return this.#kept.client; }
  saveClientInformation(client) { this.#kept.client = client; }
  tokens() { return this.#kept.tokens; }
  saveTokens(tokens) { this.#kept.tokens = tokens; }
  redirectToAuthorization(page) { this.page = page; }
  saveCodeVerifier(verifier) { this.#kept.verifier = verifier; }
  codeVerifier() { return this.#kept.verifier; }
}

/** Signs in as `login` for these scopes, whatever the hub says of scopes, where some are named. */
async function signIn(login, scopes, kept = new Kept()) {
  const open = () => new StreamableHTTPClientTransport(new URL(plan.url), { authProvider: kept });
  const connect = async () => {
    const client = new Client({ name: 'a-program', version: '1.0.0' });
    await client.connect(open());
    return client;
  };
  const error = await connect().then(() => undefined, (error) => error);
  holds(error instanceof UnauthorizedError, `not asked to sign in: ${error}`);
  if (scopes) kept.page.searchParams.set('scope', scopes);
  const back = new URL(await browse(kept.page.href, { login }));
  holds(back.href.startsWith(kept.redirectUrl), back.href);
  const code = back.searchParams.get('code');
  holds(code, back.href);
  await open().finishAuth(code);
  return { kept, connect };
}

/** A client that asks for nothing that the hub names. */
async function register(metadata) {
  const answer = await fetch(`${plan.issuer}/reg`, {
    method: 'POST', body: JSON.stringify(metadata), headers: { 'content-type': 'application/json' },
  });
  holds(answer.status === 201, `${answer.status}`);
  return answer.json();
}

/** A token of `login` for something else than the hub. */
async function tokenFor(login, resource) {
  const kept = new Kept();
  const transport = new StreamableHTTPClientTransport(new URL(plan.url), { authProvider: kept });
  await new Client({ name: 'a-program', version: '1.0.0' }).connect(transport).catch(() => {});
  kept.page.searchParams.set('resource', resource);
  const back = new URL(await browse(kept.page.href, { login }));
  const answer = await fetch(`${plan.issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code', code: back.searchParams.get('code'), resource,
      redirect_uri: kept.redirectUrl, code_verifier: kept.codeVerifier(),
      client_id: kept.clientInformation().client_id,
    }),
  });
  const { access_token: token } = await answer.json();
  holds(decodeJwt(token).aud === resource, token);
  return token;
}

const post = (token, body = { jsonrpc: '2.0', id: 1, method: 'tools/list' }) =>
  fetch(plan.url, {
    method: 'POST', body: JSON.stringify(body),
    headers: {
      'content-type': 'application/json', accept: 'application/json, text/event-stream',
      ...(token && { authorization: `Bearer ${token}` }),
    },
  });

const whose = async (client) =>
  JSON.parse((await client.callTool({ name: 'guarded-whose', arguments: {} })).content[0].text);

let editor;
await check('a client signs in, lists and calls', async () => {
  editor = await signIn('alex', undefined);
  const claims = decodeJwt(editor.kept.tokens().access_token);
  holds(claims.aud === plan.url && claims.sub === 'alex', JSON.stringify(claims));
  const client = await editor.connect();
  const names = (await client.listTools()).tools.map((tool) => tool.name);
  holds(names.includes('guarded-whose'), JSON.stringify(names));
  const seen = await whose(client);
  // Behind the hub is the hub's own sign-in, and nobody's token but that.
  holds(seen.aud === plan.upstream && seen.client !== claims.client_id, JSON.stringify(seen));
  holds(JSON.stringify(seen.audiences) === JSON.stringify([plan.upstream]), JSON.stringify(seen));
  await client.close();
});

await check('what rules allow hangs on the scope', async () => {
  const reader = await signIn('alex', 'mcp:read offline_access');
  const client = await reader.connect();
  const names = (await client.listTools()).tools.map((tool) => tool.name);
  holds(names.includes('guarded-whose') && names.every((name) => name.startsWith('guarded-')), JSON.stringify(names));
  await client.close();
  const all = await editor.connect();
  const more = (await all.listTools()).tools.map((tool) => tool.name);
  holds(more.some((name) => !name.startsWith('guarded-')), JSON.stringify(more));
  await all.close();
});

await check('a token without any scope is told which', async () => {
  const registered = new Kept();
  registered.saveClientInformation(await register({ ...registered.clientMetadata, scope: 'other' }));
  const nobody = await signIn('sam', 'other', registered);
  const answer = await post(nobody.kept.tokens().access_token);
  const challenge = answer.headers.get('www-authenticate');
  holds(answer.status === 403, `${answer.status} ${await answer.text()}`);
  holds(challenge.includes('error="insufficient_scope"') && challenge.includes('scope="mcp:write mcp:read"'), challenge);
});

await check('a token for another resource opens nothing', async () => {
  const answer = await post(await tokenFor('alex', plan.upstream));
  const challenge = answer.headers.get('www-authenticate');
  holds(answer.status === 401 && challenge.includes('error="invalid_token"'), `${answer.status} ${challenge}`);
  const metadata = challenge.match(/resource_metadata="([^"]*)"/)[1];
  const document = await (await fetch(metadata)).json();
  holds(document.resource === plan.url && document.authorization_servers[0] === plan.issuer, JSON.stringify(document));
});

await check('a token that was changed opens nothing', async () => {
  const [header, claims, signature] = editor.kept.tokens().access_token.split('.');
  const forged = Buffer.from(JSON.stringify({ ...decodeJwt(`${header}.${claims}.${signature}`), sub: 'owner' }));
  const none = Buffer.from(JSON.stringify({ alg: 'none', typ: 'at+jwt' })).toString('base64url');
  for (const token of [
    `${header}.${forged.toString('base64url')}.${signature}`, `${none}.${claims}.`, `${header}.${claims}.`, `${header}.${claims}`,
  ]) {
    const answer = await post(token);
    holds(answer.status === 401, `${answer.status} for ${token.slice(0, 40)}`);
  }
});

await check('it opens MCP and nothing else', async () => {
  const token = editor.kept.tokens().access_token;
  const answer = await fetch(new URL('/api/v1/servers', plan.url), { headers: { authorization: `Bearer ${token}` } });
  holds([401, 403].includes(answer.status), `${answer.status}`);
});

await check("the hub's own token goes on working here", async () => {
  const client = new Client({ name: 'own', version: '1.0.0' });
  const headers = { authorization: `Bearer ${plan.token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(plan.url), { requestInit: { headers } }));
  const seen = await whose(client);
  holds(seen.aud === plan.upstream, JSON.stringify(seen));
  await client.close();
});
process.exit(0);
