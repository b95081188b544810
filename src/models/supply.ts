// What stands behind one model: its servers, how they are asked, and whether they would answer.
import type { Clock } from "../platform/clock.ts";
import type { TrustedEgress } from "../platform/egress/index.ts";
import type { Ids } from "../platform/ids.ts";
import type { ModelSettings } from "../platform/settings/index.ts";
import { countPromptTokens } from "./tokens.ts";
import type { Answer, CountTokens } from "./upstream/contract.ts";
import { createOpenai } from "./upstream/openai.ts";
import { withoutReasoning } from "./upstream/reasoning.ts";
import { joinReplicas } from "./upstream/replicas.ts";
import { createStub } from "./upstream/stub.ts";
import { createTokenCount } from "./upstream/token-count.ts";

export interface Supply {
  answer: Answer;
  count: CountTokens;
  /** True: it is known that nobody would answer, and there is nothing that could start them. */
  isDown(): boolean;
  /** Begins to watch its servers. */
  start(): void;
  /** Watches no more; requests under way go on. */
  stop(): void;
}

export interface SupplyOptions {
  egress: TrustedEgress;
  clock: Clock;
  ids: Ids;
}

/** How what stands behind a model comes about. */
export type OpenSupply = (model: ModelSettings, around: SupplyOptions) => Supply;

/** Opens what a model's settings say; nothing is asked before its start. */
export function openSupply(
  { upstream, capabilities }: ModelSettings,
  { clock, ids, egress }: SupplyOptions,
): Supply {
  if (upstream.kind === "stub") {
    const stub = createStub({ ...upstream, clock, ids });
    return {
      // What it is told to say is never a thought.
      answer: withoutReasoning(stub, { reasons: false, thought_opens: "reply" }),
      count: async (ask) => countPromptTokens(ask),
      isDown: () => false,
      start() {},
      stop() {},
    };
  }
  const reasons = capabilities.includes("reasoning");
  const thinking = { reasons, thought_opens: upstream.thought_opens };
  const options = { ...upstream, egress, clock, ids };
  const connect = (url: string) => withoutReasoning(createOpenai({ ...options, url }), thinking);
  const { answer, isDown, start, stop } = joinReplicas(upstream.urls.map(connect));
  return { answer, count: createTokenCount(options), isDown, start, stop };
}
