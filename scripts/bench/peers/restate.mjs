// A service of Restate: runs of three rounds and two calls, each of them a durable step.

import { createServer } from "node:http";
import { createRequire } from "node:module";

// The SDK needs it, and Node has it from version 22 on.
Promise.withResolvers ??= () => {
  const held = {};
  held.promise = new Promise((resolve, reject) => Object.assign(held, { resolve, reject }));
  return held;
};

const [modules, port] = process.argv.slice(2);
const restate = createRequire(`${modules}/`)("@restatedev/restate-sdk");

let ended = 0;
const run = async (context, { message }) => {
  let text = message;
  for (let round = 0; round < 3; round++) {
    text = await context.run(`round ${round}`, () => `${message} ${round}`);
    if (round < 2) text = await context.run(`call ${round}`, () => String(round + 3));
  }
  ended++;
  return text;
};

await restate
  .endpoint()
  .bind(restate.service({ name: "agent", handlers: { run } }))
  .listen(Number(port));
const counter = createServer((_, reply) => reply.end(String(ended)));
await new Promise((resolve) => counter.listen(0, "127.0.0.1", resolve));
console.log(`ready ${counter.address().port}`);
