// @microsoft/microsoft-graph-client against the tenant.

import { ENV, EXCHANGE, GRAPH, check, fails, holds, human, require, runAll, same } from './common.mjs';

const { Client, PageIterator, BatchRequestContent, BatchResponseContent } = require('@microsoft/microsoft-graph-client');

const token = async (form) => {
  const answer = await fetch(`${ENV.AUTHORITY}/oauth2/v2.0/token`, {
    method: 'POST',
    body: new URLSearchParams(form),
  });
  return (await answer.json()).access_token;
};

async function agentToken() {
  const first = await token({
    grant_type: 'client_credentials', client_id: ENV.BLUEPRINT_ID,
    client_secret: ENV.BLUEPRINT_SECRET, scope: EXCHANGE, fmi_path: ENV.AGENT_ID,
  });
  const own = {
    client_id: ENV.AGENT_ID, client_assertion: first,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  };
  const second = await token({ grant_type: 'client_credentials', scope: EXCHANGE, ...own });
  return token({
    grant_type: 'user_fic', scope: `${GRAPH}/.default`,
    user_federated_identity_credential: second, username: ENV.AGENT_USER_UPN, ...own,
  });
}

const host = new URL(ENV.GRAPH_BASE);
const client = Client.initWithMiddleware({
  baseUrl: `${ENV.GRAPH_BASE}/`,
  defaultVersion: 'v1.0',
  customHosts: new Set([host.hostname, host.host]),
  authProvider: { getAccessToken: agentToken },
});
const state = {};

check('who am I', async () => {
  same((await client.api('/me').get()).id, ENV.AGENT_USER_ID);
  same((await client.api('/me').select('displayName').get()).userPrincipalName, undefined);
});

const bind = (id) => ({
  '@odata.type': '#microsoft.graph.aadUserConversationMember',
  roles: ['owner'],
  'user@odata.bind': `https://graph.microsoft.com/v1.0/users('${id}')`,
});

check('a chat is created once', async () => {
  const body = { chatType: 'oneOnOne', members: [bind(ENV.AGENT_USER_ID), bind(ENV.HUMAN_ID)] };
  const first = await client.api('/chats').post(body);
  same((await client.api('/chats').post(body)).id, first.id);
  state.chat = first.id;
});

check('messages are sent, polled and edited', async () => {
  const path = `/chats/${state.chat}/messages`;
  const sent = await client.api(path).post({ body: { contentType: 'html', content: '<p>hello</p>' } });
  human.say(state.chat, 'an answer');
  const found = await client.api(path).top(50).orderby('lastModifiedDateTime desc')
    .filter(`lastModifiedDateTime gt ${sent.lastModifiedDateTime}`).get();
  same(found.value.map((one) => one.body.content), ['an answer']);
  await client.api(`${path}/${sent.id}`).patch({ body: { contentType: 'text', content: 'edited' } });
  same((await client.api(`${path}/${sent.id}`).get()).body.content, 'edited');
  await fails(client.api(`${path}`).skip(1).get(), (error) => same([error.statusCode, error.code], [400, 'BadRequest']));
  await fails(client.api(path).post({ body: { content: 'x'.repeat(29000) } }), (error) =>
    same([error.statusCode, error.code], [413, 'RequestEntityTooLarge']));
});

check('a card', async () => {
  const card = { type: 'AdaptiveCard', version: '1.4', body: [{ type: 'TextBlock', text: 'Go on?' }] };
  const sent = await client.api(`/chats/${state.chat}/messages`).post({
    body: { contentType: 'html', content: '<attachment id="1"></attachment>' },
    attachments: [{ id: '1', contentType: 'application/vnd.microsoft.card.adaptive', content: JSON.stringify(card) }],
  });
  same(JSON.parse(sent.attachments[0].content), card);
});

check('presence', async () => {
  await client.api(`/users/${ENV.AGENT_USER_ID}/presence/setPresence`).post({
    sessionId: ENV.AGENT_ID, availability: 'Busy', activity: 'InACall', expirationDuration: 'PT1H',
  });
  same((await client.api('/me/presence').get()).activity, 'InACall');
});

check('mail changes page by page', async () => {
  for (let number = 0; number < 5; number += 1) {
    human.ctl('mail', '--to', ENV.AGENT_USER_ID, '--subject', `mail ${number}`);
  }
  const first = await client.api('/me/mailFolders/inbox/messages/delta').select('subject')
    .header('Prefer', 'odata.maxpagesize=2').get();
  const subjects = [];
  const pages = new PageIterator(client, first, (one) => {
    subjects.push(one.subject);
    return true;
  }, { headers: { Prefer: 'odata.maxpagesize=2' } });
  await pages.iterate();
  same(subjects, [0, 1, 2, 3, 4].map((number) => `mail ${number}`));
  const link = pages.getDeltaLink();
  human.ctl('mail', '--to', ENV.AGENT_USER_ID, '--subject', 'later');
  const later = await client.api(link).get();
  same(later.value.map((one) => one.subject), ['later']);
  human.ctl('expire-delta');
  await fails(client.api(link).get(), (error) => same([error.statusCode, error.code], [410, 'syncStateNotFound']));
});

check('drafts, replies and moves', async () => {
  const draft = await client.api('/me/messages').post({
    subject: 'to myself', body: { contentType: 'text', content: 'x' },
    toRecipients: [{ emailAddress: { address: ENV.AGENT_USER_UPN } }],
  });
  await client.api(`/me/messages/${draft.id}/send`).post({});
  const arrived = (await client.api('/me/mailFolders/inbox/messages').filter("subject eq 'to myself'").get()).value[0];
  same((await client.api(`/me/messages/${arrived.id}/createReply`).post({ comment: 'y' })).subject, 'RE: to myself');
  const moved = await client.api(`/me/messages/${arrived.id}/move`).post({ destinationId: 'archive' });
  holds(moved.id !== arrived.id, 'a new id');
});

check('a meeting is set once', async () => {
  const body = {
    subject: 'review', transactionId: 'one',
    start: { dateTime: '2026-12-01T10:00:00', timeZone: 'UTC' },
    end: { dateTime: '2026-12-01T11:00:00', timeZone: 'UTC' },
  };
  const first = await client.api('/me/events').post(body);
  same((await client.api('/me/events').post(body)).id, first.id);
  const seen = await client.api('/me/calendarView')
    .query({ startDateTime: '2026-12-01T00:00:00Z', endDateTime: '2026-12-02T00:00:00Z' }).get();
  same(seen.value.map((one) => one.subject), ['review']);
});

check('a batch', async () => {
  // The client cuts the host off and nothing else.
  const content = new BatchRequestContent([
    { id: '1', request: new Request(`${ENV.GRAPH_BASE}/me`) },
    { id: '2', request: new Request(`${ENV.GRAPH_BASE}/me/nothing`) },
  ]);
  const answers = new BatchResponseContent(await client.api('/$batch').post(await content.getContent()));
  same(answers.getResponseById('1').status, 200);
  same(answers.getResponseById('2').status, 400);
});

check('throttling is waited for', async () => {
  human.fault({ fault: 'throttle', retry_after: 1, left: 1, matching: 'POST /v1.0/chats' });
  const before = Date.now();
  await client.api(`/chats/${state.chat}/messages`).post({ body: { content: 'after the wait' } });
  holds(Date.now() - before >= 1000, 'waited');
  same(human.ctl('report', 'early').early, []);
});

check('a revoked token is challenged', async () => {
  const old = await agentToken();
  human.revoke();
  const answer = await fetch(`${ENV.GRAPH_BASE}/v1.0/me`, { headers: { authorization: `Bearer ${old}` } });
  same(answer.status, 401);
  const challenge = answer.headers.get('www-authenticate');
  holds(challenge.includes('error="insufficient_claims"'), challenge);
  const wanted = JSON.parse(Buffer.from(/claims="([^"]+)"/.exec(challenge)[1], 'base64').toString());
  holds(wanted.access_token.nbf.essential, wanted);
  same((await client.api('/me').get()).id, ENV.AGENT_USER_ID);
});

await runAll();
