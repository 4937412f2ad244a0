// What every check needs: the settings, the human's commands, and one line a check.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

// Packages are installed elsewhere; the runner says where.
export const require = createRequire(process.env.MODULES_ROOT + '/');

export const GRAPH = 'https://graph.microsoft.com';
export const EXCHANGE = 'api://AzureADTokenExchange/.default';

export function settings(path) {
  const out = {};
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    const at = line.indexOf('=');
    if (at > 0) out[line.slice(0, at)] = line.slice(at + 1);
  }
  return out;
}

export const ENV = settings(process.argv[2]);

const quoted = (word) => `'${word.replaceAll("'", "'\\''")}'`;
const run = (command) => {
  const said = execFileSync('/bin/sh', ['-c', command], { encoding: 'utf8' });
  return said.trim() ? JSON.parse(said) : null;
};

export const human = {
  decide: (code, decision = 'approve') =>
    run(ENV.APPROVE_CMD.replace('{user_code}', code).replace('{decision}', decision)),
  revoke: () => run(ENV.REVOKE_CMD),
  say: (chat, text) =>
    run(ENV.SAY_CMD.replace('{chat_id}', () => chat).replace('{text}', () => quoted(text))),
  ctl: (...words) => run(`${ENV.REVOKE_CMD.replace(/ revoke$/, '')} ${words.map(quoted).join(' ')}`),
  fault: (fault) => human.ctl('fault', JSON.stringify(fault)),
};

const checks = [];
export const check = (name, body) => checks.push([name, body]);

export async function runAll() {
  for (const [name, body] of checks) {
    let why = null;
    try {
      await body();
    } catch (error) {
      why = `${error.name}: ${error.message} ${error.errorMessage ?? ''}`.slice(0, 600);
    }
    process.stdout.write(JSON.stringify({ check: name, ok: why === null, why }) + '\n');
  }
}

export function same(actual, expected, what = 'value') {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${what}: ${a} and not ${b}`);
}

export function holds(condition, what) {
  if (!condition) throw new Error(typeof what === 'string' ? what : JSON.stringify(what));
}

export async function fails(promise, check) {
  let answer;
  try {
    answer = await promise;
  } catch (error) {
    return check(error);
  }
  throw new Error(`not refused: ${JSON.stringify(answer)?.slice(0, 200)}`);
}

export const claims = (token) =>
  JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString('utf8'));
