// Arguments of a call: a table that says where each comes from, and the exact text that is hashed.
import { useSignal } from "@preact/signals";
import { writeCanonical } from "../../../platform/json.ts";
import { writeSpan } from "../format.ts";
import { nameHidden, splitHidden } from "../hidden.ts";
import { CodeBlock } from "../json.tsx";
import { now } from "../live.ts";
import { Outside, Segment } from "../parts.tsx";
import { t } from "../texts.ts";
import type { ComparedArgument, Comparison } from "./comparison.ts";
import type { ApprovalDetail } from "./data.ts";

const FORMS = ["table", "json"] as const;
/** Characters above which the table cuts a value; the JSON has the whole. */
const VALUE_CHARACTERS_MAX = 600;

export function Arguments({ detail, compared }: ArgumentsProps) {
  const form = useSignal<(typeof FORMS)[number]>("table");
  const { arguments: rows, isCut } = compared;
  return (
    <section>
      <div class="h">
        <h3>{t("approvals.arguments")}</h3>
        <span class="end">
          <Segment
            label={t("approvals.arguments.as")}
            value={form.value}
            options={FORMS.map((value) => ({ value, text: t(`approvals.form.${value}`) }))}
            isTabs
            onChange={(value) => {
              form.value = value;
            }}
          />
        </span>
      </div>
      {form.value === "json" ? (
        <ExactJson value={detail.approval.arguments} />
      ) : (
        <>
          {rows.length === 0 && <p class="dim">{t("approvals.arguments.none")}</p>}
          {rows.length > 0 && <Table rows={rows} similarAt={compared.similarAt} />}
          {isCut && <p class="dim">{t("approvals.arguments.more", rows.length)}</p>}
        </>
      )}
    </section>
  );
}

interface ArgumentsProps {
  detail: ApprovalDetail;
  compared: Comparison;
}

/** Hidden characters that are named below the text. */
const CODES_MAX = 32;

/** Shows exactly the text whose SHA-256 the approval has; hidden characters get tags beside. */
function ExactJson({ value }: { value: unknown }) {
  const text = writeCanonical(value);
  const hidden = splitHidden(text).filter(({ kind }) => kind === "hidden");
  const all = [...new Set(hidden.flatMap(({ raw }) => [...raw]))];
  const codes = all.slice(0, CODES_MAX).map(nameHidden).join(" ");
  return (
    <>
      <CodeBlock text={text} label={t("approvals.arguments")} isExact />
      {codes !== "" && <p class="dim">{t("approvals.json.hidden", codes)}</p>}
    </>
  );
}

interface TableProps {
  rows: readonly ComparedArgument[];
  similarAt: string | null;
}

function Table({ rows, similarAt }: TableProps) {
  return (
    <table class="t args">
      <thead class="vh">
        <tr>
          <th>{t("approvals.argument")}</th>
          <th>{t("approvals.value")}</th>
          <th>{t("approvals.source")}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.path} class={row.isHit ? "hit" : ""}>
            <th scope="row">
              <Outside text={row.path} />
            </th>
            <td>
              {row.earlier === null ? (
                <Value text={row.text} />
              ) : (
                <>
                  <b>
                    <Value text={row.text} />
                  </b>
                  <del>
                    {t("approvals.earlier", writeSpan(now.value - Date.parse(similarAt!)))}{" "}
                    <Value text={row.earlier} />
                  </del>
                </>
              )}
            </td>
            <td class="n">{describeOrigin(row)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Value({ text }: { text: string }) {
  if (text.length <= VALUE_CHARACTERS_MAX) return <Outside text={text} />;
  return (
    <>
      <Outside text={text.slice(0, VALUE_CHARACTERS_MAX)} />
      <span class="tag">{t("approvals.value.cut", text.length)}</span>
    </>
  );
}

function describeOrigin({ origin }: ComparedArgument): string {
  switch (origin.kind) {
    case "input":
      return t("source.input");
    case "model":
      return t("source.model");
    case "same":
      return t("source.same", writeSpan(now.value - Date.parse(origin.at)));
    case "inside":
      return t("source.inside", origin.tool ?? "", origin.seq ?? 0);
    case "outside":
      return origin.seq === null
        ? t("source.hook")
        : t("source.outside", origin.tool ?? "", origin.seq);
    case "unknown":
      return "";
  }
}
