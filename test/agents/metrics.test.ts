// Prometheus metrics of runs.
import { expect, test } from "bun:test";
import { startApp } from "../support/app.ts";

test("the page shows the number of executing runs", async () => {
  const app = await startApp({ hasOpenMetrics: true, listens: true });
  const readExecuting = async () => {
    const text = await (await app.get("/metrics", { key: null })).text();
    return /^wadi_runs_executing (\d+)$/m.exec(text)?.[1];
  };
  expect(await readExecuting()).toBe("0");
  const made = await app.post("/v1/agents", { name: "A", system_prompt: "Help." });
  const { id } = (await made.json()) as { id: string };
  const input = { message: "!stall" };
  expect((await app.post(`/v1/agents/${id}/runs`, { input })).status).toBe(202);
  let executing = await readExecuting();
  while (executing === "0") executing = await readExecuting();
  expect(executing).toBe("1");
  await app.stop();
});
