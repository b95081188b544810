// The context in which tests run a built-in tool.
import type { Caller } from "../../../src/access/index.ts";
import type { ToolUse } from "../../../src/agents/tools/contract.ts";

export const NOW = Date.UTC(2026, 10, 21, 23, 40, 3);

export const caller: Caller = {
  key_id: "0198c0de-0000-7000-8000-000000000001",
  account_id: "0198c0de-0000-7000-8000-000000000002",
  kind: "ordinary",
  scopes: ["agents", "search"],
  models: null,
  max_output_tokens: null,
};

const RUN = {
  id: "0198c0de-0000-7000-8000-000000000006",
  agent_id: "0198c0de-0000-7000-8000-000000000005",
  version: 1,
};

export function createUse(args: Record<string, unknown>, rest: Partial<ToolUse> = {}): ToolUse {
  return {
    arguments: args,
    account_id: caller.account_id!,
    agent_id: "0198c0de-0000-7000-8000-000000000005",
    run: RUN,
    tool_call_id: "call_2",
    caller,
    request_id: "0198c0de-0000-7000-8000-000000000004",
    readOutput: async () => undefined,
    hasExternal: false,
    isKnownAddress: async () => false,
    now: () => NOW,
    signal: new AbortController().signal,
    ...rest,
  };
}
