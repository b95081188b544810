// Tools with external side effects, and the receiver that counts their calls.
import { Type } from "@sinclair/typebox";
import { DEFAULT_POLICY, type VersionRow } from "../../../src/agents/definitions/version.ts";
import type { BuiltinTool, Risk, ToolResult, ToolUse } from "../../../src/agents/tools/contract.ts";

/** A call that arrived at a receiver. */
export interface Arrival {
  tool: string;
  /** The call's id, by which a receiver detects a repeat. */
  key: string;
  arguments: unknown;
  /** Number of arrivals with this key, including this one. */
  time: number;
}

export const done = (content = "done"): ToolResult => ({ outcome: "ok", content, external: false });
export const unknown = (): ToolResult => ({
  ...{ outcome: "outcome_unknown", content: "No answer came.", external: false },
});
/** Never answers, and ignores aborts. */
export const silent = () => new Promise<never>(() => undefined);

type Answer = (arrival: Arrival, use: ToolUse) => ToolResult | Promise<ToolResult>;

/** Each arrival is an effect, unless the sender is idempotent. */
export function createReceiver(answer: Answer = () => done()) {
  const arrivals: Arrival[] = [];
  const receiver = {
    arrivals,
    answer,
    /** Number of arrivals of each key, in the order of the first. */
    times: () => [...new Map(arrivals.map(({ key, time }) => [key, time])).values()],
    keys: () => new Set(arrivals.map(({ key }) => key)),
    receive(tool: string, use: ToolUse) {
      const key = use.tool_call_id;
      const time = arrivals.filter((one) => one.key === key).length + 1;
      const arrival = { ...{ tool, key, time }, arguments: structuredClone(use.arguments) };
      arrivals.push(arrival);
      return receiver.answer(arrival, use);
    },
  };
  return receiver;
}
export type Receiver = ReturnType<typeof createReceiver>;

interface Sender {
  risk: Risk;
  isIdempotent?: boolean;
  timeout_ms?: number;
}

/** A tool that looks to the engine like one that posts to an endpoint. */
export const makeSender = (
  name: string,
  receiver: Receiver,
  { risk, isIdempotent = false, timeout_ms = 60_000 }: Sender,
): BuiltinTool => ({
  ...{ name, title: name, description: name, risk, revision: 1, timeout_ms, isFree: true },
  ...{ external_content: false, parameters: Type.Object({}) },
  ...(risk !== "read" && { sends: { isIdempotent } }),
  run: async (use) => receiver.receive(name, use),
});

/** A version that pins these tools and the calculator. */
export function pin(
  tools: readonly BuiltinTool[],
  policy: Partial<VersionRow["policy"]> = {},
): { tools: readonly BuiltinTool[]; version: Partial<VersionRow> } {
  const revisions = [...tools, { name: "calculator", risk: "read" as Risk }];
  return {
    tools,
    version: {
      tools: revisions.map(({ name }) => name),
      tool_revisions: revisions.map(({ name, risk }) => ({
        ...{ name, risk, revision: 1, kind: "builtin" as const },
      })),
      policy: { ...DEFAULT_POLICY, ...policy },
    },
  };
}

/** Pins one tool, `write`, without approval; approvals of unknown outcomes last a minute. */
export const pinWriter = (
  receiver: Receiver,
  policy: Partial<VersionRow["policy"]> = {},
  isIdempotent = false,
) =>
  pin([makeSender("write", receiver, { risk: "write", isIdempotent })], {
    ...{ approval_ttl_seconds: 60, unattended_writes: true },
    ...policy,
  });
