// `wadi approvals`: calls that wait for a person, and the decision.
import {
  APPROVAL_STATUSES,
  type ApprovalSetting,
  approvalOperations as operations,
  REASON_CHARACTERS_MAX,
} from "../admin/index.ts";
import {
  account,
  type Command,
  limit,
  readLimit,
  readText,
  readWord,
  UsageError,
} from "./command.ts";
import { call } from "./operations.ts";
import { drawJson, drawLines, drawRow, printRow, printTable, quote, quoteWhole } from "./output.ts";

const COLUMNS = [
  ...["id", "account", "status", "tool", "risk", "why", "run_id", "requested_at", "expires_at"],
];

const WHY: Readonly<Record<string, string>> = {
  irreversible: "what the tool does cannot be undone",
  write: "the tool changes something, and the agent's policy wants a person for that",
  listed: "the agent's policy names the tool in require_approval",
  external_content: "the tool changes something, and the run has read content from outside",
  outcome_unknown: "it was sent before with an unknown outcome: approving sends it again",
};

export function explainDecision(id: string): string {
  return (
    `\`wadi approvals approve ${id}\` lets it be called, ` +
    `\`wadi approvals reject ${id} --reason TEXT\` does not`
  );
}

interface ShownApproval extends Record<string, unknown> {
  id: string;
  status: string;
  why: readonly string[];
  arguments: unknown;
  external_sources: readonly { seq: number; tool: string; url?: string | null }[];
  decided_by: { kind: string; id: string } | null;
}

function drawApproval(approval: ShownApproval, setting: ApprovalSetting): string {
  const { risk, revision, run_id, agent_id, requested_at, expires_at } = approval;
  const { tool_description, tool_endpoint } = setting;
  const head = drawRow({
    ...summarise(approval),
    risk,
    revision,
    ...(tool_endpoint !== null && { sent_to: quoteWhole(tool_endpoint) }),
    ...(tool_description !== null && { tool_says: quote(tool_description) }),
    account: setting.account,
    agent_id,
    agent_name: quoteKnown(setting.agent_name),
    run_id,
    run_status: setting.run_status,
    run_message: quoteKnown(setting.run_message),
    requested_at,
    expires_at,
    arguments_sha256: approval.arguments_sha256,
  });
  const why = approval.why.map((one) => `  ${one}: ${WHY[one]}\n`).join("");
  const read = drawSources(approval);
  const sent = `\narguments:\n${drawJson(approval.arguments)}`;
  return `${head}\nwhy a person is asked:\n${why}${read}${sent}`;
}

function summarise({ id, tool, status, reason, decided_by, decided_at }: ShownApproval) {
  if (status === "pending") return { id, tool, status };
  return {
    id,
    tool,
    status,
    decided_by: decided_by && `${decided_by.kind} ${quote(decided_by.id)}`,
    decided_at,
    reason: reason === null ? null : quoteWhole(String(reason)),
  };
}

function drawSources({ external_sources, why }: ShownApproval): string {
  if (external_sources.length > 0) {
    const lines = external_sources.map(({ seq, tool, url }) => [
      `  step ${seq}`,
      tool,
      url ? quoteWhole(url) : "",
    ]);
    return `\ncontent from outside that the run had read before:\n${drawLines(lines)}`;
  }
  if (!why.includes("external_content")) return "";
  return "\ncontent from outside was read earlier on the run's thread\n";
}

const quoteKnown = (text: string | null) => (text === null ? null : quote(text));

function createDecisionCommand(
  name: "approve" | "reject",
  decision: string,
  help: string,
): Command {
  return {
    name: `approvals ${name}`,
    args: ["ID"],
    flags: { reason: { takes: "TEXT", help: "reason to record; a rejection's is for the model" } },
    help,
    ...(name === "approve" && { isUnsuggested: true }),
    example: `wadi approvals ${name} 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11`,
    async run(input, output) {
      const [id] = input.args as [string];
      const reason = readText(input, "reason");
      if (reason !== undefined && [...reason].length > REASON_CHARACTERS_MAX) {
        throw new UsageError(`--reason takes at most ${REASON_CHARACTERS_MAX} characters`);
      }
      const { is_changed, ...decided } = await call(input, operations[name], { id, reason });
      if (!is_changed) output.say(`it was ${decision} already, and stays as it was`);
      return printRow(output, decided, summarise(decided as unknown as ShownApproval));
    },
  };
}

export const commands: readonly Command[] = [
  {
    name: "approvals list",
    flags: {
      account,
      status: { takes: "NAME", help: "status of the approvals, such as pending" },
      limit,
    },
    help: "List the newest calls that need a person's approval",
    example: "wadi approvals list --status pending",
    async run(input, output) {
      const found = await call(input, operations.list, {
        account: readText(input, "account"),
        status: readWord(input, "status", APPROVAL_STATUSES),
        limit: readLimit(input),
      });
      return printTable(output, found, COLUMNS);
    },
  },
  {
    name: "approvals show",
    args: ["ID"],
    help: "Show an approval in detail",
    example: "wadi approvals show 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11",
    async run(input, output) {
      const [id] = input.args as [string];
      const found = await call(input, operations.show, { id });
      const approval = found.approval as unknown as ShownApproval;
      output.print(found, drawApproval(approval, found));
      if (approval.status === "pending") output.say(explainDecision(approval.id));
      return 0;
    },
  },
  createDecisionCommand("approve", "approved", "Approve a call with the arguments shown"),
  createDecisionCommand("reject", "rejected", "Reject a call; its run continues without it"),
];
