// The route that tries a registered tool out: one call, which belongs to no run.

import { Type } from "@sinclair/typebox";
import { requireScope } from "../../../access/index.ts";
import type { Router } from "../../../http/index.ts";
import { ConcurrencyLimit } from "../../../platform/concurrency-limit.ts";
import { apiError } from "../../../platform/errors.ts";
import { NO_ID } from "../../../platform/ids.ts";
import { show } from "../../../platform/schema.ts";
import { shorten, writeOneLine } from "../../../platform/text.ts";
import { createArgumentsCheck } from "../arguments.ts";
import type { Tool, ToolUse } from "../contract.ts";
import { findOwn, type ToolsDeps, toolError } from "../deps.ts";
import { cutOutput } from "../output.ts";
import { NameParams } from "../routes.ts";
import { ToolTrial } from "../tool.ts";
import type { ToolRevisionRow } from "./revision.ts";

/** Each may take as long as its tool; a key's requests alone would let hundreds wait. */
const TRIALS_AT_ONCE = 8;
const BUSY_RETRY_S = "1";
const FAULT_CHARACTERS_MAX = 200;

const Trial = Type.Object(
  {
    arguments: Type.Unsafe<Record<string, unknown>>(
      Type.Object({}, { description: "What a model would send, valid by the tool's parameters." }),
    ),
  },
  {
    additionalProperties: false,
    $id: "NewToolTrial",
    description: "One call of a tool.",
    examples: [{ arguments: { to: "Ada", text: "Hello." } }],
  },
);

export function openTrialRoute(
  door: Router,
  deps: ToolsDeps,
  createTool: (revision: ToolRevisionRow) => Tool,
): void {
  const trials = new ConcurrencyLimit(TRIALS_AT_ONCE);
  const checkArguments = createArgumentsCheck(deps.compute);
  door.post(
    "/v1/tools/:name/test",
    {
      summary: "Test a tool",
      description:
        "Calls its latest revision once, as a run would, without asking anybody: so it needs the " +
        "scope `agents.approve` as well. It counts as no run and costs nothing.",
      scope: "agents",
      feature: "http_tools",
      params: NameParams,
      // agents.authentication.2: neither scope stands for the other.
      async admit({ caller }) {
        requireScope(caller, "agents.approve");
      },
      body: Trial,
      is_slow: true,
      replies: { 200: { description: "What became of the call.", schema: ToolTrial } },
      refusals: ["invalid_request", "tool_not_found", "scope_required"],
    },
    async ({ params: { name }, body, caller, request, request_id }) => {
      const found = await findOwn(deps, name, caller);
      if (!found) throw toolError(deps, name);
      if (found.status === "disabled") throw refuseDisabled(name);
      const tool = createTool(found);
      const { account_id } = found;
      const { signal } = request;
      const turn = { account: account_id, signal };
      const text = JSON.stringify(body.arguments);
      const checked = await checkArguments(tool.parameters, text, turn);
      if (!checked.ok) throw refuseArguments(checked.faults);
      const release = trials.take(account_id);
      if (!release) throw refuseBusy();
      const given = { account_id, caller, request_id, arguments: checked.value, signal };
      try {
        return [200, await tryOut(deps, tool, given)];
      } finally {
        release();
      }
    },
  );
}

async function tryOut(
  { clock, ids }: Pick<ToolsDeps, "clock" | "ids">,
  tool: Tool,
  given: Pick<ToolUse, "account_id" | "caller" | "request_id" | "arguments" | "signal">,
) {
  const begun_at = clock.monotonic();
  const result = await tool.run({
    ...given,
    // It is of no agent's and in no run.
    ...{ agent_id: NO_ID, run_id: NO_ID },
    tool_call_id: `call_${ids.token(24)}`,
    trace: null,
    readOutput: async () => undefined,
    has_external: false,
    isKnownAddress: async () => false,
    now: clock.now,
  });
  const { shown, truncated } = cutOutput(result.content, null);
  return show(ToolTrial, {
    outcome: result.outcome,
    ...{ content: shown, truncated },
    http_status: result.http_status ?? null,
    duration_ms: Math.round(clock.monotonic() - begun_at),
    external: result.external,
  });
}

function refuseBusy() {
  const message = `At most ${TRIALS_AT_ONCE} tests of an account run at once.`;
  return apiError("rate_limit_exceeded", { message, headers: { "retry-after": BUSY_RETRY_S } });
}

function refuseDisabled(name: string) {
  const message = `The tool \`${name}\` is switched off: enable it first.`;
  return apiError("invalid_request", { param: "name", message });
}

/** The first fault, on one line: it may quote names and values of whoever asks. */
function refuseArguments(faults: readonly string[]) {
  const fault = writeOneLine(shorten(faults[0]!, FAULT_CHARACTERS_MAX)).replace(/\.$/, "");
  const message = `The arguments do not fit the tool's parameters (${fault}).`;
  return apiError("invalid_request", { param: "arguments", message });
}
