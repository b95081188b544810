// Both sides of 26 November 2026 and 4 January 2027 in the compiled program, under a shifted clock.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { executable } from "../../scripts/build.ts";
import { openRoom, type Room, type Server } from "../support/binary.ts";

/** The program's clock continues from there: it stays half an hour before the next instant. */
const SIDES: [now: string, status: number, sunset: string | null][] = [
  ["2026-11-25T23:30:00Z", 201, null],
  ["2026-11-26T00:00:00Z", 201, "Mon, 04 Jan 2027 00:00:00 GMT"],
  ["2027-01-03T23:30:00Z", 201, "Mon, 04 Jan 2027 00:00:00 GMT"],
  ["2027-01-04T00:00:00Z", 404, null],
];

let room: Room;
beforeAll(() => {
  room = openRoom();
});
afterAll(() => room.close());

async function expectSide(server: Server, status: number, sunset: string | null) {
  for (const stream of [false, true]) {
    const unknown = await server.chat("Hello", { body: { model: "unheard-of", stream } });
    expect(unknown.status).toBe(status);
    expect(unknown.headers.get("deprecation")).toBe(status === 201 ? "@1790467200" : null);
    expect(unknown.headers.get("link")).toEqual(
      status === 201 ? expect.stringContaining('; rel="deprecation"; type="text/html"') : null,
    );
    expect(unknown.headers.get("sunset")).toBe(sunset);
    const text = await unknown.text();
    expect(text).toContain(status === 201 ? "You" : '"code":"model_not_found"');
    for (const model of ["svc", "svc-v0", "stub-1", undefined]) {
      const known = await server.chat("Hello", { body: { model, stream } });
      expect([model, known.status]).toEqual([model, 201]);
      for (const name of ["deprecation", "link", "sunset"])
        expect([model, known.headers.get(name)]).toEqual([model, null]);
      await known.text();
    }
  }
}

describe.each(SIDES)("gateway.versioning.3 at %s", (now, status, sunset) => {
  test("`wadi dev --now` replies as at that time", async () => {
    const server = await room.serve(["dev", "--port", "0", "--now", now]);
    await expectSide(server, status, sunset);
  });

  // With `faketime` the whole machine seems to be at that date.
  const faketime = Bun.which("faketime");
  test.skipIf(faketime === null)(
    "`wadi serve` does when the machine's clock has that time",
    async () => {
      const shift = [faketime!, "-m", "--exclude-monotonic", "-f", writeStart(now)];
      const data = `data-${now.slice(0, 13)}`;
      const server = await room.serve(["serve", "--port", "0", "--data", data], {
        command: [...shift, executable()],
        env: { TZ: "UTC" },
      });
      await expectSide(server, status, sunset);
      // `faketime` runs it as a child of its own, which would outlive it.
      Bun.spawnSync(["pkill", "-KILL", "-P", String(server.pid)]);
      await server.exited;
    },
  );
});

/** Format in which `faketime` reads a start of the clock. */
function writeStart(now: string): string {
  return `@${now.slice(0, 19).replace("T", " ")}`;
}
