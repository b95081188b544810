// Tests the health pages for load balancers and supervisors.
import { expect, test } from "bun:test";
import { createHealthPages, type ServiceHealth } from "../../src/http/health.ts";
import { createManualClock } from "../support/clock.ts";

const request = new Request("http://localhost/");

function createTrial(isReady: () => Promise<boolean>, beside: readonly ServiceHealth[] = []) {
  const clock = createManualClock();
  const place = { isLeaving: false };
  const pages = createHealthPages({
    clock,
    isReady,
    isLeaving: () => place.isLeaving,
    listServices: () => beside,
  });
  const ask = async (path: string) => {
    const response = await pages.find((page) => page.path === path)!.answer(request);
    return [response.status, await response.text()];
  };
  return { clock, place, ask };
}

test("liveness does not depend on readiness", async () => {
  const { ask } = createTrial(() => Promise.reject(new Error("secret detail")));
  expect(await ask("/healthz")).toEqual([200, "ok\n"]);
});

test("readiness has no details", async () => {
  expect(await createTrial(async () => true).ask("/readyz")).toEqual([200, "ready\n"]);
  expect(await createTrial(async () => false).ask("/readyz")).toEqual([503, "not ready\n"]);
  const broken = createTrial(() => Promise.reject(new Error("secret detail")));
  expect(await broken.ask("/readyz")).toEqual([503, "not ready\n"]);
});

test("concurrent requests share one check, and a second later it runs again", async () => {
  let checks = 0;
  let isReady = true;
  const { clock, ask } = createTrial(async () => {
    checks++;
    return isReady;
  });
  await Promise.all(Array.from({ length: 100 }, () => ask("/readyz")));
  expect(checks).toBe(1);
  isReady = false;
  await clock.advance(999);
  expect(await ask("/readyz")).toEqual([200, "ready\n"]);
  await clock.advance(1);
  expect(await ask("/readyz")).toEqual([503, "not ready\n"]);
  expect(checks).toBe(2);
});

test("each service beside chat has a line, which does not affect readiness", async () => {
  const beside: ServiceHealth[] = [
    { name: "embeddings", state: "on" },
    { name: "search", state: "down" },
  ];
  const { ask } = createTrial(async () => true, beside);
  expect(await ask("/readyz")).toEqual([200, "ready\nembeddings on\nsearch down\n"]);
  // The state is read at each request: that is cheap.
  beside[1]!.state = "off";
  expect(await ask("/readyz")).toEqual([200, "ready\nembeddings on\nsearch off\n"]);
  const sick = createTrial(async () => false, beside);
  expect(await sick.ask("/readyz")).toEqual([503, "not ready\nembeddings on\nsearch off\n"]);
});

test("a check that never answers gives not ready after 900 ms, and runs once", async () => {
  let checks = 0;
  const answer = Promise.withResolvers<boolean>();
  const { clock, ask } = createTrial(() => {
    checks++;
    return answer.promise;
  });
  const first = ask("/readyz");
  await clock.advance(899);
  const second = ask("/readyz");
  await clock.advance(1);
  expect(await first).toEqual([503, "not ready\n"]);
  await clock.advance(900);
  expect(await second).toEqual([503, "not ready\n"]);
  const third = ask("/readyz");
  await clock.advance(900);
  expect(await third).toEqual([503, "not ready\n"]);
  expect(checks).toBe(1);
  answer.resolve(true);
  await clock.advance(1_000);
  expect(await ask("/readyz")).toEqual([200, "ready\n"]);
  expect(checks).toBe(2);
});

test("a server that stops is not ready at once, also where a check was under way", async () => {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const { place, ask } = createTrial(() => promise);
  const asked = ask("/readyz");
  place.isLeaving = true;
  resolve(true);
  expect(await asked).toEqual([503, "not ready\n"]);
  expect(await ask("/readyz")).toEqual([503, "not ready\n"]);
});
