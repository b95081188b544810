// Judges the schemas of tools that callers register, in a Worker.
import type { Compute } from "../../../compute/index.ts";
import { apiError } from "../../../platform/errors.ts";
import { SCHEMA, UNCOMPUTED } from "../compute-tasks.ts";
import { judgeSize } from "./size.ts";

const BUSY_RETRY_S = "1";

/** A sentence about what is wrong with a schema; null: nothing. */
export type CheckSchema = (parameters: object, account: string) => Promise<string | null>;

export function createSchemaCheck(compute: Compute): CheckSchema {
  return async (parameters, account) => {
    const harm = judgeSize(parameters);
    if (harm !== null) return `\`parameters\` ${harm}.`;
    const computed = await compute.run(SCHEMA, parameters, { account });
    if (computed.ok) return computed.value;
    const says = `Judging \`parameters\` ${UNCOMPUTED[computed.why]}.`;
    if (computed.why === "timeout") return says;
    if (computed.why === "failed") throw new Error(says);
    throw apiError("service_unavailable", {
      ...{ message: says, headers: { "retry-after": BUSY_RETRY_S } },
    });
  };
}
