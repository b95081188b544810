// Tests a connection of the operator API: how long it may be silent.
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

test("a connection may be silent while its operation is performed, and no longer", async () => {
  const clock = createManualClock();
  const happened: string[] = [];
  const [route] = createOperatorRoutes([SPEC], {
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
  const ask = async (body: string) => {
    const headers = { authorization: "Bearer token" };
    const url = "http://localhost/operator/v1/things";
    const { status } = await route!.answer(new Request(url, { method: "POST", headers, body }));
    return [status, ...happened.splice(0)];
  };
  expect(await ask('{"isBroken":false}')).toEqual([200, "hold", "perform", "release"]);
  expect(await ask('{"isBroken":true}')).toEqual([500, "hold", "perform", "release"]);
  // A body that is still being sent has a time limit of its own.
  expect(await ask('{"isBroken":7}')).toEqual([400]);
});
