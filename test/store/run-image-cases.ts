// Cases of images in the input of runs.
import { expect } from "bun:test";
import type { RunRow } from "../../src/agents/runs/run.ts";
import { BEGIN } from "../support/runs.ts";
import type { Case, Stores } from "./cases.ts";
import { claimRuns, codeOf, DAY_MS, end, start } from "./run-acts.ts";

const url = (text: string) => `data:image/png;base64,${text}`;
const SENT = { place: 1, url: url("AAAA") };
const FETCHED = { place: 2, url: url("BBBBBBBB") };
const input: RunRow["input"] = {
  message: "What is it?",
  content: [
    { type: "text", text: "What is it?" },
    { type: "image_url", image_url: { url: "data:image/png;base64,…", detail: "low" } },
    { type: "image_url", image_url: { url: "https://images.example.org/a.png" } },
  ],
};
const startOne = async (stores: Stores) => {
  await start(stores, "r-1", { input }, { images: [SENT] });
  await claimRuns(stores);
};

export const runImageCases: Case[] = [
  {
    method: "runs.listImages",
    title: "returns the images that came with a start; the message has its parts without bytes",
    setup: startOne,
    act: ({ runs }) => runs.listImages("r-1"),
    async check(answer, { runs, threads, storage, rows }) {
      expect(answer).toEqual([SENT]);
      expect((await runs.find("r-1", null))!.input).toEqual(input);
      const [message] = await threads.listMessages("thread of r-1", 0, 9);
      expect(message).toMatchObject({ content: "What is it?", parts: input.content });
      expect(await storage.find("a-1")).toBe(await rows.add("a-1"));
      expect(await runs.listImages("r-2")).toEqual([]);
    },
  },
  {
    method: "runs.storeImage",
    title: "stores a fetched image once, and counts its bytes",
    setup: startOne,
    async act({ runs }) {
      const first = await runs.storeImage("r-1", 1, FETCHED);
      // A write whose answer was lost is sent again.
      return [first, await runs.storeImage("r-1", 1, { ...FETCHED, url: url("CCCC") })];
    },
    async check(answer, stores) {
      const { runs, storage, rows } = stores;
      expect(answer).toEqual([true, true]);
      expect(await runs.listImages("r-1")).toEqual([SENT, FETCHED]);
      expect((await runs.loadBefore("thread of r-1", 1, null)).messages).toHaveLength(1);
      await end(stores, "r-1");
      expect(await storage.find("a-1")).toBe(await rows.add("a-1"));
      await runs.sweep("", BEGIN + DAY_MS, 9);
      expect(await runs.listImages("r-1")).toEqual([]);
    },
  },
  {
    method: "runs.storeImage",
    title: "stores nothing for a process that has lost the run, or for one that has ended",
    setup: startOne,
    async act(stores) {
      const { runs } = stores;
      const foreign = await runs.storeImage("r-1", 2, FETCHED);
      await end(stores, "r-1");
      return [foreign, await runs.storeImage("r-1", 1, FETCHED)];
    },
    async check(answer, { runs }) {
      expect(answer).toEqual([false, false]);
      expect(await runs.listImages("r-1")).toEqual([SENT]);
    },
  },
  {
    method: "runs.storeImage",
    title: "counts a large image at once, so that the account's limit knows it",
    setup: startOne,
    act: ({ runs }) => runs.storeImage("r-1", 1, { ...FETCHED, url: url("A".repeat(1_100_000)) }),
    async check(answer, { storage, rows }) {
      expect(answer).toBe(true);
      expect(await storage.find("a-1")).toBe(await rows.add("a-1"));
    },
  },
  {
    method: "runs.start",
    title: "counts images that came with it against the limit of stored bytes",
    act: (stores) => {
      const images = [{ place: 1, url: url("A".repeat(10_000)) }];
      const limits = { active_runs: 9, daily_runs: 9, stored_bytes: 9_000 };
      return codeOf(start(stores, "r-1", { input }, { images, limits }));
    },
    async check(answer, { runs }) {
      expect(answer).toBe("storage_limit_reached");
      expect(await runs.listImages("r-1")).toEqual([]);
    },
  },
];
