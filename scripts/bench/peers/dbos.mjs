// Workflows of DBOS: three rounds and two calls, each of them a durable step.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [modules, systemDatabaseUrl] = process.argv.slice(2);
const { DBOS } = createRequire(`${modules}/`)("@dbos-inc/dbos-sdk");

const run = DBOS.registerWorkflow(
  async (message) => {
    let text = message;
    for (let round = 0; round < 3; round++) {
      text = await DBOS.runStep(async () => `${message} ${round}`, { name: `round ${round}` });
      if (round < 2) text = await DBOS.runStep(async () => "5", { name: `call ${round}` });
    }
    return text;
  },
  { name: "run" },
);
DBOS.setConfig({ name: "bench", systemDatabaseUrl, runAdminServer: false, logLevel: "error" });
await DBOS.launch();
console.log("ready {}");

for await (const line of createInterface({ input: process.stdin })) {
  const { runs, callers } = JSON.parse(line);
  const started_at = performance.now();
  let left = runs;
  const handles = [];
  const start = async () => {
    while (left-- > 0) handles.push(await DBOS.startWorkflow(run)("Calculate."));
  };
  await Promise.all(Array.from({ length: callers }, start));
  await Promise.all(handles.map((handle) => handle.getResult()));
  console.log(JSON.stringify({ seconds: (performance.now() - started_at) / 1000 }));
}
// The process that started it has ended.
process.exit(0);
