// The decoy: it opens to its text with its own key, and is as long as what it stands in for.
import { expect, test } from "bun:test";
import { createDecoy, seal, unseal } from "../../src/crypto/cipher.ts";
import { makeMasterKey } from "../../src/crypto/master-key.ts";

test("it opens with its own key, and with no other", () => {
  const { key, sealed } = createDecoy("trigger", "nobody's 😀");
  expect(unseal(key, sealed, sealed.sealed)).toBe("nobody's 😀");
  expect(unseal(makeMasterKey(), sealed, sealed.sealed)).toBeNull();
});

test("its row is as long as that of a secret as long", () => {
  const id = crypto.randomUUID();
  const about = { kind: "trigger", row_id: id, account_id: id, set_at: 0 } as const;
  const real = seal(makeMasterKey(), about, "a text");
  const { sealed } = createDecoy("trigger", "no one");
  expect(JSON.stringify(sealed)).toHaveLength(JSON.stringify(real).length);
});
