// What the store of notes must do, on every engine.
import { expect } from "bun:test";
import type { Case, Houses } from "./cases.ts";

const NOW = Date.UTC(2026, 10, 20);

const set = (houses: Houses, key: string, content: string, external = false, at = NOW) =>
  houses.noted.apply("g-1", { set: { key, content } }, external, at);
const drop = (houses: Houses, key: string, agent_id = "g-1") =>
  houses.noted.apply(agent_id, { delete: { key } }, true, NOW + 9);
const note = (key: string, content: string, fields: object = {}) => ({
  ...{ agent_id: "g-1", key, content, external: false, created_at: NOW, updated_at: NOW },
  ...fields,
});

export const noteCases: readonly Case[] = [
  {
    method: "notes.find",
    title: "finds what was set, and nothing of another agent or key",
    given: (houses) => set(houses, "camels", "They walk. 🐪"),
    act: ({ notes }) => notes.find("g-1", "camels"),
    async judge(answer, { notes }) {
      expect(answer).toEqual(note("camels", "They walk. 🐪"));
      expect(await notes.find("g-2", "camels")).toBeUndefined();
      expect(await notes.find("g-1", "Camels")).toBeUndefined();
    },
  },
  {
    method: "notes.find",
    title: "finds what was set last, marked as the run that set it was",
    async given(houses) {
      await set(houses, "a", "first");
      await set(houses, "a", "second", true, NOW + 1);
      await set(houses, "b", "first", true);
      await set(houses, "b", "second", false, NOW + 2);
    },
    act: ({ notes }) => Promise.all(["a", "b"].map((key) => notes.find("g-1", key))),
    judge: (answer) =>
      expect(answer).toEqual([
        note("a", "second", { external: true, updated_at: NOW + 1 }),
        note("b", "second", { updated_at: NOW + 2 }),
      ]),
  },
  {
    method: "notes.find",
    title: "finds nothing of what was deleted, or set by a write that failed",
    async given(houses) {
      await set(houses, "kept", "x");
      await set(houses, "gone", "x");
      await drop(houses, "gone");
      await drop(houses, "never there");
      await drop(houses, "kept", "g-2");
      const failing = { set: { key: "failed", content: "x" } };
      await houses.noted.applyAndFail("g-1", failing).catch(() => {});
    },
    act: ({ notes }) => notes.list("g-1"),
    judge: (answer) => expect(answer).toMatchObject([{ key: "kept" }]),
  },
  {
    method: "notes.find",
    title: "takes texts that no engine keeps as they are",
    given: (houses) => set(houses, "a\0b", "c\ud800d"),
    act: ({ notes }) => notes.find("g-1", "a\0b"),
    judge: (answer) => expect(answer).toEqual(note("a\ufffdb", "c\ufffdd")),
  },
  {
    method: "notes.list",
    title: "sorts by the keys' code points and tells sizes in bytes",
    async given(houses) {
      for (const key of ["b", "B", "a/b", "ab", "é"]) await set(houses, key, `${key}🐪`);
      await set(houses, "outside", "x", true);
      await houses.noted.apply("g-2", { set: { key: "z", content: "x" } }, false, NOW);
    },
    act: ({ notes }) => notes.list("g-1"),
    judge: (answer) =>
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
    async given(houses) {
      for (const key of ["a", "b", "a"]) await set(houses, key, "x");
    },
    act: ({ notes }) => Promise.all([notes.count("g-1"), notes.count("g-2")]),
    judge: (answer) => expect(answer).toEqual([2, 0]),
  },
];
