// The table of usage: the text of the chart, with exact sums.

import { writeCompact } from "../format.ts";
import { Money, Outside } from "../parts.tsx";
import { writeCount } from "../texts/plural.ts";
import { t } from "../texts.ts";
import {
  addSums,
  type GroupSums,
  NO_USE,
  type UsageMeasure,
  type UsageStack,
  writeMicro,
} from "./groups.ts";

export interface UsageLine {
  id: string;
  name: string;
  sums: GroupSums;
}

interface UsageTableProps {
  lines: readonly UsageLine[];
  measure: UsageMeasure;
  stack: UsageStack;
  currency: string;
}

export const sumLines = (lines: readonly UsageLine[]): GroupSums =>
  lines.map(({ sums }) => sums).reduce(addSums, NO_USE);

const writeShare = (part: number, whole: number): string =>
  whole === 0 ? "" : `${((part / whole) * 100).toFixed(1)} %`;

export function UsageTable({ lines, measure, stack, currency }: UsageTableProps) {
  const all = sumLines(lines);
  const isOfRuns = measure === "runs";
  const heads = isOfRuns
    ? [t("usage.measure.runs"), t("usage.failed"), t("usage.share")]
    : [
        t("usage.measure.requests"),
        t("usage.measure.tokens"),
        currency,
        t("usage.share"),
        t("usage.unpriced"),
      ];
  return (
    <table class="t usage">
      <thead>
        <tr>
          <th>{t(`usage.by.${stack}`)}</th>
          {heads.map((head, at) => (
            <th key={head} class={at < 2 && !isOfRuns ? "n p2" : "n"}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {lines.map(({ id, name, sums }, at) => (
          <tr key={id}>
            <td class="cut">
              <span class="sw" style={{ "--c": `var(--s${at + 1})` }} />
              <Outside text={name} />
            </td>
            <Figures {...{ sums, measure }} share={writeShare(sums[measure], all[measure])} />
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr>
          <td>{t("usage.all")}</td>
          <Figures sums={all} measure={measure} share="" />
        </tr>
      </tfoot>
    </table>
  );
}

interface FiguresProps {
  sums: GroupSums;
  measure: UsageMeasure;
  share: string;
}

function Figures({ sums, measure, share }: FiguresProps) {
  if (measure === "runs") {
    return (
      <>
        <td class="n">{writeCount(sums.runs)}</td>
        <td class="n">{writeCount(sums.failed)}</td>
        <td class="n soft">{share}</td>
      </>
    );
  }
  return (
    <>
      <td class="n p2">{writeCount(sums.requests)}</td>
      <td class="n p2" title={writeCount(sums.tokens)}>
        {writeCompact(sums.tokens)}
      </td>
      <td class="n">
        <Money sum={writeMicro(sums.cost)} />
      </td>
      <td class="n soft">{share}</td>
      <td class="n">
        {sums.unpriced === 0 ? (
          <span class="dim">0</span>
        ) : (
          <>
            <i class="sw hatch" style={{ "--c": "var(--ink-3)" }} />
            {writeCount(sums.unpriced)}
          </>
        )}
      </td>
    </>
  );
}

/** The rows of the table with whole numbers, for a spreadsheet. */
export function listCells({ lines, measure, stack, currency }: UsageTableProps) {
  const all = { id: "", name: t("usage.all"), sums: sumLines(lines) };
  const isOfRuns = measure === "runs";
  const heads = isOfRuns
    ? ["usage.measure.runs", "usage.failed"]
    : ["usage.measure.requests", "usage.measure.tokens", null, "usage.unpriced"];
  return [
    [
      t(`usage.by.${stack}`),
      ...heads.map((id) => (id === null ? currency : t(id as "usage.measure.runs"))),
    ],
    ...[...lines, all].map(({ name, sums }) => [
      name,
      ...(isOfRuns
        ? [sums.runs, sums.failed]
        : [sums.requests, sums.tokens, writeMicro(sums.cost), sums.unpriced]),
    ]),
  ];
}
