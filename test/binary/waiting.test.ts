// A command that waits for something elsewhere leaves the processor alone.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { openRoom, type Room } from "../support/binary.ts";

/** Looks of the command 200 ms apart, so that it waits for three seconds. */
const LOOKS = 15;

let room: Room;
beforeAll(() => {
  room = openRoom();
});
afterAll(() => room.close());

test("a waiting command takes no processor time between its looks", async () => {
  let looks = 0;
  const draining = {
    ...{ epoch: 1, state: "draining", address: null, pid: null, version: null, schema: null },
    ...{ started_at: "2027-01-05T08:00:00.000Z", settings: null, settings_fault: null },
    ...{ is_reload_pending: false, runs: 1, deliveries: 0, leases: [] },
  };
  using server = Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0 },
    fetch({ method }) {
      if (method === "POST") return Response.json(draining);
      looks += 1;
      return Response.json(looks < LOOKS ? [draining] : []);
    },
  });
  const startedAt = performance.now();
  const args = ["processes", "drain", "1", "--server", server.url.origin];
  const command = room.start(args, { env: { WADI_OPERATOR_TOKEN: "t" } });
  const { code, stdout } = await command.ended;
  expect([code, looks]).toEqual([0, LOOKS]);
  expect(stdout).toContain("state: ended");
  // One that polls the loop without a pause uses all of the time.
  expect(command.cpuMs()).toBeLessThan((performance.now() - startedAt) / 2);
});
