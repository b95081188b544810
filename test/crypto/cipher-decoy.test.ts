// Tests that a decoy opens with its own key, and has the length of a real secret.
import { expect, test } from "bun:test";
import { createDecoy, seal, unseal } from "../../src/crypto/cipher.ts";
import { makeMasterKey } from "../../src/crypto/master-key.ts";

test("a decoy opens only with its own key", () => {
  const { key, sealed } = createDecoy("trigger", "nobody's 😀");
  expect(unseal(key, sealed, sealed.sealed)).toBe("nobody's 😀");
  expect(unseal(makeMasterKey(), sealed, sealed.sealed)).toBeNull();
});

test("a decoy's row is as long as a secret's of the same length", () => {
  const id = crypto.randomUUID();
  const about = { kind: "trigger", row_id: id, account_id: id, set_at: 0 } as const;
  const real = seal(makeMasterKey(), about, "a text");
  const { sealed } = createDecoy("trigger", "no one");
  expect(JSON.stringify(sealed)).toHaveLength(JSON.stringify(real).length);
});
