// Tests which models keep their backend and their revision when the settings change.
import { expect, test } from "bun:test";
import { openDatabase } from "../../src/database/index.ts";
import { buildModels } from "../../src/models/index.ts";
import { createTrustedEgress } from "../../src/net/index.ts";
import { createLog } from "../../src/platform/log.ts";
import { readSettings } from "../../src/settings/index.ts";
import { stores } from "../../src/stores.ts";
import { ALONE } from "../support/alone.ts";
import { createManualClock } from "../support/clock.ts";
import { createSeededIds } from "../support/ids.ts";
import { placeInMemory } from "../support/memory.ts";

const write = (urls: string[], more = "", id = "one", name = "") => `
[[models]]
id = "${id}"
${more}
upstream = { kind = "openai", urls = ${JSON.stringify(urls)}, model = "${name}" }
`;
const URLS = ["http://10.0.0.1/v1", "http://10.0.0.2/v1"];

async function open(text: string) {
  const clock = createManualClock();
  const onFailure = (failure: unknown) => {
    throw failure;
  };
  const database = await openDatabase({ place: await placeInMemory(), stores, clock, onFailure });
  const read = (next: string) => readSettings(next, "wadi.toml", {}, {});
  const egress = createTrustedEgress({ clock });
  const log = createLog(clock, () => {}, true);
  const ids = createSeededIds();
  const deps = { database, process: ALONE, egress, clock, ids, log };
  const models = await buildModels({ settings: read(text), ...deps });
  return {
    clock,
    find: (id = "one") => models.registry.resolve(id).model,
    change: (next: string) => models.change(read(next)),
    [Symbol.asyncDispose]: () => database.close(),
  };
}

test("a backend stays while its servers and what they can do stay", async () => {
  await using models = await open(write(URLS));
  const { backend } = models.find();
  await models.change(write(URLS, "default_max_tokens = 7"));
  expect(models.find().settings.default_max_tokens).toBe(7);
  expect(models.find().backend).toBe(backend);
  for (const other of ['capabilities = ["tools"]', "self_hosted = true"]) {
    await models.change(write(URLS));
    const before = models.find().backend;
    await models.change(write(URLS, other));
    expect(models.find().backend).not.toBe(before);
  }
});

test("the revision of a provider's model is that of its servers, in any order", async () => {
  await using models = await open(write(URLS));
  const { upstream_revision } = models.find();
  await models.change(write(URLS.toReversed()));
  expect(models.find().upstream_revision).toBe(upstream_revision);
  await models.change(write(URLS.slice(1)));
  expect(models.find().upstream_revision).not.toBe(upstream_revision);
  await models.change(write(URLS, "", "one", "other"));
  expect(models.find().upstream_revision).not.toBe(upstream_revision);
  await models.change(write(URLS, "self_hosted = true"));
  expect(models.find().upstream_revision).toBeNull();
});

test("a model is as old as its first sight, in whole seconds that have passed", async () => {
  await using models = await open(write(URLS));
  const { created } = models.find();
  await models.clock.advance(1_999);
  await models.change(write(URLS) + write(URLS, "", "two"));
  expect([models.find().created, models.find("two").created]).toEqual([created, created + 1]);
});
