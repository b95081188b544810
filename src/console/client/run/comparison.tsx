// A run beside another one, which a person chooses.
import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { useQuery } from "../filters.tsx";
import { shortenId, writeTook } from "../format.ts";
import { nameHidden } from "../hidden.ts";
import { useResource } from "../live.ts";
import { FailureNote, Outside, readRunState } from "../parts.tsx";
import type { RunItem } from "../runs/list.ts";
import { writeCount } from "../texts/plural.ts";
import { t } from "../texts.ts";
import type { ShownRun } from "./data.ts";

interface SideOfRun {
  run_id: string;
  version: number;
  status: string;
  error_code: string | null;
  rounds: number;
  total_tokens: number;
  cost: string | null;
  worked_ms: number;
  text: string | null;
}

interface ShownPairCall {
  name: string;
  arguments: string;
  outcome: string | null;
}

interface Compared {
  a: SideOfRun;
  b: SideOfRun;
  calls: { a: ShownPairCall | null; b: ShownPairCall | null }[];
}

const writeCall = (call: ShownPairCall | null) =>
  call ? `${call.name} ${call.arguments} ${call.outcome ?? ""}` : "";

function listLines({ a, b, calls }: Compared): [string, string, string][] {
  const line = (name: string, write: (one: SideOfRun) => string): [string, string, string] => {
    return [name, write(a), write(b)];
  };
  return [
    line(t("run.compare.version"), (one) => writeCount(one.version)),
    line(t("run.status"), (one) => [one.status, one.error_code ?? ""].join(" ").trim()),
    line(t("run.rounds"), (one) => writeCount(one.rounds)),
    line(t("runs.column.tokens"), (one) => writeCount(one.total_tokens)),
    line(t("run.cost"), (one) => one.cost ?? "?"),
    line(t("run.took"), (one) => writeTook(one.worked_ms)),
    ...calls.map((pair): [string, string, string] => {
      return [t("run.compare.call"), writeCall(pair.a), writeCall(pair.b)];
    }),
    line(t("run.answer"), (one) => one.text ?? ""),
  ];
}

function Lines({ compared }: { compared: Compared }) {
  return (
    <table class="cmp" aria-label={t("run.compare.what")}>
      <thead>
        <tr>
          <td />
          <th scope="col">
            <a href={`/console/runs/${compared.a.run_id}`}>{shortenId(compared.a.run_id)}</a>
          </th>
          <th scope="col">{t("run.compare.this")}</th>
        </tr>
      </thead>
      <tbody>
        {listLines(compared).map(([name, one, other], at) => (
          <tr key={at} class={one === other ? "dim" : undefined}>
            <th scope="row">{name}</th>
            <td>
              <Outside text={one} />
            </td>
            <td>
              <Outside text={other} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A run of the address beside this one: chosen among the newest of its agent, or by its id. */
export function Comparison({ run: { id, agent_id, rerun_of } }: { run: ShownRun }) {
  const [{ compare = "" }, change] = useQuery();
  const isAsked = useSignal(false);
  const listId = useId();
  const newest = useResource<RunItem[]>(isAsked.value ? `/runs?agent=${agent_id}` : null).value;
  const other = encodeURIComponent(compare);
  const path = compare === "" ? null : `/runs/${other}/comparison?other=${id}`;
  const { failure, ...found } = useResource<Compared>(path).value;
  // The answer about another run stays until the next is read.
  const data = found.path === path ? found.data : null;
  const choose = (chosen: string) => change({ compare: chosen.trim() });
  return (
    <section class="beside">
      <div class="row choices">
        <label for={`${listId}f`}>{t("run.compare")}</label>
        <input
          class="in"
          id={`${listId}f`}
          list={listId}
          value={compare}
          placeholder={t("run.compare.hint")}
          autocomplete="off"
          onFocus={() => {
            isAsked.value = true;
          }}
          onChange={({ currentTarget }) => choose(currentTarget.value)}
        />
        <datalist id={listId}>
          {newest.data?.map(
            (one) =>
              one.id !== id && (
                <option key={one.id} value={one.id}>
                  {nameHidden(`${readRunState(one.status).word} · ${one.title}`)}
                </option>
              ),
          )}
        </datalist>
        {rerun_of !== null && compare !== rerun_of && (
          <button class="b" type="button" onClick={() => choose(rerun_of)}>
            {t("run.compare.first")}
          </button>
        )}
      </div>
      {path && failure && !data && <FailureNote what={t("run.compare.what")} failure={failure} />}
      {data && <Lines compared={data} />}
    </section>
  );
}
