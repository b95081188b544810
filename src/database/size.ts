// The size of a database on its disk.
import { statSync } from "node:fs";
import { Type } from "@sinclair/typebox";
import { sql } from "./sql.ts";
import type { DatabaseEngine, DatabaseLocation, DatabaseSize } from "./store.ts";

const Bytes = Type.Object({ bytes: Type.Integer() });

export async function measureDatabase(
  place: DatabaseLocation,
  engine: Pick<DatabaseEngine, "read">,
): Promise<DatabaseSize> {
  switch (place.kind) {
    case "memory":
      return { bytes: null, wal_bytes: null };
    case "sqlite":
      return { bytes: readBytes(place.file), wal_bytes: readBytes(`${place.file}-wal`) };
    case "postgres": {
      const size = sql`SELECT pg_database_size(current_database()) AS bytes`;
      const found = await engine.read((db) => db.one(Bytes, size));
      return { bytes: found!.bytes, wal_bytes: null };
    }
  }
}

function readBytes(file: string): number | null {
  try {
    return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  } catch {
    return null;
  }
}
