// Tests the operator's use cases beside a server on the same data.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { openAdmin } from "../../src/admin/index.ts";
import { WRITER } from "../../src/app.ts";
import { defaultSettings } from "../../src/settings/index.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { openFiles } from "../support/database.ts";
import { createSeededIds } from "../support/ids.ts";
import { NO_INSTALLATION } from "../support/installation.ts";
import { keyRequest } from "./fixture.ts";

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
    installation: NO_INSTALLATION,
    warn() {},
  });
});
afterAll(async () => {
  await opened.close();
  await app.stop();
  await files.release();
});

test("a running server sees created and revoked keys at the next request", async () => {
  const { accounts, keys } = opened.admin;
  await accounts.create("acme");
  const { key, secret } = await keys.create(keyRequest());
  expect((await app.get("/v1/models", { key: secret })).status).toBe(200);
  await keys.revoke(key.id);
  // A request by a socket arrives in a later turn than its sender's change.
  await new Promise((resolve) => setImmediate(resolve));
  expect((await app.get("/v1/models", { key: secret })).status).toBe(401);
});
