// msal-node and @azure/identity against the tenant, unchanged but for the address and the
// authority.

import { createHash, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { ENV, EXCHANGE, GRAPH, check, claims, fails, holds, human, require, runAll, same } from './common.mjs';

const msal = require('@azure/msal-node');
const identity = require('@azure/identity');

const auth = (clientId, more = {}) => ({
  auth: {
    clientId,
    authority: ENV.AUTHORITY,
    knownAuthorities: [new URL(ENV.AUTHORITY_HOST).host],
    ...more,
  },
});
const publicApp = () => new msal.PublicClientApplication(auth(ENV.CLIENT_ID));
const confidential = (clientId, more) => new msal.ConfidentialClientApplication(auth(clientId, more));
const byDevice = (app, scopes, decision = 'approve') =>
  app.acquireTokenByDeviceCode({
    scopes,
    deviceCodeCallback: ({ userCode }) => human.decide(userCode, decision),
  });

const state = {};

check('device code signs a person in', async () => {
  state.app = publicApp();
  state.answer = await byDevice(state.app, [`${GRAPH}/User.Read`]);
  same(claims(state.answer.accessToken).oid, ENV.HUMAN_ID);
  same(state.answer.account.homeAccountId, `${ENV.HUMAN_ID}.${ENV.TENANT_ID}`);
});

check('a silent request comes from the cache, a forced one refreshes', async () => {
  const request = { account: state.answer.account, scopes: [`${GRAPH}/User.Read`] };
  const cached = await state.app.acquireTokenSilent(request);
  same(cached.accessToken, state.answer.accessToken);
  const forced = await state.app.acquireTokenSilent({ ...request, forceRefresh: true });
  holds(forced.accessToken !== cached.accessToken, 'a new token');
});

check('another resource comes with the same refresh token', async () => {
  const answer = await state.app.acquireTokenSilent({
    account: state.answer.account,
    scopes: [`api://${ENV.API_CLIENT_ID}/access_as_user`],
  });
  same(claims(answer.accessToken).aud, ENV.API_CLIENT_ID);
  state.incoming = answer.accessToken;
});

check('a declined code is told', () =>
  fails(byDevice(publicApp(), [`${GRAPH}/User.Read`], 'decline'), (error) =>
    holds(`${error.errorCode} ${error.errorMessage}`.includes('authorization_declined'), error.message)));

check('a second factor is asked for with claims', () =>
  fails(
    state.app.acquireTokenSilent({ account: state.answer.account, scopes: [`${GRAPH}/Mfa.Needed`] }),
    (error) => {
      same(error.errorCode, 'interaction_required');
      holds(error.claims.includes('capolids'), error.claims);
    }));

check('confidential by secret', async () => {
  const app = confidential(ENV.API_CLIENT_ID, { clientSecret: ENV.API_CLIENT_SECRET });
  const answer = await app.acquireTokenByClientCredential({ scopes: [`${GRAPH}/.default`] });
  same(claims(answer.accessToken).idtyp, 'app');
  const wrong = confidential(ENV.API_CLIENT_ID, { clientSecret: 'wrong' });
  await fails(wrong.acquireTokenByClientCredential({ scopes: [`${GRAPH}/.default`] }), (error) => {
    same(error.errorCode, 'invalid_client');
    holds(error.errorMessage.includes('7000215'), error.errorMessage);
  });
});

check('on behalf of a person', async () => {
  const app = confidential(ENV.API_CLIENT_ID, { clientSecret: ENV.API_CLIENT_SECRET });
  const answer = await app.acquireTokenOnBehalfOf({
    oboAssertion: state.incoming,
    scopes: [`${GRAPH}/User.Read`],
  });
  same(claims(answer.accessToken).oid, ENV.HUMAN_ID);
  await fails(
    app.acquireTokenOnBehalfOf({ oboAssertion: state.answer.accessToken, scopes: [`${GRAPH}/Mail.Read`] }),
    (error) => holds(error.errorMessage.includes('AADSTS500131'), error.errorMessage));
});

check('a certificate proves the blueprint', async () => {
  const pem = readFileSync(ENV.BLUEPRINT_CERT_PEM, 'utf8');
  const der = new X509Certificate(pem).raw;
  const app = confidential(ENV.BLUEPRINT_ID, {
    clientCertificate: {
      privateKey: readFileSync(ENV.BLUEPRINT_KEY_PEM, 'utf8'),
      thumbprintSha256: createHash('sha256').update(der).digest('hex'),
      x5c: pem,
    },
  });
  const answer = await app.acquireTokenByClientCredential({ scopes: [`${GRAPH}/.default`] });
  same(claims(answer.accessToken).appidacr, '2');
});

// msal-node has no call for the hops of an agent; the requests are plain ones.
const token = async (form) => {
  const answer = await fetch(`${ENV.AUTHORITY}/oauth2/v2.0/token`, {
    method: 'POST',
    body: new URLSearchParams(form),
  });
  return answer.json();
};
const assertion = (first) => ({
  client_id: ENV.AGENT_ID,
  client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  client_assertion: first,
});

check('three hops', async () => {
  const first = await token({
    grant_type: 'client_credentials',
    client_id: ENV.BLUEPRINT_ID,
    client_secret: ENV.BLUEPRINT_SECRET,
    scope: EXCHANGE,
    fmi_path: ENV.AGENT_ID,
  });
  const second = await token({
    grant_type: 'client_credentials',
    scope: EXCHANGE,
    ...assertion(first.access_token),
  });
  const third = await token({
    grant_type: 'user_fic',
    scope: `${GRAPH}/.default`,
    user_federated_identity_credential: second.access_token,
    username: ENV.AGENT_USER_UPN,
    ...assertion(first.access_token),
  });
  same(claims(third.access_token).oid, ENV.AGENT_USER_ID);
});

check('an agent by an assertion of msal-node', async () => {
  const first = await token({
    grant_type: 'client_credentials',
    client_id: ENV.BLUEPRINT_ID,
    client_secret: ENV.BLUEPRINT_SECRET,
    scope: EXCHANGE,
    fmi_path: ENV.AGENT_ID,
  });
  const agent = confidential(ENV.AGENT_ID, { clientAssertion: first.access_token });
  const answer = await agent.acquireTokenByClientCredential({ scopes: [`${GRAPH}/.default`] });
  same(claims(answer.accessToken).xms_par_app_azp, ENV.BLUEPRINT_ID);
});

check('@azure/identity by secret and by device code', async () => {
  const options = { authorityHost: ENV.AUTHORITY_HOST, disableInstanceDiscovery: true };
  const secret = new identity.ClientSecretCredential(
    ENV.TENANT_ID, ENV.API_CLIENT_ID, ENV.API_CLIENT_SECRET, options);
  same(claims((await secret.getToken(`${GRAPH}/.default`)).token).idtyp, 'app');
  const device = new identity.DeviceCodeCredential({
    ...options,
    tenantId: ENV.TENANT_ID,
    clientId: ENV.CLIENT_ID,
    userPromptCallback: ({ userCode }) => human.decide(userCode),
  });
  same(claims((await device.getToken(`${GRAPH}/User.Read`)).token).oid, ENV.HUMAN_ID);
});

await runAll();
