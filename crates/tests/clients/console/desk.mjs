// A real browser at the desk of the console: letters are filed where it was suggested, refused, and
// moved back, each move certified first. The test says where they lie afterwards.

import { ask, check, good, goto, holds, link, page, plan, run, same, shown, submit, text, trouble } from './common.mjs';

const [first, second] = plan.suggestions;
const card = (one) => `[id="filing-${one.suggestion_id}"]`;
const button = (one, verb) => `form[action="/desk/filings/${one.suggestion_id}/${verb}"] button`;
const place = (one) => ask(`place ${one.subject}`);

/** Presses a button that has to be certified: follows the link, gives the PIN, and presses again. */
const certified = async (one, verb) => {
  await goto('/desk/triage');
  await submit(button(one, verb));
  const notice = await page.$eval('.notice', (notice) => notice.innerText);
  holds(notice.includes("waits for a person's certificate"), notice);
  const answer = await page.$eval('.notice a', (a) => [a.textContent, a.getAttribute('href')]);
  same(answer[1].startsWith('/approvals#'), true);
  await good(`${verb} waits`);
  await submit('.notice a');
  const id = new URL(page.url()).hash.slice(1);
  same(answer[0], `Answer ${id}`);
  const proposal = `[id="${id}"]`;
  const words = await page.$eval(proposal, (proposal) => proposal.innerText);
  for (const word of ['desk/mail_move', 'proposal', 'harbor']) holds(words.includes(word), words);
  await page.type(`${proposal} input[type=password]`, plan.pin);
  await submit(`${proposal} form[action$="/certify"] button`);
  holds((await text()).includes('was certified'), await text());
  await goto('/desk/triage');
  await submit(button(one, verb));
};

check('triage shows what is suggested, after everything was looked at', async () => {
  await page.goto(link());
  await shown('This hub');
  for (const path of ['/desk', '/desk/digest', '/desk/triage']) same([path, await goto(path)], [path, 200]);
  for (const one of plan.suggestions) {
    const words = await page.$eval(card(one), (card) => card.innerText);
    for (const word of [one.subject, one.path, 'harbor']) holds(words.includes(word), words);
  }
  await good('triage');
});

check('a letter is filed once its proposal is certified', async () => {
  const before = await place(first);
  await goto('/desk/triage');
  await submit(button(first, 'approve'));
  same(await place(first), before);
  await certified(first, 'approve');
  holds((await text()).includes(`The letter is in ${first.path} now.`), await text());
  same(`/${await place(first)}`, first.path);
  await good('filed');
});

check('the letter is moved back the same way', async () => {
  await certified(first, 'undo');
  holds((await text()).includes('The letter is where it was before.'), await text());
  same(await place(first), await place(second));
});

check('a suggestion is refused, and the letter stays', async () => {
  const before = await place(second);
  await goto('/desk/triage');
  await submit(button(second, 'reject'));
  holds((await text()).includes('The suggestion is refused.'), await text());
  same(await page.$(card(second)), null);
  same(await place(second), before);
});

check('nothing went wrong or elsewhere', async () => same(trouble, []));

await run();
