// The tools `memory_*`: what an agent remembers beyond a run, as notes that each have a key.
import { type Static, type TString, Type } from "@sinclair/typebox";
import type { Bound } from "../../../database/index.ts";
import type { NoteEffect, noteStore } from "../../notes/store.ts";
import type { BuiltinTool, ToolResult, ToolUse } from "../contract.ts";

const KEY_CHARACTERS_MAX = 128;
const CONTENT_BYTES_MAX = 16 * 1024;
/** Calls that run side by side may each find room for the last one. */
const NOTES_MAX = 1_000;
const TIMEOUT_MS = 5_000;

/** What these tools read; what they write is an effect of their results. */
export type Notes = Bound<typeof noteStore>;

const Key = (description: string): TString =>
  Type.String({ minLength: 1, maxLength: KEY_CHARACTERS_MAX, description });

const NoParameters = Type.Object({}, { additionalProperties: false });
const KeyParameters = Type.Object(
  { key: Key("The note's key, exactly as memory_list shows it.") },
  { additionalProperties: false },
);
const SetParameters = Type.Object(
  {
    key: Key('What to find the note by, 1 to 128 characters, such as "customer/language".'),
    content: Type.String({
      minLength: 1,
      maxLength: CONTENT_BYTES_MAX,
      description: "The whole text of the note, at most 16 KB; it replaces what was there.",
    }),
  },
  { additionalProperties: false },
);

/** In the order of the catalogue. */
export function createMemory(notes: Notes): readonly BuiltinTool[] {
  return [
    {
      ...common("memory_list", "List notes", "read"),
      description:
        "Lists the keys of the notes that you kept in this and in earlier runs, with their sizes.",
      parameters: NoParameters,
      run: (use) => listNotes(notes, use),
    },
    {
      ...common("memory_get", "Read a note", "read"),
      description: "Reads one of the notes that you kept in this or in an earlier run.",
      parameters: KeyParameters,
      run: (use) => readNote(notes, use),
    },
    {
      ...common("memory_set", "Keep a note", "write"),
      description:
        "Keeps a note for later runs under a key; a note that has the key already is replaced.",
      parameters: SetParameters,
      run: (use) => setNote(notes, use),
    },
    {
      ...common("memory_delete", "Delete a note", "write"),
      description: "Deletes one of the notes that you kept.",
      parameters: KeyParameters,
      run: (use) => deleteNote(notes, use),
    },
  ];
}

function common(name: string, title: string, risk: "read" | "write") {
  return {
    ...{ name, title, risk, revision: 1, timeout_ms: TIMEOUT_MS, is_free: true },
    // What is from outside was marked when it was written; `external` is told for each result.
    external_content: false,
  };
}

async function listNotes(notes: Notes, { agent_id }: ToolUse): Promise<ToolResult> {
  const found = await notes.list(agent_id);
  if (found.length === 0) return tell("There are no notes.");
  const lines = found.map(({ key, content_bytes }) => {
    return `${JSON.stringify(key)} (${content_bytes} bytes)`;
  });
  // A key is a text too.
  return { ...tell(lines.join("\n")), external: found.some(({ external }) => external) };
}

async function readNote(notes: Notes, use: ToolUse): Promise<ToolResult> {
  const { key } = use.arguments as Static<typeof KeyParameters>;
  const note = await notes.find(use.agent_id, key);
  return note ? { ...tell(note.content), external: note.external } : fail(NO_NOTE);
}

async function setNote(notes: Notes, use: ToolUse): Promise<ToolResult> {
  const { key, content } = use.arguments as Static<typeof SetParameters>;
  if (Buffer.byteLength(content) > CONTENT_BYTES_MAX) {
    return fail(`The note was not kept: it is longer than ${CONTENT_BYTES_MAX} bytes.`);
  }
  const is_there = (await notes.find(use.agent_id, key)) !== undefined;
  if (!is_there && (await notes.count(use.agent_id)) >= NOTES_MAX) {
    return fail(`The note was not kept: there are ${NOTES_MAX} already. Delete one first.`);
  }
  const done = is_there ? "The note was replaced." : "The note was kept.";
  return effect(done, { set: { key, content } });
}

async function deleteNote(notes: Notes, use: ToolUse): Promise<ToolResult> {
  const { key } = use.arguments as Static<typeof KeyParameters>;
  if (!(await notes.find(use.agent_id, key))) return fail(NO_NOTE);
  return effect("The note was deleted.", { delete: { key } });
}

const NO_NOTE = "There is no note with that key.";

function tell(content: string): ToolResult {
  return { outcome: "ok", content, external: false };
}

function fail(content: string): ToolResult {
  return { outcome: "error", content, external: false };
}

function effect(content: string, change: NoteEffect): ToolResult {
  return { ...tell(content), effect: change };
}
