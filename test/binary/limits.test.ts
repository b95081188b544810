// Several compiled servers on one PostgreSQL and one Valkey: limits that hold for all together.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Server } from "../support/binary.ts";
import { MISSING, openCluster, type TestCluster } from "../support/cluster.ts";

if (MISSING) test.skip(`skipped: ${MISSING}`, () => {});
else describe("three servers with the same `server.valkey`", testServers);

function testServers(): void {
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await openCluster();
  });
  afterAll(() => cluster.close());

  test("admit 120 requests in a minute together, and say `valkey on`", async () => {
    const servers: Server[] = [];
    for (const name of ["a", "b", "c"]) servers.push(await cluster.serve(name));
    for (const server of servers) {
      const isOn = async () => (await (await server.ask("GET", "/readyz")).text()).includes("y on");
      while (!(await isOn()));
    }
    const { key } = servers[0]!;
    const asked = Array.from({ length: 50 }, () =>
      servers.map((server) => server.ask("GET", "/v1/models", { key })),
    );
    const first = await Promise.all(asked.flat());
    const next = await Promise.all(servers.map((one) => one.ask("GET", "/v1/models", { key })));
    const admitted = first.filter(({ status }) => status === 200).length;
    // A call to Valkey that a busy machine delays is refused, although it was counted.
    expect([admitted > 60, admitted <= 120]).toEqual([true, true]);
    expect(next.map(({ status }) => status)).toEqual([429, 429, 429]);
  });

  test("refuse one without it, with a sentence that says what to set", async () => {
    const lone = await cluster.room.run(["serve", "--port", "0"], {
      env: { WADI_SERVER__DATABASE: cluster.url },
    });
    expect(lone).toMatchObject({ code: 1, stdout: "" });
    expect(lone.stderr).toMatch(/^wadi: servers that share their limits use .*set server\.valkey/);
  });
}
