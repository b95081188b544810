// Inspection of a database without changing it.
import { expect, test } from "bun:test";
import { secretStore } from "../../src/crypto/store.ts";
import {
  type DatabaseLocation,
  inspectDatabase,
  NewerDatabase,
  openDatabase,
} from "../../src/database/index.ts";
import { migrations } from "../../src/database/migrations/index.ts";
import { createManualClock } from "../support/clock.ts";
import { failureOf, openFiles, openTestDatabase } from "../support/database.ts";
import { openPostgres } from "../support/pglite.ts";

const engines = [
  ["SQLite", openFiles],
  ["PostgreSQL", openPostgres],
] as const;

const showDeliveries = async (place: Exclude<DatabaseLocation, { kind: "memory" }>) =>
  (await inspectDatabase(place)).schema;
const open = (place: DatabaseLocation, more = {}) =>
  openDatabase({
    ...{ place, stores: [], clock: createManualClock(), ...more },
    onFailure(failure) {
      throw failure;
    },
  });

for (const [engine, openGround] of engines) {
  test(`absent, older, current and newer are distinguished on ${engine}`, async () => {
    const ground = await openGround();
    const place = await ground.makePlace();
    if (place.kind === "memory") throw new Error("nothing else could look at it");
    expect(await showDeliveries(place)).toBe("absent");
    // Inspection creates no file.
    expect(await showDeliveries(place)).toBe("absent");
    await (await open(place, { migrations: migrations.slice(0, 1) })).close();
    expect(await showDeliveries(place)).toBe("older");
    expect(await showDeliveries(place)).toBe("older");
    await (await open(place)).close();
    expect(await inspectDatabase(place)).toEqual({
      schema: "current",
      key_id: null,
      is_paused: false,
    });
    const database = await open(place, { stores: [secretStore] });
    await database.bind(secretStore).claim("the key");
    await database.close();
    expect(await inspectDatabase(place)).toEqual({
      schema: "current",
      key_id: "the key",
      is_paused: false,
    });
    await (await openTestDatabase(place)).close();
    expect(await failureOf(inspectDatabase(place))).toBeInstanceOf(NewerDatabase);
    await ground.release();
  });
}
