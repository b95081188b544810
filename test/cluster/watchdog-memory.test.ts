// Tests the shared memory between the event loop and its watchdog.
import { expect, test } from "bun:test";
import {
  MEMORY_BYTES,
  WatchdogMemory,
  WatchdogMemoryReader,
} from "../../src/cluster/watchdog-memory.ts";

const open = () => {
  const memory = new SharedArrayBuffer(MEMORY_BYTES);
  return { writer: new WatchdogMemory(memory), reader: new WatchdogMemoryReader(memory) };
};
const call = (id: string) => ({ run_id: `r-${id}`, epoch: 7, call: `call_${id}` });

test("heartbeats are counted", () => {
  const { writer, reader } = open();
  writer.beat();
  writer.beat();
  expect(reader.countBeats()).toBe(2);
});

test("checks are silent while no heartbeat comes, and any heartbeat ends their count", () => {
  const { writer, reader } = open();
  const check = () => reader.checkSilence();
  expect([check(), check()]).toEqual([1, 2]);
  writer.beat();
  expect([check(), check(), check()]).toEqual([0, 1, 2]);
  writer.beat();
  writer.beat();
  expect([check(), check()]).toEqual([0, 1]);
});

test("a call is named until its work returns or throws, and then its caller is", () => {
  const { writer, reader } = open();
  expect(reader.readCall()).toBeNull();
  const inner = writer.during(call("a"), () => {
    const bug = () =>
      writer.during(call("b"), () => {
        expect(reader.readCall()).toEqual(call("b"));
        throw new Error("a bug");
      });
    expect(bug).toThrow("a bug");
    return reader.readCall();
  });
  expect(inner).toEqual(call("a"));
  expect(reader.readCall()).toBeNull();
});

test("a call whose name does not fit the memory is not named", () => {
  const { writer, reader } = open();
  const seen = writer.during(call("x".repeat(1_000)), () => reader.readCall());
  expect(seen).toBeNull();
});

test("runs are listed from begin to end, up to the capacity", () => {
  const { writer, reader } = open();
  const ids = Array.from({ length: 600 }, (_, n) => `r-${n}`);
  for (const id of ids) writer.enter(id);
  expect(reader.listRuns()).toHaveLength(512);
  for (const id of ids.slice(1)) writer.leave(id);
  writer.enter("r-0");
  expect(reader.listRuns()).toEqual(["r-0"]);
  writer.enter(crypto.randomUUID());
  expect(reader.listRuns()).toHaveLength(2);
});
