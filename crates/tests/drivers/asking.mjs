// What both generations of the TypeScript SDK do where calls are asked about: connect, make the
// calls that come in on standard input, one a line, answer what is asked as the line says, and
// print what came of it, one line each. The results are the SDK's own return values: what a program
// that uses it would see. A line may also have something listed or read, or have the next answer
// spoiled on its way, which an SDK that checks answers against their schemas must notice.
import { createInterface } from 'node:readline';

/** Takes the first member out of structured content while `isWanted` says so. */
function spoil(transport, isWanted) {
  let inner;
  Object.defineProperty(transport, 'onmessage', {
    configurable: true,
    get: () => inner,
    set: handler => {
      inner =
        handler &&
        ((message, extra) => {
          const content = message.result?.structuredContent;
          if (content && isWanted()) delete content[Object.keys(content)[0]];
          return handler(message, extra);
        });
    },
  });
}

/** Runs until standard input ends; `onQuestion` takes the function that answers questions. */
export async function converse(client, transport, onQuestion) {
  const asked = [];
  let spoiled = false;
  spoil(transport, () => spoiled);
  let answer = { action: 'cancel' };
  onQuestion(params => {
    asked.push(params.message);
    return answer;
  });
  await client.connect(transport);
  for await (const line of createInterface({ input: process.stdin })) {
    const turn = JSON.parse(line);
    asked.length = 0;
    answer = turn.answer ?? { action: 'cancel' };
    spoiled = turn.spoiled ?? false;
    const act = () => {
      if (turn.list !== undefined) return client[turn.list]();
      if (turn.uri !== undefined) return client.readResource({ uri: turn.uri });
      return client.callTool({ name: turn.name, arguments: turn.arguments });
    };
    const acts = Array.from({ length: turn.times ?? 1 }, () => act().catch(error => ({ failed: error.message })));
    const results = await Promise.all(acts);
    process.stdout.write(`${JSON.stringify({ results, asked })}\n`);
  }
  await client.close();
  process.exit(0);
}
