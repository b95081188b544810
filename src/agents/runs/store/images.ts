// Images of runs in the database, which are deleted with their run.
import { type Static, Type } from "@sinclair/typebox";
import { type Db, sql, type Tx } from "../../../database/index.ts";
import { measureRow } from "../../../storage/store.ts";
import { countRunBytes, SETTLED_AT_BYTES, settleStored } from "./stored-bytes.ts";

/** `place` is the index of its part in the input; `url` begins with `data:`. */
const Image = Type.Object({ place: Type.Integer(), url: Type.String() });
export type StoredImage = Static<typeof Image>;

export function listImages(db: Db, run_id: string): Promise<StoredImage[]> {
  return db.all(
    Image,
    sql`SELECT place, url FROM run_images WHERE run_id = ${run_id} ORDER BY place`,
  );
}

/** Returns 0 for an image that is stored already. */
export function insertImage(tx: Tx, run_id: string, { place, url }: StoredImage): Promise<number> {
  return tx.run(
    sql`INSERT INTO run_images (run_id, place, url) VALUES (${run_id}, ${place}, ${url})
        ON CONFLICT (run_id, place) DO NOTHING`,
  );
}

const Unsettled = Type.Object({ unsettled_bytes: Type.Integer() });

/** Stores an image that a running run has fetched; false: this process has lost the run. */
export async function storeImage(
  tx: Tx,
  run_id: string,
  epoch: number,
  image: StoredImage,
): Promise<boolean> {
  const run = await tx.one(
    Unsettled,
    sql`SELECT unsettled_bytes FROM runs
        WHERE id = ${run_id} AND epoch = ${epoch} AND status = 'running'`,
  );
  if (!run) return false;
  if ((await insertImage(tx, run_id, image)) === 0) return true;
  const own = measureRow(image.url);
  await countRunBytes(tx, run_id, { own, thread: 0 });
  if (run.unsettled_bytes + own >= SETTLED_AT_BYTES) await settleStored(tx, run_id);
  return true;
}
