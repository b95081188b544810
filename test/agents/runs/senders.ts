// Tools that change something outside, and the receiver that counts what came to it.
import { Type } from "@sinclair/typebox";
import { DEFAULT_POLICY, type VersionRow } from "../../../src/agents/definitions/version.ts";
import type { BuiltinTool, Risk, ToolResult, ToolUse } from "../../../src/agents/tools/contract.ts";

/** Something that came to a receiver. */
export interface Arrival {
  tool: string;
  /** The call's id, by which a receiver knows a repeat. */
  key: string;
  arguments: unknown;
  /** How many came with this key, this one included. */
  time: number;
}

export const done = (content = "done"): ToolResult => ({ outcome: "ok", content, external: false });
export const unknown = (): ToolResult => ({
  ...{ outcome: "outcome_unknown", content: "No answer came.", external: false },
});
/** It neither answers nor heeds that it is given up. */
export const silent = () => new Promise<never>(() => undefined);

type Answer = (arrival: Arrival, use: ToolUse) => ToolResult | Promise<ToolResult>;

/** Each arrival is an effect, unless whoever sends says that it knows its keys. */
export function createReceiver(answer: Answer = () => done()) {
  const arrivals: Arrival[] = [];
  const receiver = {
    arrivals,
    answer,
    /** How often each key came, in the order of its first arrival. */
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

/** A tool as the engine sees one that posts to an endpoint. */
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

/** A version that has these tools pinned, beside the calculator. */
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

/** One tool, `write`, that runs by itself; a person has a minute to decide on what is unknown. */
export const pinWriter = (
  receiver: Receiver,
  policy: Partial<VersionRow["policy"]> = {},
  isIdempotent = false,
) =>
  pin([makeSender("write", receiver, { risk: "write", isIdempotent })], {
    ...{ approval_ttl_seconds: 60, unattended_writes: true },
    ...policy,
  });
