// The differences of two versions of an agent, field by field.
import { type Static, Type } from "@sinclair/typebox";
import type { Version } from "../agents/index.ts";

const of = (which: string) =>
  Type.Unknown({ description: `The field in the ${which} version; null: it is not set.` });

export const VersionDiff = Type.Object({
  agent: Type.String({ description: "Id of the agent." }),
  from: Type.Integer({ description: "Number of the first version." }),
  to: Type.Integer({ description: "Number of the second version." }),
  changes: Type.Array(
    Type.Object({
      field: Type.String({ description: "Such as `system_prompt` or `policy.require_approval`." }),
      before: of("first"),
      after: of("second"),
    }),
    { description: "Fields that differ; empty: the versions behave alike." },
  ),
});

/** Fields that say when and by whom a version was made. */
const UNCOMPARED: ReadonlySet<string> = new Set<keyof Version>([
  ...(["agent_id", "version", "created_at", "created_by_key_id"] as const),
]);

export function diffVersions(before: object, after: object): Static<typeof VersionDiff>["changes"] {
  const [old, now] = [flatten(before), flatten(after)];
  const fields = new Set([...old.keys(), ...now.keys()]);
  return [...fields].flatMap((field) => {
    const [one, other] = [old.get(field) ?? null, now.get(field) ?? null];
    return Bun.deepEquals(one, other) ? [] : [{ field, before: one, after: other }];
  });
}

function flatten(version: object): Map<string, unknown> {
  const fields = new Map<string, unknown>();
  for (const [name, value] of Object.entries(version)) {
    if (UNCOMPARED.has(name)) continue;
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      fields.set(name, value);
      continue;
    }
    for (const [inner, one] of Object.entries(value)) fields.set(`${name}.${inner}`, one);
  }
  return fields;
}
