// The context of an approval: all that a person needs for the decision beside the call itself.
import { type Static, Type } from "@sinclair/typebox";
import {
  Approval,
  type ApprovalQueries,
  type ApprovalRow,
  createAgentQueries,
  createRunQueries,
  Run,
  type RunRow,
} from "../agents/index.ts";
import { formatMoney } from "../platform/money.ts";
import { maybe } from "../platform/schema.ts";
import { createTriggerQueries } from "../triggers/index.ts";
import type { AccountDirectory } from "./accounts.ts";
import type { AdminDeps } from "./deps.ts";

const known = (description: string) => maybe(Type.String({ description }));

const NamedKey = Type.Object({
  id: Type.String({ description: "Id of the key." }),
  name: known("Its name; null: it has none, or was deleted."),
});

const RunOrigin = Type.Object(
  {
    kind: Run.properties.trigger_kind,
    trigger_id: known("Id of the trigger; null: none."),
    trigger_name: known("Its name; null: it was deleted, or there is none."),
    key_id: known("Id of the key that the run acts for; null: unknown."),
    key_name: known("The key's name; null: it has none, or was deleted."),
    operator: known("Operator who started it by command; null: none did."),
  },
  { description: "What started the run." },
);

const ShownCall = Type.Object({
  id: Type.String({ description: "Id of its approval." }),
  arguments: Approval.properties.arguments,
  decided_by: Approval.properties.decided_by,
  decided_at: Type.String({ format: "date-time", description: "When it was approved." }),
});

const ShownResult = Type.Object({
  seq: Type.Integer({ description: "Number of its step." }),
  tool: Type.String({ description: "The tool that was called." }),
  url: known("Where its content lay; null: unknown, or several places."),
  is_external: Type.Boolean({ description: "It brought content from outside." }),
  text: Type.String({ description: "What the model read, at most 64 KB." }),
  is_cut: Type.Boolean({ description: "The text is the head and the tail of a longer one." }),
});

/** Fields are null for a deleted agent or run, and for a built-in tool. */
export const ApprovalContext = Type.Object({
  account: Type.String({ description: "The owner's name." }),
  agent_name: known("Name of the agent; null: it was deleted."),
  agent_version: maybe(Type.Integer({ description: "Its version; null: the run was deleted." })),
  run_status: known("Status of the run; null: it was deleted."),
  run_message: known("Input of the run; null: it was deleted."),
  run_hook: known("Body of the hook that started the run, which is from outside; null: none."),
  started_by: maybe(RunOrigin),
  cost: maybe(Type.String({ description: "SAR that the run cost so far; null: unknown." })),
  budget: maybe(Type.String({ description: "SAR that it may cost; null: without limit." })),
  tool_title: known("Name of the tool for people; null: it has none."),
  tool_description: known("What the tool does; null: a built-in tool."),
  tool_endpoint: known("Where the arguments are sent; null: a built-in tool."),
  on_approval_expired: known("`continue` or `fail`: what the run does if nobody decides."),
  barred_keys: Type.Array(NamedKey, {
    description: "Keys that started the run or fired its trigger; each other key may decide.",
  }),
  has_earlier_messages: Type.Boolean({
    description: "The run continues a thread, whose earlier messages are not here.",
  }),
  approved_calls: Type.Array(ShownCall, {
    description:
      "Calls of the same agent and tool that were approved before, newest first: at most 20, " +
      "and 256 KB of arguments.",
  }),
  results: Type.Array(ShownResult, {
    description:
      "Results of calls that the run had before it asked, oldest first: the newest 200, and at " +
      "most 1 MB.",
  }),
  has_all_results: Type.Boolean({ description: "No result of the run is left out." }),
});
export type ApprovalContext = Static<typeof ApprovalContext>;

export function createContextReader(
  deps: AdminDeps,
  approvals: ApprovalQueries,
  directory: AccountDirectory,
) {
  const { database, access } = deps;
  const agents = createAgentQueries(database);
  const runs = createRunQueries(deps);
  const triggers = createTriggerQueries(deps);
  const nameKey = async (id: string | null): Promise<Static<typeof NamedKey> | null> =>
    id === null ? null : { id, name: (await access.keys.findById(id))?.name ?? null };

  async function readOrigin(run: RunRow): Promise<Static<typeof RunOrigin>> {
    const { trigger_id, started_by_key_id: key_id } = run;
    const trigger = trigger_id === null ? undefined : await triggers.find(trigger_id);
    return {
      kind: run.trigger_kind,
      trigger_id,
      trigger_name: trigger?.name ?? null,
      key_id,
      key_name: (await nameKey(key_id))?.name ?? null,
      operator: run.started_by_operator,
    };
  }

  /** Lists keys that had a part in the start, which may not decide. */
  async function listBarred(run: RunRow): Promise<Static<typeof NamedKey>[]> {
    const ids = new Set([run.started_by_key_id, run.fired_by_key_id]);
    const found = await Promise.all([...ids].map(nameKey));
    return found.filter((one) => one !== null);
  }

  async function readRun(run: RunRow) {
    const { hook, message } = run.input;
    const policy = await agents.findPolicy(run.agent_id, run.version);
    return {
      agent_version: run.version,
      run_status: run.status,
      run_message: message,
      run_hook: hook === undefined ? null : JSON.stringify(hook),
      started_by: await readOrigin(run),
      cost: run.cost.total === null ? null : formatMoney(run.cost.total),
      budget: run.budgets.max_cost_sar,
      on_approval_expired: policy?.on_approval_expired ?? null,
      barred_keys: await listBarred(run),
      has_earlier_messages: await runs.hasEarlierMessages(run),
    };
  }

  return async (approval: ApprovalRow): Promise<ApprovalContext> => {
    const { account_id, agent_id, run_id } = approval;
    const run = await runs.find(run_id);
    const revision = await approvals.findRevision(approval);
    const [{ tool_title } = { tool_title: null }] = await approvals.addTitles([approval]);
    const { results, areAll } = await approvals.listResults(approval);
    return {
      account: (await directory.names()).get(account_id)!,
      agent_name: (await agents.findName(agent_id, account_id)) ?? null,
      ...(run ? await readRun(run) : NO_RUN),
      tool_title,
      tool_description: revision?.description ?? null,
      tool_endpoint: revision?.endpoint ?? null,
      approved_calls: (await approvals.listApproved(approval)).map(({ decided_at, ...call }) => {
        return { ...call, decided_at: new Date(decided_at).toISOString() };
      }),
      results,
      has_all_results: areAll,
    };
  };
}

const NO_RUN = {
  ...{ agent_version: null, run_status: null, run_message: null, run_hook: null },
  ...{ started_by: null, cost: null, budget: null, on_approval_expired: null },
  ...{ barred_keys: [], has_earlier_messages: false },
};
