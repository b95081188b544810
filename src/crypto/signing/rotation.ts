// What a caller sends to rotate a signing secret: for how long the one before holds, too.
import { type Static, Type } from "@sinclair/typebox";
import { maybe } from "../../platform/schema.ts";

/** As of keys: long enough for a new secret to reach whoever signs or verifies with it. */
const OVERLAP_SECONDS = { default: 86_400, maximum: 604_800 };

export const RotateSecret = Type.Object(
  {
    overlap_seconds: Type.Optional(
      maybe(
        Type.Integer({
          description:
            "For so many seconds the secret before holds beside the new one; 0: not at all. Null " +
            "or left out: 86400, a day.",
          minimum: 0,
          maximum: OVERLAP_SECONDS.maximum,
        }),
      ),
    ),
  },
  {
    additionalProperties: false,
    $id: "RotateSecret",
    description: "For how long two secrets hold; an empty body is `{}`.",
    examples: [{}, { overlap_seconds: 3_600 }],
  },
);

/** In milliseconds. */
export function readOverlap({ overlap_seconds }: Static<typeof RotateSecret>): number {
  return (overlap_seconds ?? OVERLAP_SECONDS.default) * 1_000;
}
