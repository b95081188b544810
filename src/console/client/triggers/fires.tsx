// The fires of a trigger, newest first, and the last ones as marks.
import { shortenId } from "../format.ts";
import type { Resource } from "../live.ts";
import { Marks } from "../marks.tsx";
import { Empty, Outside, State } from "../parts.tsx";
import { Unready } from "../resource.tsx";
import { orDash, type RowColumn, RowTable } from "../row-table.tsx";
import { t } from "../texts.ts";
import { When } from "../when.tsx";
import { listFireMarks, type OpenedFire, readOutcome } from "./data.ts";

const MARKS = 20;

const COLUMNS: readonly RowColumn<OpenedFire>[] = [
  {
    ...{ head: "triggers.column.outcome", place: "a1" },
    cell({ outcome }) {
      const { word, ...state } = readOutcome(outcome);
      return <State {...state}>{word}</State>;
    },
  },
  {
    ...{ head: "triggers.column.why", place: "w a2 cut" },
    cell({ error, missed_count }) {
      if (error) return <Outside text={error.message} cut />;
      return missed_count > 0 && t("triggers.missed", missed_count);
    },
  },
  {
    ...{ head: "triggers.column.source", place: "p2 soft" },
    cell: ({ source }) => t(`triggers.source.${source}`),
  },
  {
    ...{ head: "triggers.column.fired", place: "n b1 soft" },
    cell: ({ created_at }) => <When at={created_at} />,
  },
  {
    ...{ head: "column.run", place: "n b2 id" },
    cell: ({ run_id: id }) => orDash(id && <a href={`/console/runs/${id}`}>{shortenId(id)}</a>),
  },
];

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
            <Marks {...listFireMarks(fires.slice(0, MARKS))} />
            <span class="dim" aria-hidden="true">
              {listFireMarks(fires.slice(0, MARKS)).says}
            </span>
          </p>
          <RowTable columns={COLUMNS} rows={fires} />
        </>
      )}
    </section>
  );
}
