// A first approval: a sample agent, a run of it that asks, and the way to what it asks.

import { useActs } from "./acts.tsx";
import { get, post } from "./api.ts";
import { writeCommand } from "./curl.ts";
import { type ListedKey, listUsable } from "./keys/data.ts";
import { now, useResource } from "./live.ts";
import { route } from "./router.ts";
import { t } from "./texts.ts";

const AGENT = { name: "Noter", system_prompt: "Keep notes.", tools: ["memory_set"] };
/** The tool's name makes the stub call it, too. */
export const MESSAGE = "Note with memory_set that our tone is friendly.";

/** Questions for an approval; a model that has not asked by then is shown with its run. */
const TRIES = 40;
const EVERY_MS = 250;

/** The oldest key that may use agents: the one that a new installation begins with. */
export function useSampleKey(): ListedKey | undefined {
  const { data } = useResource<ListedKey[]>("/keys", ["keys"]).value;
  return listUsable(data ?? [], now.value).find(({ scopes }) => scopes.includes("agents"));
}

export const writeAgentCommand = (key: ListedKey | undefined): string =>
  writeCommand(
    ...["agents", "create", AGENT.name, "--key", key?.id ?? "KEY_ID"],
    ...["--prompt", AGENT.system_prompt, "--tool", AGENT.tools[0]!],
  );

/** Waits until the run asks, and returns the address of the approval, else that of the run. */
async function findPlace(id: string): Promise<string> {
  for (let tries = 0; tries < TRIES; tries++) {
    const run = await get<{ pending_approvals: string[]; finished_at: string | null }>(
      `/runs/${id}`,
    );
    const [approval] = run.pending_approvals;
    if (approval) return `/console/approvals/${approval}`;
    if (run.finished_at) break;
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
  return `/console/runs/${id}`;
}

export function TryApproval() {
  const key = useSampleKey();
  const { act, isBusy, note } = useActs();
  if (!key) return null;
  const start = async () => {
    const agent = await post<{ id: string }>("/agents", { key: key.id, ...AGENT });
    const run = await post<{ id: string }>(`/agents/${agent.id}/runs`, { message: MESSAGE });
    route(await findPlace(run.id));
  };
  return (
    <>
      <button
        class="b go"
        type="button"
        disabled={isBusy}
        title={t("sample.says")}
        onClick={() => act(t("sample.try"), start)}
      >
        {t("sample.try")}
      </button>
      {note}
    </>
  );
}
