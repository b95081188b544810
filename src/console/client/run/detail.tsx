// The chosen piece of a run at the side: what happened, as text or as JSON.
import type { RefObject } from "preact";
import { Facts } from "../facts.tsx";
import { useQuery } from "../filters.tsx";
import { writeExact } from "../format.ts";
import { CodeBlock, Json } from "../json.tsx";
import { Icon, Outside, Segment } from "../parts.tsx";
import { t } from "../texts.ts";
import type { ShownRun, StepItem } from "./data.ts";
import { ErrorText } from "./facts.tsx";
import { ModelDetail } from "./model-detail.tsx";
import { OPEN, type WorkPiece } from "./pieces.ts";
import { ToolDetail } from "./tool-detail.tsx";

interface DetailProps {
  run: ShownRun;
  piece: WorkPiece;
  pane: RefObject<HTMLElement | null>;
}

export function Detail({ run, piece, pane }: DetailProps) {
  const [query, change] = useQuery();
  const { key, kind, round, steps } = piece;
  const isJson = query.view === "json" && steps.length > 0;
  const titles = {
    queue: () => t("run.detail.queue"),
    model: () => t("run.detail.model", round),
    tool: () => <Outside text={piece.name} />,
    event: () => t("run.detail.event"),
  };
  return (
    <aside class="detail" aria-label={t("run.detail", key)} tabIndex={-1} ref={pane}>
      <div class="h">
        <h2 class="row">
          {kind !== "event" && <Icon id={ICONS[kind]} size={14} />} {titles[kind]()}
        </h2>
        <span class="end">
          {steps.length > 0 && (
            <>
              <span class="dim">{t("run.detail.seq", key)}</span>
              <Segment
                label={t("run.as")}
                value={isJson ? "json" : "read"}
                options={[
                  { value: "read", text: t("run.read") },
                  { value: "json", text: t("run.json") },
                ]}
                isTabs
                onChange={(view) => change({ view: view === "json" ? view : "" })}
              />
            </>
          )}
        </span>
      </div>
      {isJson ? (
        <Json value={steps.length === 1 ? steps[0] : steps} label={t("run.detail", key)} />
      ) : (
        <Read run={run} piece={piece} />
      )}
    </aside>
  );
}

const ICONS = { queue: "i-triggers", model: "i-model", tool: "i-tool" };

function Read({ run, piece }: { run: ShownRun; piece: WorkPiece }) {
  const { key, kind, steps, state } = piece;
  const [step] = steps;
  if (kind === "queue") return <QueueFacts run={run} />;
  if (key === OPEN) {
    return state === "failed" && run.error ? (
      <ErrorText error={run.error} />
    ) : (
      <OpenReply run={run} />
    );
  }
  if (step?.kind === "assistant") return <ModelDetail run={run} step={step} />;
  if (kind === "tool") return <ToolDetail steps={steps} />;
  return step?.kind === "system" ? <EventFacts step={step} /> : null;
}

/** Characters at the end of a reply under way that are shown. */
const LIVE_CHARACTERS = 4_000;

function OpenReply({ run: { live } }: { run: ShownRun }) {
  const text = live?.text ?? "";
  const shown = text.slice(-LIVE_CHARACTERS).toWellFormed();
  return (
    <>
      <p class="soft">{t("run.open")}</p>
      {text !== "" && (
        <p class="soft lines">
          {shown.length < text.length && "…"}
          <Outside text={shown} />
        </p>
      )}
      {live?.tool_calls.map(({ name, arguments: written }, at) => (
        <CodeBlock key={at} text={`${name} ${written}`} label={name} />
      ))}
    </>
  );
}

function QueueFacts({ run: { created_at, started_at } }: { run: ShownRun }) {
  return (
    <Facts
      facts={[
        [t("run.queued"), writeExact(created_at)],
        [t("run.begun"), started_at === null ? t("run.begun.none") : writeExact(started_at)],
      ]}
    />
  );
}

function EventFacts({ step }: { step: StepItem & { kind: "system" } }) {
  const { event, message, detail } = step.data;
  return (
    <>
      <p>
        <Outside text={message} />
      </p>
      <Facts
        facts={[
          [t("run.event"), <code key="event">{event}</code>],
          [t("run.at"), writeExact(step.created_at)],
        ]}
      />
      {detail && <Json value={detail} label={event} />}
    </>
  );
}
