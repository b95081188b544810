// A note: a text that an agent keeps beyond its runs, under a key of its own choosing.
import { type Static, Type } from "@sinclair/typebox";

/** One row, which no route shows: an agent's tools read and write it. */
export const NoteRow = Type.Object({
  agent_id: Type.String(),
  key: Type.String(),
  content: Type.String(),
  /** The run that wrote it had read content from outside. */
  external: Type.Boolean(),
  created_at: Type.Integer(),
  updated_at: Type.Integer(),
});
export type NoteRow = Static<typeof NoteRow>;

/** What a list tells of a note. */
export const ListedNote = Type.Object({
  key: Type.String(),
  content_bytes: Type.Integer(),
  external: Type.Boolean(),
});
export type ListedNote = Static<typeof ListedNote>;

/** What a call does to its agent's notes. */
export type NoteEffect = { set: { key: string; content: string } } | { delete: { key: string } };
