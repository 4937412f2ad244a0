// What GitHub's own library says of signatures, and which bytes it makes of events.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const plan = JSON.parse(readFileSync(process.argv[2], "utf8"));
const sdk = await import(pathToFileURL(plan.sdk).href);

const verified = [];
for (const { body, signature, key } of plan.verify) {
  try {
    verified.push(await sdk.verifyRequest(body, signature, key));
  } catch {
    verified.push(false);
  }
}
const events = plan.events.map(([name, ...given]) => sdk[name](...given));
console.log(JSON.stringify({ verified, events }));
