// Previews the policy of a version: what happens to calls of its tools, by the engine's own rules.
import { type Static, Type } from "@sinclair/typebox";
import type { Database } from "../../database/index.ts";
import { maybe, oneOf } from "../../platform/schema.ts";
import type { Settings } from "../../settings/index.ts";
import { explainOff } from "../tools/availability.ts";
import { createShownCatalog } from "../tools/catalog.ts";
import { RISKS } from "../tools/contract.ts";
import { toolStore } from "../tools/http/store/index.ts";
import { decide } from "../tools/policy.ts";
import { findBuiltinTitle } from "../tools/titles.ts";
import { ToolPin, type VersionRow } from "./version.ts";

const REASONS = ["irreversible", "write", "listed", "external_content"] as const;

export const PreviewedTool = Type.Object(
  {
    name: ToolPin.properties.name,
    revision: ToolPin.properties.revision,
    kind: ToolPin.properties.kind,
    risk: oneOf(RISKS, "Risk by which the rules decide."),
    title: maybe(Type.String({ description: "A name for people; null: it has none." })),
    is_off: Type.Boolean({ description: "It is switched off or gone: no run can call it." }),
    decision: oneOf(
      ["runs", "asks", "asks_after_external_content"],
      "`asks`: a person decides on each call, or only after content from outside was read.",
    ),
    why: Type.Array(oneOf(REASONS, "Reason."), { description: "Why it asks; none: it runs." }),
  },
  { description: "A tool of a version, and what happens to its calls." },
);
export type PreviewedTool = Static<typeof PreviewedTool>;

export type PreviewPolicy = (account_id: string, version: VersionRow) => Promise<PreviewedTool[]>;

export function createPolicyPreview(database: Database, settings: Settings): PreviewPolicy {
  const store = database.bind(toolStore);
  const catalog = createShownCatalog();
  return async (account_id, { tool_revisions, policy }) => {
    const pins = tool_revisions.filter(({ kind }) => kind !== "builtin");
    const names = pins.map(({ name }) => name);
    const rows = pins.length === 0 ? [] : await store.listPinned(account_id, pins);
    const standings = pins.length === 0 ? [] : await store.listStandings(account_id, names);
    const pinned = new Map(rows.map((row) => [row.name, row]));
    const standing = new Map(standings.map((one) => [one.name, one]));
    const find = ({ kind, name }: ToolPin) => {
      if (kind === "builtin") {
        const tool = catalog.find(name);
        return { risk: tool?.risk, title: findBuiltinTitle(name), isOff: !tool };
      }
      const tool = pinned.get(name);
      const isOff = explainOff(standing.get(name), settings) !== null;
      return { risk: tool?.risk, title: tool?.title ?? null, isOff };
    };
    return tool_revisions.map((pin) => {
      const { title, isOff, risk = pin.risk } = find(pin);
      const call = { risk, name: pin.name, policy };
      const { name, revision, kind } = pin;
      const shown = { name, revision, kind, risk, title, is_off: isOff };
      const before = decide({ ...call, hasExternal: false });
      if (before.why.length > 0) return { ...shown, decision: "asks", why: before.why };
      const { why } = decide({ ...call, hasExternal: true });
      return { ...shown, decision: why.length > 0 ? "asks_after_external_content" : "runs", why };
    });
  };
}
