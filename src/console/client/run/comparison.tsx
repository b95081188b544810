// A rerun beside the run that it repeats, read when a person asks for it.
import { useSignal } from "@preact/signals";
import { shortenId, writeTook } from "../format.ts";
import { useResource } from "../live.ts";
import { FailureNote, Head, Outside } from "../parts.tsx";
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

export function Comparison({ run: { id, rerun_of } }: { run: ShownRun }) {
  const isWanted = useSignal(false);
  const path = isWanted.value ? `/runs/${rerun_of}/comparison?other=${id}` : null;
  const { data, failure } = useResource<Compared>(path).value;
  const show = (
    <button
      class="b"
      type="button"
      onClick={() => {
        isWanted.value = true;
      }}
    >
      {t("run.compare.show")}
    </button>
  );
  return (
    <section class="beside">
      <Head title={t("run.compare")} end={!isWanted.value && show} />
      {failure && !data && <FailureNote what={t("run.compare")} failure={failure} />}
      {data && (
        <table class="cmp" aria-label={t("run.compare")}>
          <thead>
            <tr>
              <td />
              <th scope="col">{shortenId(data.a.run_id)}</th>
              <th scope="col">{t("run.compare.this")}</th>
            </tr>
          </thead>
          <tbody>
            {listLines(data).map(([name, one, other], at) => (
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
      )}
    </section>
  );
}
