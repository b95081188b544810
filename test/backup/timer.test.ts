// Tests backups on a timer: when they are made, which are kept, in a folder and in a bucket.
import { beforeAll, expect, test } from "bun:test";
import { existsSync, readdirSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BackupError } from "../../src/backup/format.ts";
import {
  type BackupDestination,
  BackupTimer,
  openBackupDestination,
  restoreBackup,
} from "../../src/backup/index.ts";
import type { TransferPlace } from "../../src/database/index.ts";
import type { LogFields } from "../../src/platform/log.ts";
import { openMetrics } from "../../src/platform/metrics.ts";
import { readSettings } from "../../src/settings/index.ts";
import { type Bucket, openBucket } from "../support/bucket.ts";
import { createManualClock } from "../support/clock.ts";
import { failureOf } from "../support/database.ts";
import { createSeededIds } from "../support/ids.ts";
import { fill, findDeadPid, makeDirectory, placeFile, readAll } from "./fixture.ts";

const MINUTE_MS = 60_000;
const ID = "0198f000-0000-4000-8000-000000000001";
let place: TransferPlace;

beforeAll(async () => {
  place = placeFile();
  await fill(place);
});

const read = (lines: string) =>
  readSettings(`[backup]\n${lines}`, "wadi.toml", { SECRET: "abc" }, {}).backup;

/** A timer that says when it has made, or failed to make, its next backup. */
function openTimer(
  lines: string,
  changed: Partial<BackupDestination> = {},
  readId = async () => ID,
) {
  const clock = createManualClock();
  const settings = read(lines);
  const destination = openBackupDestination(settings, "unused", clock);
  let next = Promise.withResolvers<[string, LogFields?]>();
  const note = (message: string, fields?: LogFields) => {
    next.resolve([message, fields]);
    next = Promise.withResolvers();
  };
  const timer = new BackupTimer({
    ...{ place, program: "1.2.3", clock, log: { info: note, warn: note, error: note } },
    destination: { ...destination, ...changed },
    readId,
    everyMs: settings.every_ms,
    keep: settings.keep,
  });
  return { timer, clock, destination, said: () => next.promise };
}

const nameBucket = ({ url }: Bucket, keyId = "AK") =>
  `every = "5m"\nkeep = 3\nto = "s3://acme-backups/wadi/"\nendpoint = "${url}"\n` +
  `access_key_id = "${keyId}"\nsecret_access_key_env = "SECRET"`;
const nameAt = (time: string) => `wadi-0198f000-20261120T${time}Z.backup`;

test("backups are made at once and then each interval, and the oldest are deleted", async () => {
  const directory = makeDirectory();
  const foreign = "wadi-11111111-20200101T000000Z.backup";
  writeFileSync(join(directory, foreign), "of another installation");
  writeFileSync(join(directory, `${nameAt("110000")}.${await findDeadPid()}.part`), "of a kill");
  const { timer, clock, said } = openTimer(`every = "5m"\nkeep = 2\nto = "${directory}"`);
  for (let count = 0; count < 4; count++) {
    const made = said();
    if (count === 0) timer.start();
    else await clock.advance(5 * MINUTE_MS);
    expect((await made)[0]).toBe("backup: made");
    await clock.advance(0);
  }
  await timer.stop(1_000);
  expect(readdirSync(directory).sort()).toEqual([nameAt("121000"), nameAt("121500"), foreign]);
});

test("a backup of a time to come counts as made now", async () => {
  const directory = makeDirectory();
  writeFileSync(join(directory, nameAt("180000")), "by a wrong clock");
  const { timer, clock, said } = openTimer(`every = "5m"\nto = "${directory}"`);
  timer.start();
  while (timer.readState().made_at === null) await clock.advance(0);
  expect(timer.readState().made_at).toBe(clock.now());
  const made = said();
  await clock.advance(5 * MINUTE_MS);
  expect((await made)[0]).toBe("backup: made");
  await timer.stop(1_000);
});

test("the state and the metrics tell the newest backup, and why none was made", async () => {
  const directory = makeDirectory();
  const file = join(directory, "file");
  writeFileSync(file, "");
  const broken = openTimer(`every = "5m"\nto = "${file}"`);
  const { timer, clock, said } = openTimer(`every = "5m"\nto = "${directory}"`);
  const show = async (shown: BackupTimer) => {
    const metrics = await openMetrics();
    shown.show(metrics);
    const values = (await metrics.read()).map(({ values }) => values[0]?.value);
    return { ...shown.readState(), values };
  };
  expect(await show(timer)).toEqual({ made_at: null, failure: null, values: [undefined, 300] });
  const failed = broken.said();
  broken.timer.start();
  await failed;
  const { made_at, failure, values } = await show(broken.timer);
  expect([made_at, values]).toEqual([null, [0, 300]]);
  expect(failure).toContain("file");
  await broken.timer.stop(1_000);
  const made = said();
  timer.start();
  await made;
  const now = clock.now();
  expect(await show(timer)).toEqual({ made_at: now, failure: null, values: [now / 1_000, 300] });
  await timer.stop(1_000);
});

test("a destination that could not take a backup is found before one is due", async () => {
  const clock = createManualClock();
  const directory = makeDirectory();
  const open = (lines: string) => openBackupDestination(read(lines), "unused", clock);
  const below = join(directory, "not", "there");
  await open(`to = "${below}"`).check();
  expect(existsSync(below)).toBeFalse();
  const file = join(directory, "file");
  writeFileSync(file, "");
  const refusal = await failureOf(open(`to = "${file}"`).check());
  expect(refusal.message).toBe(`${file} is no folder`);
  expect((await failureOf(open(`to = "${join(file, "below")}"`).check())).name).toBe("BackupError");
  using bucket = openBucket("AK");
  await open(nameBucket(bucket)).check();
  await failureOf(open(nameBucket(bucket, "other")).check());
  expect(bucket.objects.size).toBe(0);
});

test("a start makes none before the interval since the last one has passed", async () => {
  const directory = makeDirectory();
  writeFileSync(join(directory, nameAt("115700")), "made before the start");
  const { timer, clock, said } = openTimer(`every = "5m"\nto = "${directory}"`);
  const made = said();
  timer.start();
  await clock.advance(2 * MINUTE_MS - 1);
  expect(readdirSync(directory)).toHaveLength(1);
  await clock.advance(1);
  expect((await made)[1]).toMatchObject({ what: nameAt("120200") });
  await timer.stop(1_000);
});

const FAILED = "backup: no backup was made; it is tried again";

test("the folder that backups make is their owner's only", async () => {
  const folder = join(makeDirectory(), "backups");
  const { destination } = openTimer(`every = "5m"\nto = "${folder}"`);
  expect(await destination.list("wadi-")).toEqual([]);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
});

test("a folder that cannot be written to is logged, and tried again after a minute", async () => {
  const file = join(makeDirectory(), "file");
  writeFileSync(file, "");
  const { timer, clock, said } = openTimer(`every = "5m"\nto = "${file}/below"`);
  let failed = said();
  const reason = `${file}/below cannot be written (ENOTDIR): a part of its path is no directory`;
  timer.start();
  expect(await failed).toEqual([FAILED, { reason }]);
  failed = said();
  await clock.advance(MINUTE_MS);
  expect(await failed).toEqual([FAILED, { reason }]);
  expect(timer.readState()).toEqual({ made_at: null, failure: reason });
  unlinkSync(file);
  const made = said();
  await clock.advance(MINUTE_MS);
  expect((await made)[0]).toBe("backup: made");
  expect(timer.readState()).toEqual({ made_at: clock.now(), failure: null });
  await timer.stop(1_000);
});

test("a backup that fails is tried again after a minute, and its time and the next are its own", async () => {
  const directory = makeDirectory();
  let tries = 0;
  const { timer, clock, destination, said } = openTimer(`every = "5m"\nto = "${directory}"`, {
    async create(prefix, name) {
      tries++;
      if (tries === 1) throw new BackupError("no space");
      // The backup takes two minutes.
      await clock.advance(2 * MINUTE_MS);
      return destination.create(prefix, name);
    },
  });
  const failed = said();
  timer.start();
  expect(await failed).toEqual([expect.any(String), { reason: "no space" }]);
  let made = said();
  await clock.advance(MINUTE_MS);
  expect((await made)[0]).toBe("backup: made");
  expect(timer.readState().made_at).toBe(clock.now() - 2 * MINUTE_MS);
  made = said();
  await clock.advance(5 * MINUTE_MS - 1);
  expect(tries).toBe(2);
  await clock.advance(1);
  await made;
  await timer.stop(1_000);
});

test("an interval above the longest delay of a timer is waited for in hours", async () => {
  const directory = makeDirectory();
  writeFileSync(join(directory, nameAt("115700")), "made before the start");
  const days = 30 * 24 * 60 * MINUTE_MS;
  let looks = 0;
  const countLooks = async () => {
    looks += 1;
    return ID;
  };
  const { timer, clock, said } = openTimer(`every = "30d"\nto = "${directory}"`, {}, countLooks);
  const made = said();
  timer.start();
  await clock.advance(2 * 60 * MINUTE_MS);
  expect(looks).toBe(3);
  await clock.advance(days - 2 * 60 * MINUTE_MS);
  expect((await made)[0]).toBe("backup: made");
  looks = 0;
  await clock.advance(60 * MINUTE_MS);
  expect(looks).toBe(1);
  await timer.stop(1_000);
});

test("a bucket gets whole backups, keeps the newest, and refuses a wrong key", async () => {
  using bucket = openBucket("AK");
  const lines = (keyId: string) => nameBucket(bucket, keyId);
  for (const name of ["110000", "110500", "111000", "111500"]) {
    bucket.objects.set(`wadi/${nameAt(name)}`, new Uint8Array());
  }
  const { timer, clock, said, destination } = openTimer(lines("AK"));
  // Its lists come in pages of two.
  expect(await destination.list("wadi-")).toEqual(
    ["110000", "110500", "111000", "111500"].map(nameAt),
  );
  const made = said();
  timer.start();
  expect((await made)[0]).toBe("backup: made");
  await timer.stop(1_000);
  await clock.advance(0);
  const kept = ["111000", "111500", "120000"].map((time) => `wadi/${nameAt(time)}`);
  expect([...bucket.objects.keys()].sort()).toEqual(kept);
  const file = join(makeDirectory(), "fetched.backup");
  writeFileSync(file, bucket.objects.get(kept[2]!)!);
  const copy = placeFile();
  const ids = createSeededIds();
  await restoreBackup({ file, place: copy, placeName: "copy", replaces: false, clock, ids });
  expect(await readAll(copy)).toEqual(await readAll(place));

  const refused = openTimer(lines("OTHER"));
  const failed = refused.said();
  refused.timer.start();
  const named = `s3://acme-backups/wadi/ at ${URL.parse(bucket.url)!.host}`;
  expect(await failed).toEqual([
    FAILED,
    { reason: `${named} refuses the backup (AccessDenied): Access Denied.` },
  ]);
  await refused.timer.stop(1_000);
});

test("an endpoint that does not answer is named, with the code and no secret", async () => {
  const bucket = openBucket("AK");
  bucket[Symbol.dispose]();
  const { timer, said } = openTimer(nameBucket(bucket));
  const failed = said();
  timer.start();
  expect(await failed).toEqual([
    FAILED,
    {
      reason:
        `s3://acme-backups/wadi/ at ${URL.parse(bucket.url)!.host} cannot be reached ` +
        "(ConnectionRefused): correct `endpoint`, or start its server",
    },
  ]);
  await timer.stop(1_000);
});

test("what a bucket answers is told in 300 harmless characters, and its region has a default", async () => {
  const signed: (string | null)[] = [];
  using server = Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0 },
    fetch({ headers }) {
      signed.push(headers.get("authorization"));
      const message = `Go\t away ${"x".repeat(400)}`;
      const error = `<Code>Denied</Code><Message>${message}</Message>`;
      return new Response(`<Error>${error}</Error>`, { status: 403 });
    },
  });
  const { destination } = openTimer(
    nameBucket({ url: `http://127.0.0.1:${server.port}` } as Bucket),
  );
  const { message } = await failureOf(destination.list("wadi-"));
  const told = `Go  away ${"x".repeat(400)}`.slice(0, 300);
  expect(message).toEndWith(`refuses the backup (Denied): ${told}`);
  expect(signed[0]).toContain("/us-east-1/s3/");
});

test("an abandoned upload leaves no object, in one part or in many", async () => {
  using bucket = openBucket("AK");
  const { destination } = openTimer(nameBucket(bucket));
  for (const bytes of [1_000, 40 * 1_048_576]) {
    const file = await destination.create("wadi-", nameAt("120000"));
    await file.write(Buffer.alloc(bytes));
    await file.abandon();
    expect(bucket.objects.size).toBe(0);
  }
  await bucket.cancelled;
  expect(bucket.objects.size).toBe(0);
});

test("a pause ends the backup under way, and none begins before the resume", async () => {
  const directory = makeDirectory();
  const begun = Promise.withResolvers<void>();
  const opened = openTimer(`every = "5m"\nto = "${directory}"`, {
    create(prefix, name) {
      begun.resolve();
      return opened.destination.create(prefix, name);
    },
  });
  const { timer, clock, said } = opened;
  timer.start();
  await begun.promise;
  await timer.pause();
  await clock.advance(10 * MINUTE_MS);
  expect(readdirSync(directory)).toEqual([]);
  expect(timer.readState()).toEqual({ made_at: null, failure: null });
  // Another process has made one meanwhile.
  writeFileSync(join(directory, nameAt("120900")), "");
  timer.resume();
  await clock.advance(4 * MINUTE_MS - 1);
  expect(readdirSync(directory)).toHaveLength(1);
  const made = said();
  await clock.advance(1);
  expect((await made)[1]).toMatchObject({ what: nameAt("121400") });
  await timer.stop(1_000);
});

test("the oldest are deleted, in whatever order a destination lists them", async () => {
  const directory = makeDirectory();
  const old = ["100000", "110000", "090000"].map(nameAt);
  for (const name of [...old, "wadi-0198f000-notes.txt"]) writeFileSync(join(directory, name), "");
  const { timer, destination, said } = openTimer(`every = "5m"\nkeep = 2\nto = "${directory}"`, {
    list: async (prefix) => (await destination.list(prefix)).toSorted().toReversed(),
  });
  const made = said();
  timer.start();
  await made;
  await timer.stop(1_000);
  const left = [nameAt("110000"), nameAt("120000"), "wadi-0198f000-notes.txt"];
  expect(readdirSync(directory).sort()).toEqual(left);
});

test("an old backup that cannot be deleted is no reason to make one again", async () => {
  const directory = makeDirectory();
  writeFileSync(join(directory, nameAt("110000")), "");
  const { timer, clock, said } = openTimer(`every = "5m"\nkeep = 1\nto = "${directory}"`, {
    remove: () => Promise.reject(new Error("denied")),
  });
  const made = said();
  timer.start();
  expect((await made)[0]).toBe("backup: made");
  expect((await said())[0]).toBe("backup: old backups were not removed");
  await clock.advance(2 * MINUTE_MS);
  expect(readdirSync(directory).sort()).toEqual([nameAt("110000"), nameAt("120000")]);
  await timer.stop(1_000);
});

test("a destination that never answers delays the end of a server by seconds only", async () => {
  const never = { list: () => new Promise<never>(() => {}) };
  const { timer, clock } = openTimer('every = "5m"', never);
  timer.start();
  const stopped = timer.stop(600_000);
  await clock.advance(5_000);
  await stopped;
  expect(clock.monotonic()).toBe(5_000);
});

test("a bucket that never answers ends a check while a person waits for it", async () => {
  using silent = Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0, idleTimeout: 0 },
    fetch: () => new Promise<Response>(() => {}),
  });
  const bucket = { url: silent.url.origin } as Bucket;
  const clock = createManualClock();
  const checked = openBackupDestination(read(nameBucket(bucket)), "unused", clock).check();
  const refusal = checked.catch(({ message }) => message);
  await clock.advance(15_000);
  expect(await refusal).toContain("does not answer");
});
