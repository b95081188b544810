// Cases of the store of notes.
import { expect } from "bun:test";
import type { Case, Stores } from "./cases.ts";

const NOW = Date.UTC(2026, 10, 20);

const set = (stores: Stores, key: string, content: string, external = false, at = NOW) =>
  stores.noted.apply("g-1", { set: { key, content } }, external, at);
const drop = (stores: Stores, key: string, agent_id = "g-1") =>
  stores.noted.apply(agent_id, { delete: { key } }, true, NOW + 9);
const note = (key: string, content: string, fields: object = {}) => ({
  ...{ agent_id: "g-1", key, content, external: false, created_at: NOW, updated_at: NOW },
  ...fields,
});

export const noteCases: readonly Case[] = [
  {
    method: "notes.find",
    title: "finds the note that was set, and none of another agent or key",
    setup: (stores) => set(stores, "camels", "They walk. 🐪"),
    act: ({ notes }) => notes.find("g-1", "camels"),
    async check(answer, { notes }) {
      expect(answer).toEqual(note("camels", "They walk. 🐪"));
      expect(await notes.find("g-2", "camels")).toBeUndefined();
      expect(await notes.find("g-1", "Camels")).toBeUndefined();
    },
  },
  {
    method: "notes.find",
    title: "finds the latest note, with the taint of the run that set it",
    async setup(stores) {
      await set(stores, "a", "first");
      await set(stores, "a", "second", true, NOW + 1);
      await set(stores, "b", "first", true);
      await set(stores, "b", "second", false, NOW + 2);
    },
    act: ({ notes }) => Promise.all(["a", "b"].map((key) => notes.find("g-1", key))),
    check: (answer) =>
      expect(answer).toEqual([
        note("a", "second", { external: true, updated_at: NOW + 1 }),
        note("b", "second", { updated_at: NOW + 2 }),
      ]),
  },
  {
    method: "notes.find",
    title: "does not find a deleted note or one of a failed write",
    async setup(stores) {
      await set(stores, "kept", "x");
      await set(stores, "gone", "x");
      await drop(stores, "gone");
      await drop(stores, "never there");
      await drop(stores, "kept", "g-2");
      const failing = { set: { key: "failed", content: "x" } };
      await stores.noted.applyAndFail("g-1", failing).catch(() => {});
    },
    act: ({ notes }) => notes.list("g-1"),
    check: (answer) => expect(answer).toMatchObject([{ key: "kept" }]),
  },
  {
    method: "notes.find",
    title: "stores texts that an engine cannot hold directly",
    setup: (stores) => set(stores, "a\0b", "c\ud800d"),
    act: ({ notes }) => notes.find("g-1", "a\0b"),
    check: (answer) => expect(answer).toEqual(note("a\ufffdb", "c\ufffdd")),
  },
  {
    method: "notes.list",
    title: "sorts by the keys' code points, and returns sizes in bytes",
    async setup(stores) {
      for (const key of ["b", "B", "a/b", "ab", "é"]) await set(stores, key, `${key}🐪`);
      await set(stores, "outside", "x", true);
      await stores.noted.apply("g-2", { set: { key: "z", content: "x" } }, false, NOW);
    },
    act: ({ notes }) => notes.list("g-1"),
    check: (answer) =>
      expect(answer).toEqual([
        { key: "B", content_bytes: 5, external: false },
        { key: "a/b", content_bytes: 7, external: false },
        { key: "ab", content_bytes: 6, external: false },
        { key: "b", content_bytes: 5, external: false },
        { key: "outside", content_bytes: 1, external: true },
        { key: "é", content_bytes: 6, external: false },
      ]),
  },
  {
    method: "notes.count",
    title: "counts an agent's notes, each key once",
    async setup(stores) {
      for (const key of ["a", "b", "a"]) await set(stores, key, "x");
    },
    act: ({ notes }) => Promise.all([notes.count("g-1"), notes.count("g-2")]),
    check: (answer) => expect(answer).toEqual([2, 0]),
  },
];
