// One run: how it stands, its waterfall, and the chosen step beside it.

import { useEffect, useRef } from "preact/hooks";
import type { ApiFailure } from "../api.ts";
import { writeCommand } from "../curl.ts";
import { useQuery } from "../filters.tsx";
import { shortenId } from "../format.ts";
import { useKeys } from "../keyboard.ts";
import { isPaused, now, useResource } from "../live.ts";
import { copyText, FailureNote, Outside } from "../parts.tsx";
import { useLocation } from "../router.ts";
import { type KeyHint, Page } from "../shell.tsx";
import { t } from "../texts.ts";
import { Acts } from "./acts.tsx";
import { createAxis } from "./axis.ts";
import { Comparison } from "./comparison.tsx";
import { type ShownRun, type StepItem, titleOf } from "./data.ts";
import { Detail } from "./detail.tsx";
import { ErrorText } from "./facts.tsx";
import { findDefault, findPiece, listPieces, OPEN, type WorkPiece } from "./pieces.ts";
import { useSteps } from "./steps.ts";
import { Summary } from "./summary.tsx";
import { InputOutput } from "./texts.tsx";
import { Legend, Waterfall } from "./waterfall.tsx";

const LIST = "/console/runs";
const NOT_FOUND = 404;
const HINTS: readonly KeyHint[] = [
  { keys: ["J", "K"], text: "keys.step" },
  { keys: ["P"], text: "keys.parent" },
  { keys: ["C"], text: "keys.copy" },
];

export function RunPage() {
  const { id = "" } = useLocation();
  return <OneRun key={id} id={id} />;
}

function OneRun({ id }: { id: string }) {
  const resource = useResource<ShownRun>(`/runs/${encodeURIComponent(id)}`, ["runs"]);
  const { data: run, failure } = resource.value;
  const { steps, failure: stepsFailure } = useSteps(encodeURIComponent(id));
  useLiveText(run, resource.reload);
  const title = run ? titleOf(run) : "";
  const [{ compare }] = useQuery();
  const short = shortenId(run?.id ?? id);
  const heading = (
    <>
      <a class="crumb" href={LIST}>
        {t("page.runs")}
      </a>{" "}
      <span class="crumb">/</span>{" "}
      <Outside text={title === "" ? t("run.name", short) : title} cut />
    </>
  );
  return (
    <Page
      title="page.runs"
      heading={heading}
      says={run ? short : undefined}
      command={
        compare === undefined
          ? writeCommand("runs", "show", short)
          : writeCommand("runs", "compare", shortenId(compare), short)
      }
      hints={HINTS}
      end={run && <Acts run={run} onChange={resource.reload} />}
      isFixed
    >
      {!run && failure && <Missing id={id} failure={failure} />}
      {run && failure && <FailureNote what={t("run.name", short)} failure={failure} />}
      {run && <Summary run={run} />}
      {stepsFailure && run && <FailureNote what={t("run.timeline")} failure={stepsFailure} />}
      {run && steps && <Panes run={run} steps={steps} />}
    </Page>
  );
}

/** Reads a running run each second: no change of rows tells what its model writes. */
function useLiveText(run: ShownRun | null, reload: () => void): void {
  const at = now.value;
  const isWriting = run?.status === "running" && !isPaused.value && !document.hidden;
  useEffect(() => {
    if (isWriting) reload();
  }, [at, isWriting]);
}

function Missing({ id, failure }: { id: string; failure: ApiFailure }) {
  // A part of an id that nothing has is answered likewise.
  if (failure.status !== NOT_FOUND && failure.code !== "invalid_request") {
    return (
      <div class="page">
        <FailureNote what={t("run.name", shortenId(id))} failure={failure} />
      </div>
    );
  }
  return (
    <div class="page">
      <p>
        <Outside text={t("run.missing", shortenId(id))} />{" "}
        <a href={LIST}>{t("run.missing.list")}</a>
      </p>
    </div>
  );
}

function Panes({ run, steps }: { run: ShownRun; steps: readonly StepItem[] }) {
  const [query] = useQuery();
  const pane = useRef<HTMLElement>(null);
  // An ended run does not change once a second.
  const at = run.finished_at === null ? now.value : Date.parse(run.finished_at);
  const pieces = listPieces(run, steps, at);
  const chosen =
    (query.step !== undefined && findPiece(pieces, query.step)) || findDefault(pieces, run.status);
  usePieceKeys(run, pieces, chosen, () => pane.current?.focus());
  const hrefOf = (key: string) => `?${new URLSearchParams({ ...query, step: key })}`;
  return (
    <div class="panes">
      <section class="wfp" aria-label={t("run.timeline")}>
        {run.error && chosen?.key !== OPEN && (
          <div class="failure">
            <ErrorText error={run.error} />
          </div>
        )}
        <Waterfall pieces={pieces} chosen={chosen?.key} hrefOf={hrefOf} />
        <Legend hasFolds={createAxis(pieces).folds.length > 0} />
        <InputOutput run={run} />
        <Comparison run={run} />
      </section>
      {chosen && <Detail key={chosen.key} run={run} piece={chosen} pane={pane} />}
    </div>
  );
}

function usePieceKeys(
  run: ShownRun,
  pieces: readonly WorkPiece[],
  chosen: WorkPiece | undefined,
  onEnter: () => void,
): void {
  const [, change] = useQuery();
  const choose = (piece: WorkPiece | undefined) => {
    if (!piece) return;
    change({ step: piece.key });
    document.querySelector(`[data-row="${piece.key}"]`)?.scrollIntoView({ block: "nearest" });
  };
  const at = chosen ? pieces.indexOf(chosen) : -1;
  useKeys({
    j: () => choose(pieces[at + 1]),
    k: () => choose(pieces[at - 1]),
    p: () => {
      const isRound = ({ kind, round }: WorkPiece) => kind === "model" && round === chosen?.round;
      choose(pieces.findLast(isRound));
    },
    c: () => copyText(run.id),
    Enter: onEnter,
  });
}
