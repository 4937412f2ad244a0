// A server of the TypeScript SDK that wants a sign-in, with the SDK's own guard before it.
//
// Its tool says whose token came with the call; everything that was refused, and every audience
// that a token named, is kept and said too.
import { createRequire } from 'node:module';
import { createServer } from 'node:http';

const plan = JSON.parse(process.argv[2]);
const require = createRequire(`${plan.modules}/package.json`);
const sdk = (path) => require(`@modelcontextprotocol/sdk/${path}`);
const { McpServer } = sdk('server/mcp.js');
const { StreamableHTTPServerTransport } = sdk('server/streamableHttp.js');
const { requireBearerAuth } = sdk('server/auth/middleware/bearerAuth.js');
const { mcpAuthMetadataRouter, getOAuthProtectedResourceMetadataUrl } = sdk('server/auth/router.js');
const { InvalidTokenError } = sdk('server/auth/errors.js');
const express = require('express');
const { createRemoteJWKSet, jwtVerify, decodeJwt } = require('jose');

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const app = express();
const http = createServer(app);
await new Promise((done) => http.listen(0, '127.0.0.1', done));
const url = new URL(`http://127.0.0.1:${http.address().port}/upstream`);
const described = await (await fetch(`${plan.issuer}/.well-known/openid-configuration`)).json();
const keys = createRemoteJWKSet(new URL(described.jwks_uri));

const audiences = new Set();
let refused = 0;
const verifyAccessToken = async (token) => {
  try {
    audiences.add(decodeJwt(token).aud);
  } catch {
    audiences.add('unreadable');
  }
  try {
    const { payload } = await jwtVerify(token, keys, {
      issuer: plan.issuer, audience: url.href, clockTolerance: 1,
    });
    return {
      token, clientId: payload.client_id, scopes: (payload.scope ?? '').split(' '),
      expiresAt: payload.exp + 1, extra: { sub: payload.sub, aud: payload.aud },
    };
  } catch (error) {
    refused += 1;
    throw new InvalidTokenError(`${error.code}`);
  }
};

app.use(mcpAuthMetadataRouter({ oauthMetadata: described, resourceServerUrl: url, scopesSupported: plan.scopes }));
app.use(express.json());
const guard = requireBearerAuth({
  verifier: { verifyAccessToken },
  requiredScopes: plan.scopes,
  resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(url),
});

app.post('/upstream', guard, async (request, response) => {
  const server = new McpServer({ name: 'guarded', version: '1.0.0' });
  server.registerTool('whose', { description: 'Whose token came', annotations: { readOnlyHint: true } }, ({ authInfo }) => ({
    content: [{
      type: 'text',
      text: JSON.stringify({
        sub: authInfo.extra.sub, aud: authInfo.extra.aud, client: authInfo.clientId,
        audiences: [...audiences], refused,
      }),
    }],
  }));
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  response.on('close', () => {
    transport.close();
    server.close();
  });
  await server.connect(transport);
  await transport.handleRequest(request, response, request.body);
});
app.all('/upstream', guard, (_request, response) => response.status(405).end());

say({ url: url.href });
