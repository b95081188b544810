// Tests requests of the operator API: how long their connection may be silent, and what they hold.
import { expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import type { OperatorRouteSpec } from "../../src/http/operator-route.ts";
import { createOperatorRoutes } from "../../src/http/operator-router.ts";
import { createLog } from "../../src/platform/log.ts";
import { createManualClock } from "../support/clock.ts";
import { createSeededIds } from "../support/ids.ts";

const SPEC: OperatorRouteSpec = {
  ...{ name: "things check", method: "POST", path: "/things", summary: "Checks them." },
  ...{ input: Type.Object({ isBroken: Type.Boolean() }), reply: Type.Object({}) },
};
const REMOVE: OperatorRouteSpec = {
  ...{ name: "things delete", method: "DELETE", path: "/things", summary: "Deletes them." },
  ...{ input: Type.Object({}), reply: Type.Object({}) },
};

function open() {
  const clock = createManualClock();
  const happened: string[] = [];
  const [check, remove] = createOperatorRoutes([SPEC, REMOVE], {
    version: "1",
    observer: null,
    clock,
    ids: createSeededIds(),
    log: createLog(clock, () => {}, false),
    isEnabled: () => true,
    identify: async () => ({ id: "o-1", name: "noura", role: "operator" }),
    identifySession: async () => undefined,
    cookie: "wadi_session_1",
    commands: () => ({ program: "wadi", needsServer: false }),
    own: { publicUrls: () => [], hosts: () => [] },
    limiter: { take: () => null },
    addressOf: () => "192.0.2.1",
    holdOpen() {
      happened.push("hold");
      return () => void happened.push("release");
    },
    async handle(_, { isBroken }) {
      await clock.advance(0);
      happened.push("perform");
      if (isBroken) throw new Error("a bug");
      return {};
    },
  });
  const send = async ({ method, answer } = check!, body: string, query = "", more = {}) => {
    const headers = { authorization: "Bearer token", ...more };
    const url = `http://localhost/operator/v1/things${query}`;
    return (await answer(new Request(url, { method, headers, body }))).status;
  };
  return { happened, send, check: check!, remove: remove! };
}

test("a connection may be silent while its operation is performed, and no longer", async () => {
  const { happened, send, check } = open();
  const ask = async (body: string) => [await send(check, body), ...happened.splice(0)];
  expect(await ask('{"isBroken":false}')).toEqual([200, "hold", "perform", "release"]);
  expect(await ask('{"isBroken":true}')).toEqual([500, "hold", "perform", "release"]);
  // A body that is still being sent has a time limit of its own.
  expect(await ask('{"isBroken":7}')).toEqual([400]);
});

test("a body has at most 256 KiB, also where none is read, and no query beside it", async () => {
  const { send, check, remove } = open();
  const largest = '{"isBroken":false}'.padEnd(256 * 1024);
  expect([await send(check, largest), await send(check, `${largest} `)]).toEqual([200, 413]);
  const announce = (length: number) => ({ "content-length": String(length) });
  const removeWith = (length: number) => send(remove, "", "", announce(length));
  expect([await removeWith(256 * 1024), await removeWith(256 * 1024 + 1)]).toEqual([200, 413]);
  expect(await send(check, '{"isBroken":false}', "?isBroken=true")).toBe(400);
});
