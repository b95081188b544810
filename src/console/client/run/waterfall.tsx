// The waterfall of a run: one row for each piece of work, on a time axis.
import { writeTook } from "../format.ts";
import { Icon, Outside } from "../parts.tsx";
import { Cost } from "../runs/table.tsx";
import { t } from "../texts.ts";
import { type Axis, createAxis, writeTick } from "./axis.ts";
import { measurePiece, type WorkPiece } from "./pieces.ts";

const ICONS = { queue: "i-triggers", model: "i-model", tool: "i-tool", event: "s-on" };
/** Distances in per cent at which a tick's label would touch that of a fold behind or before it. */
const LABELS_APART = { before: 22, after: 8 };

interface WaterfallProps {
  pieces: readonly WorkPiece[];
  chosen: string | undefined;
  /** Address of a piece by its key. */
  hrefOf(key: string): string;
}

export function Waterfall({ pieces, chosen, hrefOf }: WaterfallProps) {
  const axis = createAxis(pieces);
  return (
    <div class="wf">
      <table>
        <thead>
          <tr>
            <th class="c1">
              <span class="vh">{t("run.round")}</span>
            </th>
            <th class="c2">{t("run.step")}</th>
            <th>
              <AxisHead axis={axis} />
            </th>
            <th class="c4">
              <span class="wide">{t("run.time")}</span>
            </th>
            <th class="c5">{t("column.sar")}</th>
          </tr>
        </thead>
        <tbody>
          {pieces.map((piece, at) => (
            <Row
              key={piece.key}
              piece={piece}
              isFirst={piece.round > 0 && pieces[at - 1]?.round !== piece.round}
              isChosen={piece.key === chosen}
              axis={axis}
              href={hrefOf(piece.key)}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function AxisHead({ axis: { folds, ticks } }: { axis: Axis }) {
  // A label begins at its tick, and that of a fold has its middle there.
  const isFree = (x: number) =>
    folds.every((fold) => {
      const before = fold.x + fold.width / 2 - x;
      return before > LABELS_APART.before || -before > LABELS_APART.after;
    });
  return (
    <div class="tl">
      <Grid folds={folds} ticks={ticks} />
      {ticks
        .filter(({ x }) => isFree(x))
        .map(({ x, ms }) => (
          <span class="lb wide" key={ms} style={{ "--x": percent(x) }}>
            {writeTick(ms)}
          </span>
        ))}
      {folds.map(({ x, width, ms }) => (
        <span class="lb over" key={x} style={{ "--x": percent(x + width / 2) }}>
          {writeTook(ms).replace(/ \d\d (s|min)$/, "")}
        </span>
      ))}
    </div>
  );
}

function Grid({ folds, ticks }: Pick<Axis, "folds" | "ticks">) {
  return (
    <>
      {ticks.slice(1).map(({ x, ms }) => (
        <span class="tick" key={ms} style={{ "--x": percent(x) }} />
      ))}
      {folds.map(({ x, width }) => (
        <span class="fold" key={x} style={{ "--x": percent(x), "--w": percent(width) }} />
      ))}
    </>
  );
}

interface RowProps {
  piece: WorkPiece;
  /** Set on the first row of a round. */
  isFirst: boolean;
  isChosen: boolean;
  axis: Axis;
  href: string;
}

function Row({ piece, isFirst, isChosen, axis, href }: RowProps) {
  const { key, kind, round, name, bars, cost, isExternal } = piece;
  const ms = measurePiece(piece);
  return (
    <tr
      data-row={key}
      class={`${isFirst ? "r1" : ""} ${isChosen ? "on" : ""}`}
      aria-selected={isChosen || undefined}
    >
      <td class="c1">{isFirst ? round : ""}</td>
      <td class="c2" colSpan={kind === "event" && bars.length === 0 ? 2 : 1}>
        <a
          class={kind === "tool" ? "nm d" : "nm"}
          href={href}
          title={kind === "event" ? name : undefined}
        >
          <Icon
            id={ICONS[kind]}
            size={kind === "event" ? 8 : 14}
            tone={kind === "event" ? "mute" : ""}
          />
          <span class="cut">
            {kind === "queue" && t("run.queue")}
            {kind === "tool" && (
              <code>
                <Outside text={name} />
              </code>
            )}
            {(kind === "model" || kind === "event") && <Outside text={name} />}
          </span>
          {isExternal && (
            <span class="tag out">
              <Icon id="i-globe" size={11} />
              <span class="wide">{t("run.outside")}</span>
            </span>
          )}
          <PieceState piece={piece} />
        </a>
      </td>
      {(kind !== "event" || bars.length > 0) && (
        <td>
          <Bars piece={piece} axis={axis} />
        </td>
      )}
      <td class="c4">{ms === null ? <span class="dim">–</span> : writeTook(ms)}</td>
      <td class="c5">{cost === undefined ? <span class="dim">–</span> : <Cost sum={cost} />}</td>
    </tr>
  );
}

function Bars({ piece: { bars }, axis }: Pick<RowProps, "piece" | "axis">) {
  return (
    <div class="tl">
      <Grid folds={axis.folds} ticks={axis.ticks} />
      {bars.map(({ kind, from, to }, at) => {
        const x = axis.place(from);
        const place = { "--x": percent(x), "--w": percent(axis.place(to) - x) };
        return <span class={`br ${kind}`} key={at} style={place} />;
      })}
    </div>
  );
}

const SHAPES = {
  running: ["running", "run"],
  waiting: ["waiting", "warn"],
  rejected: ["rejected", "mute"],
  failed: ["failed", "bad"],
} as const;

const WORDS = {
  running: "runs.running",
  waiting: "runs.waiting_approval",
  rejected: "run.rejected",
  failed: "runs.failed",
} as const;

function PieceState({ piece: { state } }: { piece: WorkPiece }) {
  if (state === "done") return null;
  const [shape, tone] = SHAPES[state];
  return (
    <>
      <Icon id={`s-${shape}`} size={12} tone={tone} />
      <span class="vh">{t(WORDS[state])}</span>
    </>
  );
}

function percent(share: number): string {
  return `${share.toFixed(2)}%`;
}

const LEGEND = ["ttft", "model", "tool", "wait"] as const;

export function Legend({ hasFolds }: { hasFolds: boolean }) {
  return (
    <p class="legend wl">
      {LEGEND.map((kind) => (
        <span key={kind}>
          <i class={`k-${kind}`} />
          {t(`run.legend.${kind}`)}
        </span>
      ))}
      {hasFolds && <span class="p2 end">{t("run.folded")}</span>}
    </p>
  );
}
