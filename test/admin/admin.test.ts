// The operator's verbs on their own, beside a server that runs on the same data.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { openAdmin } from "../../src/admin/index.ts";
import { WRITER } from "../../src/app.ts";
import { defaultSettings } from "../../src/settings/index.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { openFiles } from "../support/database.ts";
import { createSeededIds } from "../support/ids.ts";
import { wish } from "./fixture.ts";

const files = openFiles(WRITER);
let app: TestApp;
let opened: Awaited<ReturnType<typeof openAdmin>>;
beforeAll(async () => {
  const place = await files.makePlace();
  app = await startApp({ place });
  if (place.kind !== "sqlite") throw new Error("not a file");
  opened = await openAdmin({
    settings: defaultSettings(),
    place: { kind: "sqlite", file: place.file },
    clock: app.clock,
    ids: createSeededIds(2),
    secretsKeyFile: null,
    warn() {},
  });
});
afterAll(async () => {
  await opened.close();
  await app.stop();
  await files.release();
});

test("a key that is made and revoked beside a server counts from its next request on", async () => {
  const { accounts, keys } = opened.admin;
  await accounts.create("acme");
  const { key, secret } = await keys.create(wish());
  expect((await app.get("/v1/models", { key: secret })).status).toBe(200);
  await keys.revoke(key.id);
  // As a request that comes by a socket: in a later turn than whatever its sender knew of.
  await new Promise((resolve) => setImmediate(resolve));
  expect((await app.get("/v1/models", { key: secret })).status).toBe(401);
});
