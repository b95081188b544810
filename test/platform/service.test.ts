import { expect, test } from "bun:test";
import { joinServices, type Service } from "../../src/platform/service.ts";

function createService(name: string, seen: string[], fails?: "start" | "stop"): Service {
  const step = (what: "start" | "stop") => {
    seen.push(`${what} ${name}`);
    if (fails === what) throw new Error(`${name} fails to ${what}`);
  };
  return { name, start: () => step("start"), stop: () => step("stop") };
}

test("services start in order and stop in reverse", async () => {
  const seen: string[] = [];
  const services = joinServices([createService("a", seen), createService("b", seen)]);
  await services.start();
  await services.stop(0);
  expect(seen).toEqual(["start a", "start b", "stop b", "stop a"]);
});

test("a service that fails to start stops those before it and names the failure", async () => {
  const seen: string[] = [];
  const services = joinServices([
    createService("a", seen),
    createService("b", seen, "start"),
    createService("c", seen),
  ]);
  expect(services.start()).rejects.toThrow("b fails to start");
  await services.stop(0);
  expect(seen).toEqual(["start a", "start b", "stop a"]);
});

test("a service that fails to stop does not prevent the others from stopping", async () => {
  const seen: string[] = [];
  const services = joinServices([createService("a", seen), createService("b", seen, "stop")]);
  await services.start();
  expect(services.stop(0)).rejects.toThrow("services failed to stop");
  expect(seen).toEqual(["start a", "start b", "stop b", "stop a"]);
});

test("a second stop does nothing", async () => {
  const seen: string[] = [];
  const services = joinServices([createService("a", seen)]);
  await services.start();
  await services.stop(0);
  await services.stop(0);
  expect(seen).toEqual(["start a", "stop a"]);
});
