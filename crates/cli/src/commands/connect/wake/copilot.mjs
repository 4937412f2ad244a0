// {OWN} copilot`; `legation connect copilot --undo` takes it away.
// It waits beside the session for messages, and begins a turn when one is for this session.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { joinSession } from "@github/copilot-sdk/extension";

const session = await joinSession({});
const [program, ...words] = {COMMAND};
const place = ["--session", session.sessionId, "--folder", process.cwd()];
const waker = spawn(program, [...words, ...place], { stdio: ["pipe", "pipe", "ignore"] });
const say = (word) => waker.stdin.writable && waker.stdin.write(`${word}\n`);
waker.on("error", () => {});
waker.stdin.on("error", () => {});
createInterface({ input: waker.stdout }).on("line", (line) => {
  // What was not taken is told to another session.
  session.send({ prompt: JSON.parse(line).text }).catch(() => {});
});
session.on((event) => {
  if (event.type === "user.message") say("busy");
  if (event.type === "session.idle") say("idle");
});
