// Models: their servers and traffic, what an operator can do with them, and who may call which.

import { writeCommand, writeLocal } from "../curl.ts";
import { useQuery } from "../filters.tsx";
import { HOUR_MS } from "../format.ts";
import { now, useResource } from "../live.ts";
import { copyText, Empty } from "../parts.tsx";
import { Unready } from "../resource.tsx";
import { useRows } from "../rows.ts";
import { type KeyHint, Page } from "../shell.tsx";
import { t } from "../texts.ts";
import type { GrantedAccount, ModelLine, TrafficLine } from "./data.ts";
import { Matrix } from "./matrix.tsx";
import { Services } from "./services.tsx";
import { ModelTable } from "./table.tsx";

const HOURS = 24;

interface ModelHours {
  rows: readonly { hour: string; model: string | null; requests: number }[];
}

/** Requests of each model in the last 24 hours, which are those of UTC. */
function useHours(): ReadonlyMap<string, readonly number[]> {
  const last = Math.floor(now.value / HOUR_MS) * HOUR_MS;
  const first = last - (HOURS - 1) * HOUR_MS;
  const day = (timeMs: number) => new Date(timeMs).toISOString().slice(0, 10);
  const path = `/usage?by=hour,model&from=${day(first)}&to=${day(last)}`;
  const { data } = useResource<ModelHours>(path, ["requests"]).value;
  const hours = new Map<string, number[]>();
  for (const { hour, model, requests } of data?.rows ?? []) {
    const at = Math.round((Date.parse(hour) - first) / HOUR_MS);
    if (model === null || at < 0 || at >= HOURS) continue;
    const counts = hours.get(model) ?? new Array<number>(HOURS).fill(0);
    counts[at] = requests;
    hours.set(model, counts);
  }
  return hours;
}

const HINTS: readonly KeyHint[] = [
  { keys: ["J", "K"], text: "keys.move" },
  { keys: ["Enter"], text: "keys.open_model" },
];

export function Models() {
  const [query, change] = useQuery();
  const models = useResource<ModelLine[]>("/models", ["models", "requests"]);
  const traffic = useResource<TrafficLine[]>("/traffic", ["requests"]);
  const accounts = useResource<GrantedAccount[]>("/accounts", ["accounts"]);
  const hours = useHours();
  const opened = query.model ?? null;
  const toggle = (id: string) => change({ model: id === opened ? "" : id });
  const lines = models.value.data ?? [];
  const chosen = useRows(lines, {
    onOpen: toggle,
    onPeek: toggle,
    onCopy: (id) => void copyText(id),
    onClose: () => change({ model: "" }),
  });
  const { data } = models.value;
  return (
    <Page
      title="page.models"
      says={data ? t("models.count", data.length) : undefined}
      command={writeCommand("models", "list")}
      hints={HINTS}
    >
      <Unready what={t("page.models")} resource={models.value} />
      {data?.length === 0 && (
        <div class="page">
          <Empty
            text={t("models.empty")}
            command={writeLocal("models", "probe", "URL", "--write")}
          />
        </div>
      )}
      {data && data.length > 0 && (
        <ModelTable
          models={data}
          traffic={traffic.value.data ?? []}
          accounts={accounts.value.data ?? []}
          {...{ hours, opened }}
          chosen={chosen.value}
          onToggle={toggle}
          onDone={models.reload}
        />
      )}
      <Services />
      <Unready what={t("models.matrix")} resource={accounts.value} />
      {data && accounts.value.data && (
        <Matrix models={data} accounts={accounts.value.data} onDone={accounts.reload} />
      )}
      <div class="grow" />
    </Page>
  );
}
