// Runs on graphile-worker: five jobs in a row, since a job is its durable step.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [modules, connectionString] = process.argv.slice(2);
const { run, makeWorkerUtils } = createRequire(`${modules}/`)("graphile-worker");

const STEPS = 5;
let ended = 0;
let wanted = Number.POSITIVE_INFINITY;
let done = () => {};
const step = async ({ at }, helpers) => {
  if (at < STEPS) await helpers.addJob("step", { at: at + 1 });
  else if (++ended === wanted) done();
};
const options = { connectionString, maxPoolSize: 32, logger: undefined };
const utils = await makeWorkerUtils(options);
await utils.migrate();
await run({
  ...options,
  concurrency: 64,
  pollInterval: 100,
  taskList: { step },
  noHandleSignals: true,
});
console.log("ready {}");

for await (const line of createInterface({ input: process.stdin })) {
  const { runs, callers } = JSON.parse(line);
  ended = 0;
  wanted = runs;
  const over = new Promise((resolve) => {
    done = resolve;
  });
  const started_at = performance.now();
  let left = runs;
  const start = async () => {
    while (left-- > 0) await utils.addJob("step", { at: 1 });
  };
  await Promise.all(Array.from({ length: callers }, start));
  await over;
  console.log(JSON.stringify({ seconds: (performance.now() - started_at) / 1000 }));
}
// The process that started it has ended.
process.exit(0);
