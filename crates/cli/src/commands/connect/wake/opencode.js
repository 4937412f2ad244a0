// {OWN} opencode`; `legation connect opencode --undo` takes it away.
// It waits beside each session for messages, and begins a turn when one is for that session.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const [program, ...words] = {COMMAND};

export const Legation = async ({ client, directory }) => {
  const wakers = new Map();
  const children = new Set();
  const begin = (id) => {
    const place = ["--session", id, "--folder", directory];
    const waker = spawn(program, [...words, ...place], { stdio: ["pipe", "pipe", "ignore"] });
    const ended = () => wakers.get(id) === waker && wakers.delete(id);
    waker.on("error", ended);
    waker.on("exit", ended);
    waker.stdin.on("error", () => {});
    // A session that is over must not be kept alive by who waits for it.
    waker.unref();
    createInterface({ input: waker.stdout }).on("line", (line) => {
      const parts = [{ type: "text", text: JSON.parse(line).text }];
      // What was not taken is told to another session.
      client.session.promptAsync({ path: { id }, body: { parts } }).catch(() => {});
    });
    wakers.set(id, waker);
  };
  const say = (id, word) => {
    const waker = wakers.get(id);
    if (waker?.stdin.writable) waker.stdin.write(`${word}\n`);
  };
  return {
    event: async ({ event: { type, properties } }) => {
      const id = properties?.sessionID ?? properties?.info?.id;
      if (type === "session.created" && properties.info?.parentID) children.add(id);
      if (!id || children.has(id)) return;
      if (type === "session.status" && properties.status?.type === "busy") say(id, "busy");
      if (type === "session.idle") wakers.has(id) ? say(id, "idle") : begin(id);
      if (type === "session.deleted") wakers.get(id)?.stdin.end();
    },
    dispose: async () => wakers.forEach((waker) => waker.stdin.end()),
  };
};
