// Rotation of the secrets key.
import type { SecretRotation, SecretsModule } from "../crypto/index.ts";
import { AdminError } from "./errors.ts";

export type Rotated = Omit<Extract<SecretRotation, { ok: true }>, "ok">;

export function createSecretAdmin(secrets: SecretsModule) {
  return {
    /** Makes a new key; `gives_up` deletes secrets that no key at hand opens. */
    async rotate(gives_up: boolean): Promise<Rotated> {
      const outcome = await secrets.rotate({ gives_up });
      if (!outcome.ok) throw new AdminError(explain(outcome));
      const { ok: _, ...rotated } = outcome;
      return rotated;
    },
  };
}

function explain(outcome: Extract<SecretRotation, { ok: false }>): string {
  switch (outcome.why) {
    case "no file":
      return "this installation has no key file: its secrets last as long as the program runs";
    case "busy":
      return "another rotation is under way on the same key file";
    case "unavailable":
      return (
        `the secrets key ${outcome.fault ?? "is another than that of the stored secrets"}: put ` +
        "its file back, or, where it is lost, delete with --give-up what only it opens"
      );
    case "unreadable": {
      const { left, places } = outcome;
      const names = places.map(({ kind, row_id }) => `${kind} ${row_id}`).join(", ");
      const others = left > places.length ? ` and ${left - places.length} others` : "";
      return (
        `these cannot be opened: ${names}${others}; all else is under the new key, and the file ` +
        "keeps the old one too: set them anew, or delete their secrets with --give-up, and then " +
        "rotate again"
      );
    }
  }
}
