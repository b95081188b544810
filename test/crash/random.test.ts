// A serving process is killed at any moment: every key that it acknowledged is found afterwards.
import { afterAll, expect, test } from "bun:test";
import { start } from "../support/crash.ts";
import { openFiles } from "../support/database.ts";
import { dumpDatabase } from "../support/database-dump.ts";
import { countRounds } from "../support/rounds.ts";

const SCRIPT = new URL("../support/crash-serve.ts", import.meta.url).pathname;
const ROUNDS = countRounds(10);
const ACKNOWLEDGED_MAX = 500;
const SEED = 7_919;

const files = openFiles();
afterAll(() => files.release());

test(`no acknowledged write is lost in ${ROUNDS} kills at random`, async () => {
  const place = await files.makePlace();
  if (place.kind !== "sqlite") throw new Error("not a file");
  const acknowledged = new Set<string>();
  let seed = SEED;
  for (let round = 0; round < ROUNDS; round++) {
    seed = (seed * 48_271) % 2_147_483_647;
    const server = start([process.execPath, SCRIPT, place.file]);
    for (let left = 1 + (seed % ACKNOWLEDGED_MAX); left > 0; left--) {
      const id = await server.next();
      if (id === undefined) throw new Error((await server.ended).errors);
      acknowledged.add(id);
    }
    server.kill();
    const { lines, signal } = await server.ended;
    expect(signal).toBe("SIGKILL");
    for (const id of lines) acknowledged.add(id);
    const { keys, key_secrets } = dumpDatabase(place.file) as Record<string, { id: string }[]>;
    const kept = new Set(keys!.map((key) => key.id));
    expect([...acknowledged].filter((id) => !kept.has(id))).toEqual([]);
    // A key and its secret are one write.
    expect(key_secrets).toHaveLength(keys!.length);
  }
});
