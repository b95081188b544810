// Tests the common parts of embeddings and search: state, quota per account, and changes.
import { describe, expect, test } from "bun:test";
import { MeteredService } from "../../../src/gateway/metered/service.ts";
import { ApiError } from "../../../src/platform/errors.ts";
import { caller } from "../../http/test-server.ts";
import { createManualClock } from "../../support/clock.ts";

interface Plan {
  kind: string;
  requests_per_minute: number;
  max_concurrent: number;
  max_queued: number;
  price: number | null;
  model: string;
}
const PLAN: Plan = {
  kind: "some",
  requests_per_minute: 2,
  max_concurrent: 1,
  max_queued: 0,
  price: null,
  model: "one",
};

/** A service that records opens, starts and stops; its work returns its backend's name. */
function openService(plan: Partial<Plan> = {}) {
  const clock = createManualClock();
  const noted: string[] = [];
  const down = new Set<string>();
  const service = new MeteredService({
    name: "wishes",
    clock,
    plan: { ...PLAN, ...plan },
    open({ kind, model }) {
      if (kind === "off") return null;
      noted.push(`open ${model}`);
      return {
        model,
        isDown: () => down.has(model),
        start: () => void noted.push(`start ${model}`),
        stop: () => void noted.push(`stop ${model}`),
      };
    },
  });
  const { signal } = new AbortController();
  const use = async (account_id: string | null = "a", work?: Promise<unknown>) => {
    const by = { ...caller, account_id };
    try {
      return await service.use(by, signal, async ({ model }) => {
        await work;
        return model;
      });
    } catch (failure) {
      if (!(failure instanceof ApiError)) throw failure;
      return [failure.code, failure.details.headers?.["retry-after"]].filter(Boolean).join(" ");
    }
  };
  const change = (other: Partial<Plan>) => service.change({ ...PLAN, ...plan, ...other });
  return { clock, service, noted, down, use, change };
}

test("gateway.limits.shared_capacity accounts take turns at a service", async () => {
  const { clock, use } = openService({ max_queued: 9, requests_per_minute: 9 });
  const held = Promise.withResolvers<void>();
  const ended: string[] = [];
  const ask = (account: string, name: string) =>
    use(account, held.promise).then(() => void ended.push(name));
  const asked = [ask("a", "a1"), ask("a", "a2"), ask("a", "a3"), ask("b", "b1")];
  held.resolve();
  await clock.advance(0);
  await Promise.all(asked);
  expect(ended.indexOf("b1")).toBeLessThan(ended.indexOf("a3"));
});

describe("gateway.errors.service_unavailable", () => {
  test("gateway.errors.service_unavailable is the answer while the service is off, and nothing is counted", async () => {
    const { service, use, change } = openService({ kind: "off" });
    expect(service.status().state).toBe("off");
    for (let n = 0; n < 3; n++) expect(await use()).toBe("service_unavailable");
    change({ kind: "some" });
    expect([service.status().state, await use(), await use()]).toEqual(["on", "one", "one"]);
  });

  test("is also the answer to a patient request, which takes no quota while the service is off", async () => {
    const { service, use, change } = openService({ kind: "off", requests_per_minute: 1 });
    const { signal } = new AbortController();
    const work = async ({ model }: { model: string }) => model;
    const usePatiently = () =>
      service.usePatiently({ ...caller, account_id: "a" }, signal, work, () => null);
    await expect(usePatiently()).rejects.toMatchObject({ code: "service_unavailable" });
    change({ kind: "some" });
    expect([await usePatiently(), await use()]).toEqual(["one", "rate_limit_exceeded 60"]);
  });

  test("the service is on, down or off, as its backend reports", () => {
    const { service, down, change } = openService();
    expect(service.status().state).toBe("on");
    down.add("one");
    expect(service.status().state).toBe("down");
    change({ kind: "off" });
    expect(service.status().state).toBe("off");
  });
});

describe("gateway.limits.embeddings_quota", () => {
  test("gateway.limits.embeddings_quota slides: each request is free again after 60 s", async () => {
    const { clock, use } = openService();
    expect(await use()).toBe("one");
    await clock.advance(20_000);
    expect(await use()).toBe("one");
    expect(await use()).toBe("rate_limit_exceeded 40");
    await clock.advance(39_999);
    expect(await use()).toBe("rate_limit_exceeded 1");
    await clock.advance(1);
    // A refusal closes nothing, and does not count.
    expect([await use(), await use()]).toEqual(["one", "rate_limit_exceeded 20"]);
  });

  test("gateway.limits.embeddings_quota is waited for where other processes count it", async () => {
    const { service, use } = openService();
    service.quota.follow(async () => 40_000);
    expect(await use()).toBe("rate_limit_exceeded 40");
  });

  test("gateway.limits.embeddings_quota belongs to the account, or to a key without one", async () => {
    const { use } = openService({ requests_per_minute: 1 });
    for (const account of ["a", "b", null]) {
      expect([account, await use(account), await use(account)]).toEqual([
        account,
        "one",
        "rate_limit_exceeded 60",
      ]);
    }
  });

  test("gateway.limits.embeddings_quota is counted before a slot is taken", async () => {
    const { use } = openService({ requests_per_minute: 2 });
    const held = Promise.withResolvers<void>();
    const first = use("a", held.promise);
    expect(await use("b")).toBe("capacity_exceeded 1");
    expect(await use("b")).toBe("capacity_exceeded 1");
    expect(await use("b")).toBe("rate_limit_exceeded 60");
    held.resolve();
    expect(await first).toBe("one");
  });

  test("gateway.limits.embeddings_quota has its new size for the next request after a change", async () => {
    const { use, change } = openService({ requests_per_minute: 1 });
    expect([await use(), await use()]).toEqual(["one", "rate_limit_exceeded 60"]);
    change({ requests_per_minute: 2 });
    expect([await use(), await use()]).toEqual(["one", "rate_limit_exceeded 60"]);
  });
});

describe("a change", () => {
  test("of size and price alone keeps the backend", async () => {
    const { service, noted, use, change } = openService();
    service.service.start();
    change({ max_concurrent: 2, max_queued: 1, requests_per_minute: 9, price: 100 });
    expect([await use(), noted]).toEqual(["one", ["open one", "start one"]]);
  });

  test("of anything else replaces the backend, and running or queued requests end on the old one", async () => {
    const { clock, service, noted, use, change } = openService({ max_queued: 2 });
    service.service.start();
    const held = Promise.withResolvers<void>();
    const early = [use("a", held.promise), use("b")];
    await clock.advance(0);
    change({ model: "two" });
    const late = use("c");
    held.resolve();
    expect(await Promise.all(early)).toEqual(["one", "one"]);
    expect(await late).toBe("two");
    expect(noted).toEqual(["open one", "start one", "stop one", "open two", "start two"]);
  });

  test("before the start, or after the stop, only opens the backend", () => {
    const { service, noted, change } = openService();
    change({ model: "two" });
    expect(noted).toEqual(["open one", "stop one", "open two"]);
    service.service.start();
    service.service.stop(0);
    change({ model: "three" });
    expect(noted.slice(3)).toEqual(["start two", "stop two", "stop two", "open three"]);
  });
});

test("the service reports its running and queued requests", async () => {
  const { clock, service, use } = openService({ max_queued: 3, requests_per_minute: 9 });
  const held = Promise.withResolvers<void>();
  const all = [use("a", held.promise), use("b"), use("c")];
  await clock.advance(0);
  expect(service.status()).toMatchObject({ inUse: 1, queued: 2 });
  held.resolve();
  expect(await Promise.all(all)).toEqual(["one", "one", "one"]);
  expect(service.status()).toMatchObject({ inUse: 0, queued: 0 });
});
