// An account owns keys and all that is made with them.
import { type Static, Type } from "@sinclair/typebox";
import { Resource, Timestamp } from "../platform/schema.ts";

export const Account = Resource("Account", {
  id: Type.String({ format: "uuid", description: "Identifier." }),
  name: Type.String({ description: "Unique name, 1 to 64 of letters, digits, `_`, `.`, `-`." }),
  created_at: Timestamp("When the account was created."),
});
export type Account = Static<typeof Account>;
