// Writes notes in tests like a run: inside another store's transaction.
import { applyNoteEffect, type NoteEffect } from "../../src/agents/notes/store.ts";
import { store } from "../../src/database/index.ts";

export const noteWrites = store(
  "note-writes",
  {},
  {
    apply: (tx, agent_id: string, effect: NoteEffect, external: boolean, now: number) =>
      applyNoteEffect(tx, { account_id: "a-1", agent_id }, effect, external, now),
    applyAndFail: async (tx, agent_id: string, effect: NoteEffect) => {
      await applyNoteEffect(tx, { account_id: "a-1", agent_id }, effect, false, 0);
      throw new Error("the result could not be written");
    },
  },
);
