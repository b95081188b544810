// Checks of a run: how it ended, what it called and said, and what that cost.
import type { Compute } from "../../compute/index.ts";
import { apiError } from "../../platform/errors.ts";
import { parseJson, writeCanonical } from "../../platform/json.ts";
import { formatMoney, parseMoney } from "../../platform/money.ts";
import { shorten } from "../../platform/text.ts";
import type { CalledRun } from "../runs/compare.ts";
import { ARGUMENTS, UNCOMPUTED } from "../tools/compute-tasks.ts";
import { createSchemaCheck } from "../tools/json-schema/check.ts";
import type { Check, RunAssessment } from "./evaluation.ts";

const SENTENCE_CHARACTERS_MAX = 300;
const FAULTS_MAX = 3;

/** Throws for checks that say nothing, or whose pattern or schema cannot be used. */
export async function validateChecks(
  checks: readonly Check[],
  account_id: string,
  compute: Compute,
): Promise<void> {
  const checkSchema = createSchemaCheck(compute);
  for (const [at, check] of checks.entries()) {
    const refuse = (field: string, message: string) =>
      apiError("invalid_request", { param: `checks.${at}${field}`, message });
    if (Object.keys(check).length === 0) throw refuse("", `\`checks.${at}\` checks nothing.`);
    const { max_cost_sar, output_pattern, output_schema } = check;
    if (max_cost_sar !== undefined && !isAmount(max_cost_sar)) {
      const says = 'must be an amount such as "1.20", with at most six decimals.';
      throw refuse(".max_cost_sar", `\`checks.${at}.max_cost_sar\` ${says}`);
    }
    const schemas = {
      output_pattern: output_pattern === undefined ? undefined : schemaOf(output_pattern),
      output_schema,
    };
    for (const [field, schema] of Object.entries(schemas)) {
      const name = `checks.${at}.${field}`;
      const problem = schema && (await checkSchema(schema, account_id, name));
      if (problem) throw refuse(`.${field}`, problem.replace(PATTERN_PLACE, ""));
    }
  }
}

function isAmount(text: string): boolean {
  try {
    parseMoney(text);
    return true;
  } catch {
    return false;
  }
}

/** Place of a pattern in its schema, which no caller has written. */
const PATTERN_PLACE = "/properties/text/pattern";
const schemaOf = (pattern: string) => ({ type: "object", properties: { text: { pattern } } });

/** Lists what does not hold of a run. */
export async function assessRun(
  compute: Compute,
  checks: readonly Check[],
  called: CalledRun,
): Promise<RunAssessment["failures"]> {
  const failures: RunAssessment["failures"] = [];
  for (const [at, check] of checks.entries()) {
    const faults = [...checkEnd(check, called), ...(await checkOutput(compute, check, called))];
    for (const fault of faults) {
      failures.push({ check: at, message: shorten(fault, SENTENCE_CHARACTERS_MAX) });
    }
  }
  return failures;
}

function checkEnd(check: Check, { run, calls }: CalledRun): string[] {
  const { end, called, not_called, max_rounds, max_total_tokens } = check;
  const { status, error, usage, cost, worked_ms } = run;
  const faults: string[] = [];
  if (end !== undefined && status !== end) {
    const why = error === null ? "" : ` (${error.code})`;
    faults.push(`It ended ${status}${why}, not ${end}.`);
  }
  // A call of no tool, or with invalid arguments, is refused and not made.
  const made = calls.filter(({ data }) => data.decision !== "refused");
  const makes = (pattern: NonNullable<Check["called"]>) =>
    made.some(({ data: { name, arguments: values } }) => fits(pattern, name, values));
  if (called && !makes(called)) faults.push(`It did not call ${describe(called)}.`);
  if (not_called && makes(not_called)) faults.push(`It called ${describe(not_called)}.`);
  const bound = (what: string, used: number, most: number | undefined) => {
    if (most === undefined || used <= most) return;
    faults.push(`Its ${what} are ${used}, and may be ${most}.`);
  };
  bound("rounds", usage.rounds, max_rounds);
  bound("tokens", usage.total_tokens, max_total_tokens);
  bound("seconds of work", worked_ms / 1000, check.max_seconds);
  const { max_cost_sar } = check;
  if (
    max_cost_sar !== undefined &&
    !(cost.total !== null && cost.total <= parseMoney(max_cost_sar))
  ) {
    const used = cost.total === null ? "unknown" : `${formatMoney(cost.total)} SAR`;
    faults.push(`Its cost is ${used}, and may be ${max_cost_sar} SAR.`);
  }
  return faults;
}

function fits(
  { tool, arguments: wanted }: NonNullable<Check["called"]>,
  name: string,
  values: unknown,
): boolean {
  if (name !== tool) return false;
  const given = (values ?? {}) as Record<string, unknown>;
  return Object.entries(wanted ?? {}).every(
    ([field, value]) =>
      Object.hasOwn(given, field) && writeCanonical(given[field]) === writeCanonical(value),
  );
}

function describe({ tool, arguments: wanted }: NonNullable<Check["called"]>): string {
  return wanted ? `${tool} with ${shorten(JSON.stringify(wanted), 200)}` : tool;
}

async function checkOutput(
  compute: Compute,
  { output_pattern, output_schema }: Check,
  { run }: CalledRun,
): Promise<string[]> {
  const text = run.output?.message;
  if (output_pattern === undefined && output_schema === undefined) return [];
  if (text === undefined) return ["It has no text."];
  const fit = async (parameters: Record<string, unknown>, json: string) => {
    const input = { parameters, text: json, faultsMax: FAULTS_MAX };
    const computed = await compute.run(ARGUMENTS, input, { account: run.account_id });
    return computed.ok ? computed.value : [`Checking it ${UNCOMPUTED[computed.reason]}.`];
  };
  const faults: string[] = [];
  if (output_pattern !== undefined) {
    const found = await fit(schemaOf(output_pattern), JSON.stringify({ text }));
    if (found.length > 0) faults.push(`Its text does not match ${output_pattern}`);
  }
  if (output_schema === undefined) return faults;
  const json = run.output?.data === undefined ? text : JSON.stringify(run.output.data);
  if (parseJson(json) === undefined) return [...faults, "Its text is no JSON."];
  const found = await fit(output_schema, json);
  return [
    ...faults,
    ...found.map((fault) => fault.replace(/^The arguments|^(?=\/)/, "Its output")),
  ];
}
