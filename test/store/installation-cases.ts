// Cases of the store of the installation's row.
import { expect } from "bun:test";
import type { InstallationRow } from "../../src/installation/index.ts";
import type { Case, Stores } from "./cases.ts";

const NOW = Date.UTC(2026, 10, 20);
const COPY = "0198f000-0000-4000-8000-000000000002";
const ORIGINAL = "0198f000-0000-4000-8000-000000000001";
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const restore = ({ installation }: Stores) => installation.adopt(COPY, ORIGINAL, NOW);

/** The row belongs to the database, so emptying its tables leaves it to the next case. */
export const installationCases: Case[] = [
  {
    method: "installation.find",
    title: "finds an identity in a new database",
    act: ({ installation }) => installation.find(),
    check: (answer) => expect((answer as InstallationRow).id).toMatch(UUID),
  },
  {
    method: "installation.adopt",
    title: "gives a restored database an identity of its own, and pauses it",
    // A database whose data has moved is not opened.
    async act(stores) {
      await stores.installation.noteMove("./elsewhere", NOW);
      await restore(stores);
    },
    async check(_, { installation }) {
      expect(await installation.find()).toEqual({
        ...{ id: COPY, restored_from: ORIGINAL, restored_at: NOW, paused_at: NOW },
        ...{ moved_to: null, moved_at: null },
      });
      await installation.resume();
    },
  },
  {
    method: "installation.noteMove",
    title: "notes where the data has moved, and that they are here again",
    act: ({ installation }) => installation.noteMove("./elsewhere", NOW),
    async check(_, { installation }) {
      expect(await installation.find()).toMatchObject({ moved_to: "./elsewhere", moved_at: NOW });
      await installation.noteMove(null, NOW);
      expect(await installation.find()).toMatchObject({ moved_to: null, moved_at: null });
    },
  },
  {
    method: "installation.resume",
    title: "ends a pause once",
    setup: restore,
    act: ({ installation }) => installation.resume(),
    async check(answer, { installation }) {
      expect(answer).toBe(true);
      expect(await installation.find()).toMatchObject({ id: COPY, paused_at: null });
      expect(await installation.resume()).toBe(false);
    },
  },
  {
    method: "installation.resume",
    title: "changes nothing, and wakes nobody, where no pause is",
    act: ({ installation }) => installation.resume(),
    check: (answer) => expect(answer).toBe(false),
  },
];
