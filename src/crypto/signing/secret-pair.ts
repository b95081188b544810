// Signing secrets in pairs: after a rotation, the previous secret stays valid beside the new one.
import { type Static, Type } from "@sinclair/typebox";
import { maybe } from "../../platform/schema.ts";
import { createDecoy } from "../cipher.ts";
import type { OpenedSecret, SecretStore } from "../secret-store.ts";
import type { SealedSecret, SecretOwner, SecretPlace } from "../store.ts";
import { makeSigningSecret } from "./signature.ts";

/** Time for a new secret to reach every signer and verifier. */
const OVERLAP_SECONDS = { default: 86_400, maximum: 604_800 };

export const RotateSecret = Type.Object(
  {
    overlap_seconds: Type.Optional(
      maybe(
        Type.Integer({
          description:
            "Seconds for which the previous secret stays valid beside the new one; 0: not at " +
            "all. Null or omitted: 86400, a day.",
          minimum: 0,
          maximum: OVERLAP_SECONDS.maximum,
        }),
      ),
    ),
  },
  {
    additionalProperties: false,
    $id: "RotateSecret",
    description: "How long two secrets are valid; an empty body is `{}`.",
    examples: [{}, { overlap_seconds: 3_600 }],
  },
);

/** Returns milliseconds. */
export function readOverlap({ overlap_seconds }: Static<typeof RotateSecret>): number {
  return (overlap_seconds ?? OVERLAP_SECONDS.default) * 1_000;
}

interface SecretPair {
  current: string;
  previous: { secret: string; expires_at: number } | null;
}

export type OpenedPair = { ok: true; secrets: string[] } | Extract<OpenedSecret, { ok: false }>;

export type SecretPairs = ReturnType<typeof createSecretPairs>;

/** Stands for a pair that is not stored. */
function makeDecoy() {
  const text = writePair({ current: makeSigningSecret(), previous: null });
  // The decoy is sealed under a key of its own; any kind will do.
  return { text, decoy: createDecoy("trigger", text) };
}

export function createSecretPairs(secrets: Pick<SecretStore, "store" | "open">) {
  let made: ReturnType<typeof makeDecoy> | undefined;
  return {
    store<T>(about: SecretOwner, secret: string, write: (sealed: SealedSecret) => Promise<T>) {
      return secrets.store(about, writePair({ current: secret, previous: null }), write);
    },
    /** Stores another secret; the previous one stays valid for `overlap_ms` more. */
    async rotate<T>(
      about: SecretOwner,
      { secret, overlap_ms }: { secret: string; overlap_ms: number },
      write: (sealed: SealedSecret, previous_expires_at: number | null) => Promise<T>,
    ): Promise<T> {
      const opened = await secrets.open(about);
      // A previous secret that cannot be opened is dropped.
      const before = opened.ok ? readPair(opened.secret).current : null;
      const expires_at = before === null || overlap_ms === 0 ? null : about.set_at + overlap_ms;
      const previous = expires_at === null ? null : { secret: before!, expires_at };
      const text = writePair({ current: secret, previous });
      return secrets.store(about, text, (sealed) => write(sealed, expires_at));
    },
    async open(place: SecretPlace, now: number): Promise<OpenedPair> {
      const opened = await secrets.open(place);
      return opened.ok ? { ok: true, secrets: listInForce(opened.secret, now) } : opened;
    },
    /** Like `open`, and as slow where nothing is stored, so that its time reveals nothing. */
    async openAlike(place: SecretPlace, now: number): Promise<OpenedPair> {
      made ??= makeDecoy();
      const { decoy, text } = made;
      const opened = await secrets.open(place, decoy);
      const inForce = listInForce(opened.ok ? opened.secret : text, now);
      return opened.ok ? { ok: true, secrets: inForce } : opened;
    },
  };
}

function listInForce(text: string, now: number): string[] {
  const { current, previous } = readPair(text);
  return previous !== null && now < previous.expires_at ? [current, previous.secret] : [current];
}

function writePair(pair: SecretPair): string {
  return JSON.stringify(pair);
}

function readPair(text: string): SecretPair {
  return JSON.parse(text) as SecretPair;
}
