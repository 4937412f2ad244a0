// A person with a browser: goes where a page leads, signs in, agrees, and ends where the
// authorization server sends them. `--look` says where that is and does not go there.
const forms = /<form[^>]*action="([^"]*)"[^>]*method="post"[^>]*>([\s\S]*?)<\/form>/;
const fields = /<input[^>]*name="([^"]*)"(?:[^>]*value="([^"]*)")?/g;
const plain = (text) => text.replaceAll('&amp;', '&');

/** Follows a sign-in from its page to where it leads away from the authorization server. */
export async function browse(page, { login = 'alex', cookies = new Map() } = {}) {
  const origin = new URL(page).origin;
  let request = [page, {}];
  for (let steps = 0; steps < 20; steps += 1) {
    const [url, options] = request;
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(url, { ...options, redirect: 'manual', headers: { ...options.headers, cookie } });
    for (const set of answer.headers.getSetCookie()) {
      const [pair] = set.split(';');
      cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
    const location = answer.headers.get('location');
    if (location) {
      const next = new URL(location, url);
      if (next.origin !== origin) return next.href;
      request = [next.href, {}];
      continue;
    }
    const text = await answer.text();
    const form = text.match(forms);
    if (!answer.ok || !form) throw new Error(`HTTP ${answer.status} at ${url}: ${text.slice(0, 500)}`);
    const values = new URLSearchParams();
    for (const [, name, value] of form[2].matchAll(fields)) {
      values.set(name, value ?? (name === 'login' ? login : 'any'));
    }
    request = [new URL(plain(form[1]), url).href, {
      method: 'POST', body: values.toString(), headers: { 'content-type': 'application/x-www-form-urlencoded' },
    }];
  }
  throw new Error(`${page} leads nowhere`);
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const [page, option] = process.argv.slice(2);
  const end = await browse(page);
  if (option !== '--look') await (await fetch(end)).text();
  process.stdout.write(`${end}\n`);
}
