// The tools `memory_*`: notes with keys, which an agent keeps beyond a run.
import { type Static, type TString, Type } from "@sinclair/typebox";
import type { Bound } from "../../../database/index.ts";
import type { noteStore } from "../../notes/store.ts";
import { type BuiltinTool, failure, success, type ToolResult, type ToolUse } from "../contract.ts";

const KEY_CHARACTERS_MAX = 128;
const CONTENT_BYTES_MAX = 16 * 1024;
/** Maximum notes of an agent; parallel calls may exceed it a little. */
const NOTES_MAX = 1_000;
const TIMEOUT_MS = 5_000;

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

export function createMemory(notes: Notes): readonly BuiltinTool[] {
  return [
    {
      ...common("memory_list", "read"),
      description:
        "Lists the keys of the notes that you kept in this and in earlier runs, with their sizes.",
      parameters: NoParameters,
      run: (use) => listNotes(notes, use),
    },
    {
      ...common("memory_get", "read"),
      description: "Reads one of the notes that you kept in this or in an earlier run.",
      parameters: KeyParameters,
      run: (use) => readNote(notes, use),
    },
    {
      ...common("memory_set", "write"),
      description:
        "Keeps a note for later runs under a key; a note that has the key already is replaced.",
      parameters: SetParameters,
      run: (use) => setNote(notes, use),
    },
    {
      ...common("memory_delete", "write"),
      description: "Deletes one of the notes that you kept.",
      parameters: KeyParameters,
      run: (use) => deleteNote(notes, use),
    },
  ];
}

function common(name: string, risk: "read" | "write") {
  return {
    name,
    risk,
    revision: 1,
    timeout_ms: TIMEOUT_MS,
    isFree: true,
    // Each result states whether its note came from outside.
    external_content: false,
  };
}

async function listNotes(notes: Notes, { agent_id }: ToolUse): Promise<ToolResult> {
  const found = await notes.list(agent_id);
  if (found.length === 0) return success("There are no notes.");
  const lines = found.map((note) => `${JSON.stringify(note.key)} (${note.content_bytes} bytes)`);
  // Keys are texts from outside, too.
  const isExternal = found.some(({ external }) => external);
  return success(lines.join("\n"), isExternal);
}

async function readNote(notes: Notes, use: ToolUse): Promise<ToolResult> {
  const { key } = use.arguments as Static<typeof KeyParameters>;
  const note = await notes.find(use.agent_id, key);
  return note ? success(note.content, note.external) : failure(NO_NOTE);
}

async function setNote(notes: Notes, use: ToolUse): Promise<ToolResult> {
  const { key, content } = use.arguments as Static<typeof SetParameters>;
  if (Buffer.byteLength(content) > CONTENT_BYTES_MAX) {
    return failure(`The note was not kept: it is longer than ${CONTENT_BYTES_MAX} bytes.`);
  }
  const isReplaced = (await notes.find(use.agent_id, key)) !== undefined;
  if (!isReplaced && (await notes.count(use.agent_id)) >= NOTES_MAX) {
    return failure(`The note was not kept: there are ${NOTES_MAX} already. Delete one first.`);
  }
  const message = isReplaced ? "The note was replaced." : "The note was kept.";
  return { ...success(message), effect: { set: { key, content } } };
}

async function deleteNote(notes: Notes, use: ToolUse): Promise<ToolResult> {
  const { key } = use.arguments as Static<typeof KeyParameters>;
  if (!(await notes.find(use.agent_id, key))) return failure(NO_NOTE);
  return { ...success("The note was deleted."), effect: { delete: { key } } };
}

const NO_NOTE = "There is no note with that key.";
