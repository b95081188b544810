// `wadi approvals`: calls that wait for a person, and the decision.
import {
  ANSWER_CHARACTERS_MAX,
  APPROVAL_STATUSES,
  type ApprovalContext,
  approvalLinkOperations as linkOperations,
  approvalOperations as operations,
  REASON_CHARACTERS_MAX,
} from "../admin/index.ts";
import {
  account,
  type Command,
  type CommandInput,
  limit,
  readDuration,
  readLimit,
  readText,
  readWord,
  UsageError,
} from "./command.ts";
import { writeLink } from "./console.ts";
import { call } from "./operations.ts";
import {
  drawJson,
  drawLines,
  drawRow,
  printOnce,
  printRow,
  printTable,
  quote,
  quoteWhole,
} from "./output.ts";

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
  decided_by: { kind: string; id: string; person?: string } | null;
}

function drawApproval(approval: ShownApproval, context: ApprovalContext): string {
  const { risk, revision, run_id, agent_id, requested_at, expires_at } = approval;
  const { tool_description, tool_endpoint } = context;
  const head = drawRow({
    ...summarise(approval),
    risk,
    revision,
    ...(tool_endpoint !== null && { sent_to: quoteWhole(tool_endpoint) }),
    ...(context.tool_title !== null && { title: quote(context.tool_title) }),
    ...(tool_description !== null && { tool_says: quote(tool_description) }),
    account: context.account,
    agent_id,
    agent_name: quoteKnown(context.agent_name),
    agent_version: context.agent_version,
    run_id,
    run_status: context.run_status,
    run_message: quoteKnown(context.run_message),
    started_by: drawOrigin(context),
    cost: context.cost,
    budget: context.budget,
    if_nobody_decides: context.on_approval_expired,
    requested_at,
    expires_at,
    arguments_sha256: approval.arguments_sha256,
  });
  const why = approval.why.map((one) => `  ${one}: ${WHY[one]}\n`).join("");
  const read = drawSources(approval);
  const sent = `\narguments:\n${drawJson(approval.arguments)}`;
  return `${head}\nwhy a person is asked:\n${why}${read}${sent}`;
}

/** Names a trigger or an operator, and the key, which may not decide. */
function drawOrigin({ started_by }: ApprovalContext): string | null {
  if (!started_by) return null;
  const { kind, trigger_id, trigger_name, key_id, key_name, operator } = started_by;
  const parts = [
    trigger_id === null ? kind : `${kind} trigger ${quote(trigger_name ?? trigger_id)}`,
    operator === null ? "" : `operator ${quote(operator)}`,
    key_id === null ? "" : `key ${quote(key_name ?? key_id)} (may not decide)`,
  ];
  return parts.filter((part) => part !== "").join(", ");
}

function summarise({ id, tool, status, reason, decided_by, decided_at }: ShownApproval) {
  if (status === "pending") return { id, tool, status };
  return {
    id,
    tool,
    status,
    decided_by: decided_by && nameDecider(decided_by),
    decided_at,
    reason: reason === null ? null : quoteWhole(String(reason)),
  };
}

function nameDecider({ kind, id, person }: NonNullable<ShownApproval["decided_by"]>): string {
  const who = `${kind} ${quote(id)}`;
  return person === undefined ? who : `${quote(person)}, by a link of ${who}`;
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

function readShort(input: CommandInput, name: string, charactersMax: number): string | undefined {
  const text = readText(input, name);
  if (text === undefined || [...text].length <= charactersMax) return text;
  throw new UsageError(`--${name} takes at most ${charactersMax} characters`);
}

function createDecisionCommand(
  name: "approve" | "reject",
  decision: string,
  help: string,
): Command {
  return {
    name: `approvals ${name}`,
    args: ["ID"],
    flags: {
      reason: { takes: "TEXT", help: "reason to record; a rejection's is for the model" },
      ...(name === "reject" && {
        answer: { takes: "TEXT", help: "what the model reads in place of the result" },
      }),
    },
    help,
    ...(name === "approve" && { isUnsuggested: true }),
    example: `wadi approvals ${name} 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11`,
    async run(input, output) {
      const [id] = input.args as [string];
      const request = { id, reason: readShort(input, "reason", REASON_CHARACTERS_MAX) };
      const answer = name === "reject" && readShort(input, "answer", ANSWER_CHARACTERS_MAX);
      const { is_changed, ...decided } = answer
        ? await call(input, operations.reject, { ...request, answer })
        : await call(input, operations[name], request);
      if (!is_changed) output.say(`it was ${decision} already, and stays as it was`);
      return printRow(output, decided, summarise(decided as unknown as ShownApproval));
    },
  };
}

const linkCommand: Command = {
  name: "approvals link",
  args: ["[ID]"],
  flags: {
    account: { takes: "NAME", help: "account whose approvals it shows, in place of an id" },
    for: { takes: "TEXT", help: "whom it is for, as decisions will name the person" },
    expires: { takes: "24h", help: "lifetime, at most 30d (default 24h)" },
    as: { takes: "NAME", help: "operator who answers for it (default of your name)" },
  },
  help: "Print a link by which a person decides approvals",
  example: 'wadi approvals link 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11 --for "Finance desk"',
  async run(input, output) {
    const [id] = input.args;
    const person = readText(input, "for");
    if (person === undefined) throw new UsageError("--for is missing: name whom the link is for");
    const link = await call(input, linkOperations.create, {
      ...{ id, account: readText(input, "account"), for: person, as: readText(input, "as") },
      lifetime_ms: readDuration(input, "expires"),
    });
    const url = link.url ?? writeLink(input, link.token, "a");
    output.say(`works once, for ${quote(person)}, until ${link.expires_at}:`);
    const rescue = `the link is lost: end it with \`wadi operators end ${link.id}\``;
    printOnce(output, { ...link, url }, `${url}\n`, rescue);
    return 0;
  },
};

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
  linkCommand,
  createDecisionCommand("approve", "approved", "Approve a call with the arguments shown"),
  createDecisionCommand("reject", "rejected", "Reject a call; its run continues without it"),
];
