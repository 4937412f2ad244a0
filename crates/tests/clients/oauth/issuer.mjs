// An authorization server that others wrote (`oidc-provider`): refresh tokens rotate, and the
// second use of one revokes its whole family; access tokens are JWTs for the resource that was
// asked for, with the lifetime that the plan says.
//
// One line of JSON for everything that happens on standard output; the first says where it is.
import { createRequire } from 'node:module';
import { createServer } from 'node:http';

const plan = JSON.parse(process.argv[2]);
const { default: Provider } = await import(
  createRequire(`${plan.modules}/package.json`).resolve('oidc-provider'));

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const server = createServer();
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const issuer = `http://127.0.0.1:${server.address().port}`;
const lifetimes = plan.lifetimes ?? {};
// One that nobody here knows besides.
const scopes = [...plan.scopes, 'other'];

const provider = new Provider(issuer, {
  cookies: { keys: ['only for tests'] },
  clientDefaults: { grant_types: ['authorization_code', 'refresh_token'] },
  features: {
    registration: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_ctx, resource) => ({
        scope: scopes.join(' '),
        audience: resource,
        accessTokenFormat: 'jwt',
        accessTokenTTL: Object.entries(lifetimes).find(([of]) => resource.endsWith(of))?.[1] ?? 300,
        jwt: { sign: { alg: 'RS256' } },
      }),
      useGrantedResource: () => true,
    },
  },
  findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  rotateRefreshToken: true,
  scopes: ['openid', 'offline_access', ...scopes],
});

const registered = new Set();
provider.on('registration_create.success', (_ctx, client) => {
  registered.add(client.clientId);
  say({ happened: 'registered', client: client.clientId });
});
provider.on('grant.success', (ctx) =>
  say({ happened: ctx.oidc.params.grant_type, client: ctx.oidc.client.clientId }));
provider.on('grant.error', (_ctx, error) => say({ happened: 'grant.error', error: error.error, why: error.error_detail }));
provider.on('grant.revoked', () => say({ happened: 'grant.revoked' }));
provider.on('server_error', (_ctx, error) => say({ happened: 'server_error', why: `${error.stack}` }));

// What the test wants of it.
provider.use(async (ctx, next) => {
  if (ctx.path !== '/control/forget') return next();
  for (const id of registered) await provider.Client.adapter.destroy(id);
  ctx.body = { forgotten: registered.size };
  registered.clear();
});

server.on('request', provider.callback());
say({ issuer });
