// What both generations of the TypeScript SDK do where calls are asked about: connect, make the
// calls that come in on standard input, one a line, answer what is asked as the line says, and
// print what came of it, one line each. The results are the SDK's own return values: what a program
// that uses it would see.
import { createInterface } from 'node:readline';

/** Runs until standard input ends; `onQuestion` takes the function that answers questions. */
export async function converse(client, transport, onQuestion) {
  const asked = [];
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
    const call = () =>
      client.callTool({ name: turn.name, arguments: turn.arguments }).catch(error => ({ failed: error.message }));
    const results = await Promise.all(Array.from({ length: turn.times ?? 1 }, call));
    process.stdout.write(`${JSON.stringify({ results, asked })}\n`);
  }
  await client.close();
  process.exit(0);
}
