// The fires of a trigger, newest first, and the last ones as marks.
import { shortenId } from "../format.ts";
import type { Resource } from "../live.ts";
import { Marks } from "../marks.tsx";
import { Empty, Outside, State } from "../parts.tsx";
import { Unready } from "../resource.tsx";
import { t } from "../texts.ts";
import { When } from "../when.tsx";
import { listFireMarks, type OpenedFire, readOutcome } from "./data.ts";

const MARKS = 20;

function Row({ fire }: { fire: OpenedFire }) {
  const { outcome, source, error, run_id, created_at, missed_count } = fire;
  const { word, ...state } = readOutcome(outcome);
  return (
    <tr>
      <td class="a1">
        <State {...state}>{word}</State>
      </td>
      <td class="w a2 cut">
        {error && <Outside text={error.message} cut />}
        {!error && missed_count > 0 && t("triggers.missed", missed_count)}
      </td>
      <td class="p2 soft">{t(`triggers.source.${source}`)}</td>
      <td class="n b1 soft">
        <When at={created_at} />
      </td>
      <td class="n b2 id">
        {run_id ? (
          <a href={`/console/runs/${run_id}`}>{shortenId(run_id)}</a>
        ) : (
          <span class="dim">–</span>
        )}
      </td>
    </tr>
  );
}

export function FireTable({ resource }: { resource: Resource<OpenedFire[]> }) {
  const { data: fires } = resource;
  return (
    <section class="wfp" aria-label={t("triggers.fires")}>
      <Unready what={t("triggers.fires")} resource={resource} />
      {fires?.length === 0 && (
        <div class="page">
          <Empty text={t("triggers.fires.empty")} />
        </div>
      )}
      {fires && fires.length > 0 && (
        <>
          <p class="filters">
            {t("triggers.column.marks")} <Marks {...listFireMarks(fires.slice(0, MARKS))} />
            <span class="dim" aria-hidden="true">
              {listFireMarks(fires.slice(0, MARKS)).says}
            </span>
          </p>
          <table class="t full stack plain">
            <thead>
              <tr>
                <th>{t("triggers.column.outcome")}</th>
                <th class="w">{t("triggers.column.why")}</th>
                <th class="p2">{t("triggers.column.source")}</th>
                <th class="n">{t("triggers.column.fired")}</th>
                <th class="n">{t("column.run")}</th>
              </tr>
            </thead>
            <tbody>
              {fires.map((fire) => (
                <Row key={fire.id} fire={fire} />
              ))}
            </tbody>
          </table>
        </>
      )}
    </section>
  );
}
