// Evaluations in the database: which runs are repeated, and what came of each.
import { type Static, Type } from "@sinclair/typebox";
import {
  countRows,
  type DeletedPart,
  deleteRows,
  deleteTrees,
  into,
  none,
  sql,
  store,
  type Tx,
} from "../../database/index.ts";
import { apiError } from "../../platform/errors.ts";
import { countStored, measureRow, requireStorage, sumBy } from "../../storage/store.ts";
import {
  EvaluatedRunRow,
  EvaluationRow,
  ListedEvaluationRow,
  type RunAssessment,
} from "./evaluation.ts";

export type NewEvaluation = Omit<EvaluationRow, "stored_bytes">;

/** Bytes that a run counts with its assessment, about what it takes. */
const ASSESSMENT_BYTES = 1_280;

export interface EvaluationLimits {
  /** Maximum evaluations of an account that are under way. */
  running: number;
  stored_bytes: number;
}

export interface EvaluationsPart {
  before: { at: number; id: string } | null;
  limit: number;
}

export type AssessedRun = { position: number; assessment: RunAssessment };

export interface EvaluationProgress {
  started: readonly { position: number; rerun_id: string }[];
  assessed: readonly AssessedRun[];
}

const Id = Type.Object({ id: Type.String() });
/** A run without an assessment, and whether its rerun has ended. */
const OpenRun = Type.Object({
  position: Type.Integer(),
  run_id: Type.String(),
  rerun_id: Type.Union([Type.String(), Type.Null()]),
  is_ended: Type.Boolean(),
});
export type OpenRun = Static<typeof OpenRun>;
const Freed = Type.Object({ account_id: Type.String(), stored_bytes: Type.Integer() });

export const evaluationStore = store(
  "evaluations",
  {
    /** Another account's evaluation is not found; operators pass null. */
    find: async (db, id: string, account_id: string | null) => {
      const row = await db.one(EvaluationRow, sql`SELECT * FROM evaluations WHERE id = ${id}`);
      return account_id === null || row?.account_id === account_id ? row : undefined;
    },
    /** The agent's newest first, without what may be long. */
    list: (db, account_id: string, agent_id: string, { before, limit }: EvaluationsPart) =>
      db.all(
        ListedEvaluationRow,
        sql`SELECT id, agent_id, version, tools, status, total, created_at, finished_at,
              (SELECT COUNT(*) FROM evaluated_runs WHERE evaluation_id = id
                AND assessment IS NOT NULL) AS done
            FROM evaluations WHERE account_id = ${account_id} AND agent_id = ${agent_id}
              ${before === null ? none : sql`AND (created_at, id) < (${before.at}, ${before.id})`}
            ORDER BY created_at DESC, id DESC LIMIT ${limit}`,
      ),
    listRuns: (db, id: string) =>
      db.all(
        EvaluatedRunRow,
        sql`SELECT * FROM evaluated_runs WHERE evaluation_id = ${id} ORDER BY position`,
      ),
    listRunning: async (db) =>
      (await db.all(Id, sql`SELECT id FROM evaluations WHERE finished_at IS NULL ORDER BY id`)).map(
        ({ id }) => id,
      ),
    /** Runs without an assessment. A rerun that was deleted has ended, too. */
    listOpen: (db, id: string) =>
      db.all(
        OpenRun,
        sql`SELECT position, run_id, rerun_id,
              CASE WHEN rerun_id IS NULL OR EXISTS (SELECT 1 FROM runs
                WHERE runs.id = rerun_id AND runs.finished_at IS NULL) THEN 0 ELSE 1 END AS is_ended
            FROM evaluated_runs WHERE evaluation_id = ${id} AND assessment IS NULL
            ORDER BY position`,
      ),
    /** The newest ended runs of an agent that repeat none, the oldest first. */
    listRepeatable: async (db, agent_id: string, limit: number) =>
      (
        await db.all(
          Id,
          sql`SELECT id FROM (SELECT id, number FROM runs WHERE agent_id = ${agent_id}
                AND finished_at IS NOT NULL AND rerun_of IS NULL
                ORDER BY number DESC LIMIT ${limit}) AS newest ORDER BY number`,
        )
      ).map(({ id }) => id),
  },
  {
    create: async (
      tx,
      evaluation: NewEvaluation,
      run_ids: readonly string[],
      { running, stored_bytes }: EvaluationLimits,
    ) => {
      const { account_id } = evaluation;
      const checks = measureRow(JSON.stringify(evaluation.checks));
      const row = { ...evaluation, stored_bytes: checks + run_ids.length * ASSESSMENT_BYTES };
      const active = sql`FROM evaluations
        WHERE account_id = ${account_id} AND finished_at IS NULL`;
      if ((await countRows(tx, active)) >= running) throw apiError("evaluations_limit");
      await requireStorage(tx, account_id, row.stored_bytes, stored_bytes);
      await countStored(tx, account_id, "runs", row.stored_bytes);
      await tx.run(sql`INSERT INTO evaluations ${into(EvaluationRow, row)}`);
      for (const [position, run_id] of run_ids.entries()) {
        const run = { evaluation_id: row.id, position, run_id, rerun_id: null, assessment: null };
        await tx.run(sql`INSERT INTO evaluated_runs ${into(EvaluatedRunRow, run)}`);
      }
      tx.tell("evaluation", row.id);
    },
    /** Names reruns that were started, and writes each assessment once; the last one ends all. */
    note: async (tx, id: string, { started, assessed }: EvaluationProgress, now: number) => {
      for (const { position, rerun_id } of started) {
        await tx.run(
          sql`UPDATE evaluated_runs SET rerun_id = ${rerun_id}
              WHERE evaluation_id = ${id} AND position = ${position} AND rerun_id IS NULL`,
        );
      }
      for (const { position, assessment } of assessed) {
        await tx.run(
          sql`UPDATE evaluated_runs SET assessment = ${JSON.stringify(assessment)}
              WHERE evaluation_id = ${id} AND position = ${position} AND assessment IS NULL`,
        );
      }
      const ended = await tx.run(
        sql`UPDATE evaluations SET status = 'finished', finished_at = ${now}
            WHERE id = ${id} AND finished_at IS NULL AND NOT EXISTS (SELECT 1 FROM evaluated_runs
              WHERE evaluation_id = ${id} AND assessment IS NULL)`,
      );
      if (ended === 1) tx.tell("evaluation", id);
    },
    /** Starts no further rerun; those under way go on. */
    cancel: async (tx, id: string, now: number) => {
      await tx.run(
        sql`UPDATE evaluations SET status = 'cancelled', finished_at = ${now}
            WHERE id = ${id} AND finished_at IS NULL`,
      );
      tx.tell("evaluation", id);
    },
    /** Deletes up to `limit` evaluations that finished before `until`. */
    sweep: async (tx, until: number, limit: number) => {
      const rows = await tx.all(
        Id,
        sql`SELECT id FROM evaluations WHERE finished_at < ${until} ORDER BY id LIMIT ${limit}`,
      );
      const freed: Static<typeof Freed>[] = [];
      for (const { id } of rows) {
        await tx.run(sql`DELETE FROM evaluated_runs WHERE evaluation_id = ${id}`);
        freed.push(
          ...(await tx.all(
            Freed,
            sql`DELETE FROM evaluations WHERE id = ${id} RETURNING account_id, stored_bytes`,
          )),
        );
      }
      for (const [account_id, bytes] of sumBy(freed, (row) => row.account_id)) {
        await countStored(tx, account_id, "runs", -bytes);
      }
      return rows.length;
    },
  },
);

/** Part of a transaction: deletes evaluations of an account with their runs' assessments. */
export function deleteEvaluations(tx: Tx, account_id: string, limit: number): Promise<DeletedPart> {
  const key = sql`evaluation_id, position`;
  const tree = {
    find: () =>
      tx.one(Id, sql`SELECT id FROM evaluations WHERE account_id = ${account_id} LIMIT 1`),
    deleteChildren: ({ id }: { id: string }, most: number) =>
      deleteRows(tx, { table: sql`evaluated_runs`, key, where: sql`evaluation_id = ${id}` }, most),
    deleteParent: ({ id }: { id: string }) => tx.run(sql`DELETE FROM evaluations WHERE id = ${id}`),
  };
  return deleteTrees(tree, limit);
}
