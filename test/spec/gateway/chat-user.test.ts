// The field `user`: never sent to a model server, and in the log only as a keyed hash.
import { expect, test } from "bun:test";
import { KEY } from "../../support/app.ts";
import { startFront } from "./front.ts";

test("gateway.endpoints.chat_completions.user is not forwarded, and is logged as a keyed hash", async () => {
  await using front = await startFront();
  const hashes: unknown[] = [];
  const ask = async (user: unknown, key = KEY) => {
    front.upstream.script = () => new Response("", { status: 500 });
    // Too few failures a minute to open the breaker, which would add a log line.
    await front.clock.advance(15_000);
    const before = front.lines.length;
    expect((await front.chat("Hello", { user }, { key })).status).toBe(502);
    expect(front.last().body).not.toHaveProperty("user");
    expect(front.lines).toHaveLength(before + 1);
    hashes.push(front.lines.at(-1)!.user);
  };
  await ask("canary-7f3a");
  await ask("canary-7f3a");
  await ask("canary-other");
  await ask("canary-7f3a", `${KEY}-none`);
  await ask("canary-7f3a", `${KEY}-other`);
  const [first, again, other, sameAccount, otherAccount] = hashes;
  expect(first).toMatch(/^[0-9a-f]{32}$/);
  expect([again, sameAccount]).toEqual([first, first]);
  expect(new Set([first, other, otherAccount]).size).toBe(3);
  for (const none of ["", null, undefined]) await ask(none);
  expect(hashes.slice(5)).toEqual([undefined, undefined, undefined]);
  expect(JSON.stringify(front.lines)).not.toContain("canary");
});
