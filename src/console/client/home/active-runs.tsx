// Runs that are active now, at most eight.
import { shortenId } from "../format.ts";
import { useResource } from "../live.ts";
import { Ago, FailureNote, Head, Money, Outside, RunState } from "../parts.tsx";
import type { ConsoleStatus } from "../status.ts";
import { t } from "../texts.ts";

interface RunLine {
  id: string;
  agent_id: string;
  agent_name: string | null;
  title: string;
  status: string;
  cost?: string | null;
  created_at: string;
}

const RUNS_SHOWN = 8;

/** Reads a state's runs only while there are some. */
const useActive = (status: string, count: number) =>
  useResource<RunLine[]>(count > 0 ? `/runs?status=${status}&limit=${RUNS_SHOWN}` : null, ["runs"]);

export function Running({ status }: { status: ConsoleStatus }) {
  const { running, queued, waiting_approval } = status.runs;
  const parts = [
    { count: waiting_approval, value: useActive("waiting_approval", waiting_approval).value },
    { count: running, value: useActive("running", running).value },
    { count: queued, value: useActive("queued", queued).value },
  ];
  const failure = parts.find(({ value }) => value.failure)?.value.failure;
  const active = parts
    .flatMap(({ count, value }) => (count > 0 ? (value.data ?? []) : []))
    .slice(0, RUNS_SHOWN);
  const isNone = parts.every(({ count }) => count === 0);
  return (
    <section>
      <Head
        title={t("home.running")}
        says={t("home.active", running + waiting_approval, queued)}
        end={<a href="/console/runs">{t("home.running.all")}</a>}
      />
      {failure && <FailureNote what={t("page.runs")} failure={failure} />}
      {isNone && <p class="soft">{t("home.running.none")}</p>}
      {active.length > 0 && <RunTable runs={active} />}
    </section>
  );
}

function RunTable({ runs }: { runs: readonly RunLine[] }) {
  return (
    <table class="t">
      <thead>
        <tr>
          <th>{t("column.state")}</th>
          <th class="w">{t("column.run")}</th>
          <th class="p2">{t("column.agent")}</th>
          <th class="n">{t("column.for")}</th>
          <th class="n">{t("column.sar")}</th>
        </tr>
      </thead>
      <tbody>
        {runs.map(({ id, title, agent_name, agent_id, status, cost, created_at }) => (
          <tr key={id}>
            <td>
              <RunState status={status} />
            </td>
            <td class="w cut">
              <a class="x" href={`/console/runs/${id}`}>
                <Outside text={title || shortenId(id)} />
              </a>
            </td>
            <td class="p2 cut soft agent">
              <Outside text={agent_name ?? shortenId(agent_id)} />
            </td>
            <td class="n">
              <Ago at={created_at} />
            </td>
            <td class="n">
              <Money sum={cost} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
