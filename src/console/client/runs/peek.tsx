// A run at the side of the list, opened by Space.
import { shortenId, writeExact } from "../format.ts";
import { useResource } from "../live.ts";
import { FailureNote, Icon, Outside, RunState } from "../parts.tsx";
import { t } from "../texts.ts";
import { isActive } from "./selection.tsx";
import { Cost } from "./table.tsx";

/** Characters of a text that a peek shows. */
const SHOWN_CHARACTERS = 2_000;

interface PeekedRun {
  id: string;
  status: string;
  input: { message: string };
  output: { message: string } | null;
  error: { code: string; message: string } | null;
  cost: { total: string | null };
  created_at: string;
}

export function Peek({ id, onClose }: { id: string; onClose(): void }) {
  const { data, failure } = useResource<PeekedRun>(`/runs/${id}`, ["runs"]).value;
  const run = data?.id === id ? data : null;
  return (
    <aside class="glance" aria-label={t("runs.peek", shortenId(id))}>
      <div class="h">
        <h2>{t("runs.peek", shortenId(id))}</h2>
        <span class="end">
          <a class="b" href={`/console/runs/${id}`}>
            {t("runs.peek.open")}
          </a>
          <button class="b quiet" type="button" aria-label={t("runs.peek.close")} onClick={onClose}>
            <Icon id="s-rejected" size={12} />
          </button>
        </span>
      </div>
      {failure && <FailureNote what={t("runs.peek", shortenId(id))} failure={failure} />}
      {run && (
        <>
          <p class="row">
            <RunState status={run.status} />
            <span class="soft">{writeExact(run.created_at)}</span>
          </p>
          <p>
            <Cost sum={run.cost.total} /> {run.cost.total !== null && t("column.sar")}
          </p>
          {run.error && (
            <Part title={t("runs.error")} text={`${run.error.code}: ${run.error.message}`} />
          )}
          <Part title={t("runs.input")} text={run.input.message} />
          <Part
            title={t("runs.output")}
            text={run.output?.message ?? t(isActive(run) ? "runs.output.none" : "runs.output.no")}
          />
        </>
      )}
    </aside>
  );
}

function Part({ title, text }: { title: string; text: string }) {
  return (
    <section>
      <h3>{title}</h3>
      <p class="soft lines">
        <Outside text={text.slice(0, SHOWN_CHARACTERS)} />
        {text.length > SHOWN_CHARACTERS && " …"}
      </p>
    </section>
  );
}
