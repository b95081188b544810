// Tests the output of `wadi listen`: a few lines without terminal control characters.
import { expect, test } from "bun:test";
import type { ReceivedWebhook } from "../../src/admin/index.ts";
import { drawArrival, runListen } from "../../src/cli/listen.ts";

const RECEIVED: ReceivedWebhook = {
  ...{ at: "2026-11-22T10:00:00.000Z", path: "/", verdict: "verified", why: null, times: 1 },
  ...{ webhook_id: "0198f0c2-9d3c-7e10-8f63-5a0f5a6f1c2d", type: "webhook.test", answered: 204 },
  body: { id: "x", type: "webhook.test", data: { webhook: { url: "http://127.0.0.1:4400" } } },
};

test("a received event is a line with its whole id, and its data below", () => {
  const head =
    "2026-11-22T10:00:00.000Z  verified  webhook.test  0198f0c2-9d3c-7e10-8f63-5a0f5a6f1c2d";
  const data = '  {"webhook":{"url":"http://127.0.0.1:4400"}}\n';
  expect(drawArrival(RECEIVED)).toBe(`${head}\n${data}`);
  expect(drawArrival({ ...RECEIVED, times: 2, path: "/hook" })).toBe(
    `${head}  "/hook"  repeat, 2 times so far\n${data}`,
  );
  for (const answered of [300, 503]) {
    const line = `${head}  answered ${answered}\n${data}`;
    expect(drawArrival({ ...RECEIVED, answered })).toBe(line);
  }
  expect(drawArrival({ ...RECEIVED, answered: 299 })).toBe(`${head}\n${data}`);
  const refused = {
    ...RECEIVED,
    verdict: "refused",
    why: "it has no webhook-signature",
    answered: 401,
  } as const;
  expect(drawArrival({ ...refused, webhook_id: null, type: null, body: "" })).toBe(
    '2026-11-22T10:00:00.000Z  refused  -  -\n  it has no webhook-signature\n  ""\n',
  );
});

test("received text cannot control the terminal, and long text is cut", () => {
  const evil = "\u001b[2J\nverified\u202e";
  const shown = drawArrival({
    ...RECEIVED,
    ...{ path: `/${evil}`, webhook_id: evil, type: evil, body: { data: evil.repeat(1_000) } },
  });
  expect(shown.split("\n")).toHaveLength(3);
  for (const mark of "\u001b\u202e") expect(shown).not.toContain(mark);
  expect(shown).toEndWith("…\n");
  expect(shown.length).toBeLessThan(700);
});

test("a status of 200 to 599 is answered with, and no other", async () => {
  const listen = async (status: string) => {
    const started = Promise.withResolvers<void>();
    const output = { terminal: null, say() {}, print: () => started.resolve() };
    const code = runListen({ args: [], flags: { port: "0", status } }, output);
    await Promise.race([started.promise, code]);
    process.listeners("SIGTERM").at(-1)!("SIGTERM");
    for (const name of ["SIGINT", "SIGTERM"] as const) {
      process.off(name, process.listeners(name).at(-1)!);
    }
    return code;
  };
  for (const status of ["200", "599"]) expect(await listen(status)).toBe(0);
  for (const status of ["199", "600"]) {
    const refused = runListen({ args: [], flags: { port: "0", status } }, null as never);
    await expect(refused).rejects.toThrow("--status takes 200 to 599");
  }
  const beyond = runListen({ args: [], flags: { port: "65536" } }, null as never);
  await expect(beyond).rejects.toThrow("--port takes 0 to 65535");
});
