// The floor: `bun:sqlite` in a Worker that commits in groups, 14 transactions a run, nothing else.
import { Database } from "bun:sqlite";
import { createInterface } from "node:readline";
import { isMainThread, parentPort, Worker } from "node:worker_threads";

const TRANSACTIONS = 14;
const TEXT = "x".repeat(400);

const serveWrites = () => {
  const database = new Database(process.env.FLOOR_FILE, { create: true });
  database.run("PRAGMA journal_mode = WAL");
  database.run("PRAGMA synchronous = FULL");
  database.run("CREATE TABLE IF NOT EXISTS steps (run INTEGER, seq INTEGER, data TEXT)");
  const insert = database.prepare("INSERT INTO steps VALUES (?, ?, ?)");
  let waiting = [];
  const commit = () => {
    const calls = waiting;
    waiting = [];
    database.run("BEGIN IMMEDIATE");
    for (const [run, seq] of calls) insert.run(run, seq, TEXT);
    database.run("COMMIT");
    parentPort.postMessage(calls.length);
  };
  parentPort.on("message", (calls) => {
    if (waiting.length === 0) setImmediate(commit);
    waiting.push(...calls);
  });
};

const serveRuns = async () => {
  const worker = new Worker(new URL(import.meta.url));
  const sent = [];
  let unsent = [];
  worker.on("message", (count) => {
    for (const resolve of sent.splice(0, count)) resolve();
  });
  const write = (run, seq) => {
    if (unsent.length === 0) {
      queueMicrotask(() => {
        worker.postMessage(unsent);
        unsent = [];
      });
    }
    unsent.push([run, seq]);
    return new Promise((resolve) => sent.push(resolve));
  };
  console.log("ready {}");
  for await (const line of createInterface({ input: process.stdin })) {
    const { runs, callers } = JSON.parse(line);
    const started_at = performance.now();
    let next = 0;
    const play = async () => {
      while (next < runs) {
        const run = next++;
        for (let seq = 0; seq < TRANSACTIONS; seq++) await write(run, seq);
      }
    };
    await Promise.all(Array.from({ length: callers }, play));
    console.log(JSON.stringify({ seconds: (performance.now() - started_at) / 1000 }));
  }
};

if (isMainThread) {
  await serveRuns();
  // The process that started it has ended.
  process.exit(0);
} else serveWrites();
