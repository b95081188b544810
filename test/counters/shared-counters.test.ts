// Tests that several processes together keep a limit, whatever happens to Valkey.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { processStore } from "../../src/cluster/store.ts";
import { counterStore } from "../../src/counters/store.ts";
import type { DatabaseLocation } from "../../src/database/index.ts";
import type { CompletionOk } from "../../src/models/index.ts";
import { Replicas } from "../../src/models/replicas/replicas.ts";
import { createSystemClock, yieldToEventLoop } from "../../src/platform/clock.ts";
import { type Ground, openEmptiedServer } from "../support/database.ts";
import { HAS_VALKEY, startValkey, type TestValkey } from "../support/valkey.ts";
import {
  type Attempt,
  attempt,
  countMost,
  openProcess,
  type TestProcess,
  until,
} from "./processes.ts";

const SERVER = process.env.WADI_TEST_POSTGRES;
const MINUTE = { requests_max: 120, windowMs: 60_000, closingMs: 60_000 };

if (SERVER && HAS_VALKEY) {
  describe("three processes on one database and Valkey", () => testProcesses(SERVER));
} else {
  test.skip("skipped: it needs WADI_TEST_POSTGRES and a Valkey or Redis server", () => {});
}

function testProcesses(server: string): void {
  let ground: Ground;
  let valkey: TestValkey;
  let place: Extract<DatabaseLocation, { kind: "postgres" }>;
  const open: TestProcess[] = [];
  beforeAll(async () => {
    ground = openEmptiedServer(server);
    valkey = await startValkey();
  });
  afterEach(async () => {
    for (const one of open.splice(0)) await one.stop();
  });
  afterAll(async () => {
    await valkey.stop();
    await ground.release();
  });

  async function start(rule = MINUTE, slots?: number): Promise<TestProcess[]> {
    place = { ...(await ground.makePlace()), isShared: true } as typeof place;
    const setup = {
      ...{ place, rule, slots },
      port: valkey.port,
      installation: crypto.randomUUID(),
    };
    for (let n = 0; n < 3; n++) open.push(await openProcess(setup));
    await until(() => open.every(({ isOn }) => isOn));
    return [...open];
  }

  const askAll = (all: readonly TestProcess[], each: number) =>
    Promise.all(all.flatMap((one) => Array.from({ length: each }, () => attempt(one, "a"))));
  /** Lets work go on before Valkey stops, while it is away and behind its return. */
  const throughLoss = async (all: readonly TestProcess[], goOn: () => Promise<void>) => {
    await goOn();
    await valkey.stop();
    await until(() => !all.some(({ isOn }) => isOn));
    await goOn();
    await valkey.start();
    await until(() => all.every(({ isOn }) => isOn));
    await goOn();
  };
  const countAdmitted = (attempts: readonly Attempt[]) =>
    attempts.filter(({ waitMs }) => waitMs === 0).length;

  test("admit exactly 120 requests in a minute, however many are asked of each", async () => {
    const all = await start();
    const attempts = await askAll(all, 80);
    expect(countAdmitted(attempts)).toBe(120);
    expect(attempts.every(({ waitMs }) => waitMs >= 0 && waitMs <= 60_000)).toBe(true);
  });

  test("never admit more than the limit in any window, and go on after each", async () => {
    const windowMs = 400;
    const all = await start({ requests_max: 20, windowMs, closingMs: 0 });
    const attempts: Attempt[] = [];
    while (countAdmitted(attempts) < 80) attempts.push(...(await askAll(all, 3)));
    expect(countMost(attempts, windowMs)).toBe(20);
  });

  test("keep a closing in force when Valkey restarts without its data", async () => {
    const all = await start();
    await askAll(all, 50);
    await valkey.stop();
    await valkey.start();
    const attempts: Attempt[] = [];
    do attempts.push(...(await askAll(all, 1)));
    while (!attempts.some(({ waitMs }) => waitMs > 30_000));
    await until(() => all.every(({ isOn }) => isOn));
    attempts.push(...(await askAll(all, 5)));
    expect(countAdmitted(attempts)).toBe(0);
    expect(attempts.at(-1)!.waitMs).toBeGreaterThan(30_000);
  });

  test("count in PostgreSQL while Valkey is away, and in Valkey again: 120 in sum", async () => {
    const all = await start();
    const attempts = await askAll(all.slice(0, 1), 100);
    expect(countAdmitted(attempts)).toBe(100);
    await valkey.stop();
    // Nobody decides until all have reported: refused for a second, and asked again.
    while (countAdmitted(attempts) < 110) attempts.push(...(await askAll(all, 1)));
    expect(all.some(({ isOn }) => isOn)).toBe(false);
    await valkey.start();
    await until(() => all.every(({ isOn }) => isOn));
    attempts.push(...(await askAll(all, 30)));
    expect(countAdmitted(attempts)).toBe(120);
  });

  test("count in PostgreSQL all together when one alone does not reach Valkey", async () => {
    const all = await start();
    const attempts = await askAll(all, 30);
    all[0]!.proxy.swallow();
    while (countAdmitted(attempts) < 100) attempts.push(...(await askAll(all, 1)));
    await until(() => !all.some(({ isOn }) => isOn));
    all[0]!.proxy.heal();
    await until(() => all.every(({ isOn }) => isOn));
    attempts.push(...(await askAll(all, 30)));
    expect(countAdmitted(attempts)).toBe(120);
  });

  test("never exceed the limit while Valkey restarts under load", async () => {
    const windowMs = 3_000;
    const all = await start({ requests_max: 40, windowMs, closingMs: 0 });
    const attempts: Attempt[] = [];
    let isOver = false;
    const loads = all.map(async (one) => {
      while (!isOver) attempts.push(await attempt(one, "a"));
    });
    for (let n = 0; n < 3; n++) {
      await until(() => all.every(({ isOn }) => isOn));
      await valkey.stop();
      await until(() => !all.some(({ isOn }) => isOn));
      await valkey.start();
    }
    await until(() => all.every(({ isOn }) => isOn) && countAdmitted(attempts) > 40);
    isOver = true;
    await Promise.all(loads);
    expect(countMost(attempts, windowMs)).toBeLessThanOrEqual(40);
  });

  test("answer that Retry-After is a second while one has not reported", async () => {
    const all = await start();
    await askAll(all, 20);
    // A process that lives and does not answer: frozen, or cut off from the database.
    const processes = all[0]!.database.bind(processStore);
    const frozen = await processes.register(Date.now());
    await valkey.stop();
    await until(() => !all.some(({ isOn }) => isOn));
    const attempts = await askAll(all, 5);
    expect(attempts.map(({ waitMs }) => waitMs)).toEqual(Array(15).fill(1_000));
    await processes.end(frozen, 0);
    while (countAdmitted(attempts) < 60) attempts.push(...(await askAll(all, 1)));
    while (attempts.at(-1)!.waitMs < 30_000) attempts.push(...(await askAll(all, 1)));
    expect(countAdmitted(attempts)).toBe(60);
    await valkey.start();
  });

  test("remember what a process admitted that has stopped, and wait for nobody then", async () => {
    const all = await start();
    const attempts = await askAll(all.slice(0, 1), 70);
    await open.shift()!.stop();
    await valkey.stop();
    const others = all.slice(1);
    while (countAdmitted(attempts) < 120) attempts.push(...(await askAll(others, 1)));
    while (attempts.at(-1)!.waitMs < 30_000) attempts.push(...(await askAll(others, 1)));
    expect(countAdmitted(attempts)).toBe(120);
    await valkey.start();
  });

  test("notice that Valkey was emptied, and count what they have admitted", async () => {
    const all = await start();
    const attempts = await askAll(all, 30);
    await valkey.send("FLUSHALL");
    while (!attempts.some(({ waitMs }) => waitMs > 30_000)) {
      attempts.push(...(await askAll(all, 4)));
    }
    await until(() => all.every(({ isOn }) => isOn));
    attempts.push(...(await askAll(all, 10)));
    expect(countAdmitted(attempts)).toBe(120);
  });

  test.each([
    ["is full", ["maxmemory", "1"], ["maxmemory", "0"]],
    ["lacks its replicas", ["min-replicas-to-write", "1"], ["min-replicas-to-write", "0"]],
  ])("count in PostgreSQL while Valkey answers and %s", async (_, fault, mended) => {
    const all = await start();
    const attempts = await askAll(all, 10);
    const places = all[0]!.database.bind(counterStore);
    await valkey.send("CONFIG", "SET", ...fault);
    while (countAdmitted(attempts) < 60) attempts.push(...(await askAll(all, 1)));
    const { mode, term } = (await places.find())!;
    expect(mode).toBe("database");
    // Each of them has looked at Valkey twice, and stays.
    let own = 0;
    const countLooks = async () => {
      const stats = String(await valkey.send("INFO", "commandstats"));
      return Number(/cmdstat_info:calls=(\d+)/.exec(stats)?.[1] ?? 0) - own++;
    };
    for (const before = await countLooks(); (await countLooks()) < before + 6; ) {
      attempts.push(...(await askAll(all, 1)));
    }
    expect(await places.find()).toMatchObject({ mode: "database", term });
    await valkey.send("CONFIG", "SET", ...mended);
    await until(() => all.every(({ isOn }) => isOn));
    attempts.push(...(await askAll(all, 40)));
    expect(countAdmitted(attempts)).toBe(120);
  });

  test("keep the slots of requests under way while the database is away", async () => {
    const [first, second] = await start();
    const slots = (one: TestProcess, keep: number, wanted: number) =>
      one.counters.reserve("m", { keep, wanted, max: 4 });
    expect(await slots(first!, 0, 4)).toBe(4);
    const readEnd = async () => {
      const [key] = (await valkey.send("KEYS", "*:slots:m")) as string[];
      const all = (await valkey.send("HGETALL", key!)) as Record<string, string>;
      return Number(all[first!.epoch]!.split(" ")[1]);
    };
    first!.databaseProxy.swallow();
    while ((await slots(first!, 4, 9)) !== null);
    // It uses no more slots, and gives none away.
    for (let told = 0, last = await readEnd(); told < 3; ) {
      const next = await readEnd();
      if (next > last) told += 1;
      last = next;
    }
    expect(await slots(second!, 0, 1)).toBe(0);
    first!.databaseProxy.heal();
    const { database } = first!;
    while (
      !(await database
        .bind(counterStore)
        .find()
        .catch(() => null))
    )
      await yieldToEventLoop();
  }, 60_000);

  test("use no more slots in sum than there are, also while Valkey is away", async () => {
    const all = await start(MINUTE, 2);
    let [inUse, most, done] = [0, 0, 0];
    let isOver = false;
    const load = async ({ capacity }: TestProcess) => {
      while (!isOver) {
        const { signal } = new AbortController();
        await capacity.tryUse("a", signal, async () => {
          most = Math.max(most, ++inUse);
          await new Promise((resolve) => setTimeout(resolve, 5));
          inUse -= 1;
          done += 1;
        });
      }
    };
    const loads = all.flatMap((one) => [load(one), load(one)]);
    const more = async () => {
      const before = done;
      await until(() => done > before + 30);
    };
    await throughLoss(all, more);
    isOver = true;
    await Promise.all(loads);
    expect(most).toBe(2);
  });

  test("send a model server no more than max_in_flight in sum, and all of it, also while Valkey is away", async () => {
    const all = await start();
    const inUse = all.map(() => 0);
    const done = all.map(() => 0);
    let most = 0;
    let isOver = false;
    const log = { info() {}, warn() {}, error() {} };
    const { signal } = new AbortController();
    const load = async (replicas: Replicas<null>, n: number) => {
      while (!isOver) {
        await replicas.call<CompletionOk>({ account: "a", signal }, async () => {
          inUse[n]! += 1;
          most = Math.max(most, inUse[0]! + inUse[1]! + inUse[2]!);
          await new Promise((resolve) => setTimeout(resolve, 5));
          inUse[n]! -= 1;
          done[n]! += 1;
          return { ok: true } as CompletionOk;
        });
      }
    };
    const models = all.map(({ sharedSlots }) => {
      const options = { max_in_flight: 4, first_token_timeout_ms: 60_000, health_every_ms: 60_000 };
      const servers = [{ name: "host:1", server: null, check: null }];
      const clock = createSystemClock();
      return new Replicas(servers, { ...options, model: "m", sharedSlots, clock, log });
    });
    const loads = models.flatMap((one, n) => Array.from({ length: 6 }, () => load(one, n)));
    /** Every process has its share, though each could use all slots. */
    const more = async () => {
      const before = [...done];
      await until(() => done.every((count, n) => count > before[n]! + 10));
    };
    await throughLoss(all, more);
    isOver = true;
    await Promise.all(loads);
    for (const one of models) one.stop();
    expect(most).toBe(4);
  });

  test("leave others their share of slots, and the rest in turns", async () => {
    const [first, second, third] = await start();
    const reserve = (one: TestProcess, keep: number, wanted: number, max: number) =>
      one.counters.reserve("m", { keep, wanted, max });
    expect([await reserve(first!, 0, 4, 4), await reserve(second!, 0, 9, 4)]).toEqual([4, 0]);
    // What is in use stays counted.
    expect([await reserve(first!, 4, 4, 4), await reserve(second!, 0, 9, 4)]).toEqual([2, 0]);
    expect([await reserve(first!, 3, 4, 4), await reserve(second!, 0, 9, 4)]).toEqual([2, 1]);
    expect([await reserve(first!, 2, 4, 4), await reserve(second!, 1, 9, 4)]).toEqual([2, 2]);
    // One that wants no more leaves the rest.
    expect([await reserve(first!, 0, 1, 4), await reserve(second!, 2, 9, 4)]).toEqual([1, 3]);
    // One that wanted none for a moment comes last again.
    for (const one of [first!, second!]) await reserve(one, 0, 0, 1);
    expect([await reserve(second!, 0, 1, 1), await reserve(second!, 0, 0, 1)]).toEqual([1, 0]);
    expect([await reserve(first!, 0, 0, 1), await reserve(third!, 0, 0, 1)]).toEqual([0, 0]);
    expect([await reserve(first!, 0, 1, 1), await reserve(third!, 0, 1, 1)]).toEqual([1, 0]);
    expect(await reserve(first!, 0, 0, 1)).toBe(0);
    expect([await reserve(second!, 0, 1, 1), await reserve(first!, 0, 1, 1)]).toEqual([0, 0]);
    expect(await reserve(third!, 0, 1, 1)).toBe(1);
    // What cannot be divided goes round: each lacks it and has it in turn.
    for (const max of [1, 2]) {
      const all = [first!, second!, third!];
      for (const one of all) await reserve(one, 0, 0, max);
      const used = [0, 0, 0];
      const changes = [0, 0, 0];
      for (let turn = 0; !changes.every((count) => count >= 2); turn++) {
        const at = turn % 3;
        const granted = (await reserve(all[at]!, 0, 1, max))!;
        if (granted !== used[at]) changes[at]! += 1;
        used[at] = granted;
        expect(used[0]! + used[1]! + used[2]!).toBeLessThanOrEqual(max);
      }
    }
  });
}
