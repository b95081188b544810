// The difference of two versions: fields by name, the prompt by line.

import { foldUnchanged } from "../../../platform/list-diff.ts";
import { useResource } from "../live.ts";
import { Head, Outside } from "../parts.tsx";
import { Unready } from "../resource.tsx";
import { useLocation } from "../router.ts";
import { t } from "../texts.ts";
import { listChanges, type OpenedAgentRow, type ShownVersion } from "./data.ts";
import { type DiffLine, diffLines } from "./diff.ts";

/** Unchanged lines that stay before and after a change. */
const CONTEXT = 3;
const LINES_MAX = 2_000;
const LINE_CHARACTERS_MAX = 2_000;
const SIGNS = { same: " ", removed: "−", added: "+" } as const;

/** Lines, and numbers of unchanged lines that are left out in their place. */
type ShownLine = DiffLine | number;

const isChange = ({ kind }: DiffLine) => kind !== "same";

function Line({ line }: { line: ShownLine }) {
  if (typeof line === "number") return <li class="fold">{t("agents.diff.folded", line)}</li>;
  const { kind, text } = line;
  const isCut = text.length > LINE_CHARACTERS_MAX;
  return (
    <li class={kind}>
      <span aria-hidden="true">{SIGNS[kind]}</span>
      {kind !== "same" && <span class="vh">{t(`agents.diff.${kind}`)}</span>}
      <span>
        <Outside text={text.slice(0, LINE_CHARACTERS_MAX)} />
        {isCut && <span class="tag">{t("code.cut", text.length, LINE_CHARACTERS_MAX)}</span>}
      </span>
    </li>
  );
}

/** Two texts by line, without what is far from a change. */
export function LineDifference({ before, after }: { before: string; after: string }) {
  const lines = foldUnchanged(diffLines(before, after), isChange, CONTEXT);
  return (
    <>
      <ol class="code diff">
        {lines.slice(0, LINES_MAX).map((line, at) => (
          <Line key={at} line={line} />
        ))}
      </ol>
      {lines.length > LINES_MAX && <p class="dim">{t("agents.diff.more", LINES_MAX)}</p>}
    </>
  );
}

interface FieldsProps {
  before: ShownVersion;
  after: ShownVersion;
}

function FieldDifference({ before, after }: FieldsProps) {
  const changes = listChanges(before, after);
  if (changes.length === 0) return <p class="soft">{t("agents.diff.same_fields")}</p>;
  return (
    <table class="t plain inner stack pairs">
      <thead>
        <tr>
          <th>{t("agents.diff.field")}</th>
          <th>{t("agents.version", before.version)}</th>
          <th>{t("agents.version", after.version)}</th>
        </tr>
      </thead>
      <tbody>
        {changes.map((change) => (
          <tr key={change.path}>
            <th scope="row" class="a1">
              <code>{change.path}</code>
            </th>
            <td class="wraps soft a2">
              {change.before === "" ? <span class="dim">–</span> : <Outside text={change.before} />}
            </td>
            <td class="wraps b2">
              {change.after === "" ? <span class="dim">–</span> : <Outside text={change.after} />}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface DifferenceProps {
  id: string;
  after: ShownVersion;
  /** Number of the version that it is compared with. */
  number: string;
}

export function Difference({ id, after, number }: DifferenceProps) {
  const { path } = useLocation();
  const resource = useResource<OpenedAgentRow>(
    `/agents/${encodeURIComponent(id)}?version=${encodeURIComponent(number)}`,
    ["agents"],
  );
  const before = resource.value.data?.version;
  return (
    <>
      <Unready
        what={t("agents.version", Number(number))}
        resource={resource.value}
        missing={{
          says: t("agents.version.missing", number),
          ...{ href: path, link: t("agents.version.current") },
        }}
      />
      {before && (
        <>
          <section>
            <Head
              title={t("agents.diff.fields")}
              says={t("agents.diff.says", before.version, after.version)}
            />
            <FieldDifference before={before} after={after} />
          </section>
          <section>
            <Head title={t("agents.prompt")} />
            {before.system_prompt === after.system_prompt ? (
              <p class="soft">{t("agents.diff.same_prompt")}</p>
            ) : (
              <LineDifference before={before.system_prompt} after={after.system_prompt} />
            )}
          </section>
        </>
      )}
    </>
  );
}
