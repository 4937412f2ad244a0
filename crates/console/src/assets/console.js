// What the pages do beyond reading and sending forms: times in the reader's own zone, and changes
// as they happen. Every page works without it.
'use strict';

const times = (root) => {
  for (const time of root.querySelectorAll('time[datetime]')) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime()) || time.dataset.told) continue;
    time.dataset.told = 'yes';
    time.title = time.dateTime;
    time.textContent = at.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
  }
};

/** Whether somebody is in the middle of something in there. */
const inUse = (part) =>
  part.contains(document.activeElement) ||
  [...part.querySelectorAll('input:not([type=hidden]), textarea')].some((field) => field.value !== field.defaultValue);

/** What the hub sent of each part that is shown: the page itself has other times, and open details. */
const sent = new WeakMap();

/** Puts a part of a fresh page in the place of the one that is shown, where the hub sends another. */
const replace = (part, fresh) => {
  if (sent.get(part) === fresh.innerHTML || inUse(part)) return;
  const open = [...part.querySelectorAll('details[open][id]')].map((one) => one.id);
  sent.set(fresh, fresh.innerHTML);
  // A node keeps the listeners of scripts only where it stays; there are none inside.
  part.replaceWith(fresh);
  for (const id of open) document.getElementById(id)?.setAttribute('open', '');
  times(fresh);
  if (part.dataset.part === 'told') fresh.classList.add('changed');
};

let asking = false;
let again = false;
/** Asks for the page anew, once at a time. */
const refresh = async () => {
  if (asking) { again = true; return; }
  asking = true;
  try {
    const answer = await fetch(location.href, { headers: { accept: 'text/html' }, redirect: 'manual' });
    if (answer.ok) {
      const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
      for (const part of document.querySelectorAll('[data-part]')) {
        const found = fresh.getElementById(part.id);
        if (found) replace(part, document.adoptNode(found));
      }
    } else if (answer.status === 401 || answer.type === 'opaqueredirect') {
      location.reload();
    }
  } catch {
    // The hub is away; the stream says so, and tries again.
  }
  asking = false;
  if (again) { again = false; setTimeout(refresh, 300); }
};

/** An entry of a conversation: in the place of the one with its number, or at the end. */
const entry = (text) => {
  const log = document.getElementById('conversation');
  if (!log) return;
  const holder = document.createElement('template');
  holder.innerHTML = text;
  const item = holder.content.firstElementChild;
  if (!item) return;
  const there = document.getElementById(item.id);
  if (there) {
    if (there.outerHTML !== item.outerHTML) there.replaceWith(item);
  } else {
    const near = window.innerHeight + window.scrollY > document.body.scrollHeight - 160;
    log.append(item);
    if (near) item.scrollIntoView({ block: 'nearest' });
  }
  times(item);
  const writing = document.getElementById('writing');
  if (writing && item.dataset.task === writing.dataset.task) {
    writing.hidden = true;
    writing.querySelector('.prose').textContent = '';
  }
};

/** More of an answer that is being written. */
const delta = ({ task, text }) => {
  const writing = document.getElementById('writing');
  if (!writing) return;
  const prose = writing.querySelector('.prose');
  if (writing.dataset.task !== task) { writing.dataset.task = task; prose.textContent = ''; }
  writing.hidden = false;
  prose.textContent += text;
};

const follow = (main) => {
  const line = document.getElementById('live');
  const say = (text) => { if (line) line.textContent = text; };
  const stream = new EventSource(main.dataset.live);
  stream.addEventListener('open', () => {
    say('Live: changes are shown as they happen.');
    // What changed after the page was written and before this was heard, or while it was not.
    refresh();
  });
  stream.addEventListener('error', () =>
    say(stream.readyState === EventSource.CLOSED ? 'Not live: reload the page.' : 'Not live at the moment; trying again.'));
  stream.addEventListener('changed', refresh);
  stream.addEventListener('entry', (event) => entry(event.data));
  stream.addEventListener('delta', (event) => delta(JSON.parse(event.data)));
  stream.addEventListener('lagged', () => location.reload());
  stream.addEventListener('over', () => { stream.close(); location.reload(); });
  window.addEventListener('pagehide', () => stream.close());
};

for (const part of document.querySelectorAll('[data-part]')) sent.set(part, part.innerHTML);
times(document);
const main = document.querySelector('main[data-live]');
if (main) follow(main);
document.querySelector('form[data-auto]')?.requestSubmit();
