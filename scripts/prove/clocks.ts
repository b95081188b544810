// One of two servers has a clock five minutes ahead: it takes no work, and fires nothing early.
import { compile, isStale } from "../build.ts";
import { checkProcesses } from "./process-check.ts";
import { createTrigger, openProcessStage, until } from "./process-stage.ts";
import { createFacts, isQuiet, PAY } from "./process-trial.ts";
import { atLeast, atMost, type Finding, type Proof } from "./proof.ts";

const LIBRARY = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";
const RUNS = 40;
/** Due between the two clocks. */
const EARLY_MS = 150_000;

export const clocks: Proof = {
  name: "clocks",
  about: "one of two servers is five minutes ahead: it is not ready, holds nothing, fires nothing",
  async run(): Promise<Finding[]> {
    const postgres = process.env.WADI_TEST_POSTGRES;
    if (!postgres) throw new Error("WADI_TEST_POSTGRES names no server of PostgreSQL");
    if (!(await Bun.file(LIBRARY).exists())) throw new Error(`${LIBRARY} is missing`);
    if (isStale({ failPoints: true })) await compile({ failPoints: true });
    const stage = await openProcessStage({ postgres });
    const { sql, survivor, agents, count } = stage;
    const facts = createFacts();
    try {
      const env = { LD_PRELOAD: LIBRARY, FAKETIME: "+300s", FAKETIME_DONT_FAKE_MONOTONIC: "1" };
      const ahead = await stage.serve("", { env });
      const epochs = `(SELECT epoch FROM processes WHERE pid = ${ahead.child.pid})`;
      const isMarked = async () =>
        (await count(`processes WHERE epoch IN ${epochs} AND state = 'skewed'`)) === 1;
      await until("its clock is noticed", isMarked);
      const id = await createTrigger(survivor, agents.payer, "early");
      await sql`UPDATE triggers SET next_fire_at = ${Date.now() + EARLY_MS} WHERE id = ${id}`;
      let ready = 0;
      let held = 0;
      for (let n = 0; n < RUNS; n++) {
        const server = n % 2 === 0 ? ahead : survivor;
        const path = `/v1/agents/${agents.payer}/runs`;
        const answer = await server.ask("POST", path, { input: { message: PAY } });
        if (answer?.status === 202) facts.accepted.add(JSON.parse(answer.text).id);
        if ((await ahead.ask("GET", "/readyz"))?.status === 200) ready += 1;
        held += await count(`runs WHERE epoch IN ${epochs}`);
        held += await count(`deliveries WHERE epoch IN ${epochs}`);
      }
      await until("all is done", () => isQuiet(stage));
      const laws = Object.entries(await checkProcesses(stage, facts));
      return [
        atLeast("runs accepted", facts.accepted.size, RUNS),
        atMost("looks at which it was ready", ready, 0),
        atMost("runs and deliveries that it held", held, 0),
        atMost("instants fired before their time", await count("fires"), 0),
        ...laws.map(([law, times]) => atMost(law, times, 0)),
      ];
    } finally {
      await stage.close();
    }
  },
};
