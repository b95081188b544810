// Operations on API keys. A secret is in the reply that makes it and nowhere else.
import { type Static, Type } from "@sinclair/typebox";
import { Key, SeenKey } from "../../access/index.ts";
import { maybe, show } from "../../platform/schema.ts";
import type { Admin } from "../admin.ts";
import { defineOperation } from "../operation.ts";
import { account, flag, idOf, input, lifetime, maybeText, text, withAccount } from "./fields.ts";
import { LIMIT_FIELDS, LimitList, readLimits, showLimits } from "./limits.ts";

const LIST_MAX = 1_000;

const secret = Type.String({ description: "The secret, which is shown only now." });
const NewKey = Type.Object({ ...Key.properties, secret });
const RotatedKey = Type.Object({
  ...NewKey.properties,
  previous_secret_expires_at: maybe(
    Type.String({ format: "date-time", description: "End of the old secret; null: refused now." }),
  ),
});
const ListedKey = Type.Object(withAccount(SeenKey.properties));
const ShownKey = Type.Object({
  ...ListedKey.properties,
  active_runs: Type.Integer({ description: "Unfinished runs that act for the key." }),
  open_streams: maybe(
    Type.Integer({ description: "Streams of this server that it has open; null: no server." }),
  ),
});

interface ShownSecret extends Record<string, unknown> {
  id: string;
  secret: string;
}

const audit = {
  target: (_: unknown, reply?: Record<string, unknown>) => reply?.id as string | undefined,
  async read({ keys }: Admin, found: string) {
    const key = await keys.find(found);
    return key && show(Key, key);
  },
};
export const keyAudit = { ...audit, target: (asked: { id: string }) => asked.id };

function showSecret(key: Key, shown: string): ShownSecret {
  return { ...show(Key, key), id: key.id, secret: shown };
}

const NewKeyInput = input({
  account: maybeText("Name of the owner; a key without an owner starts no runs."),
  name: maybeText("Name for people, 1 to 128 characters."),
  internal: flag("A platform-internal key, which may not call the API."),
  scopes: Type.Optional(
    Type.Array(text("A scope."), { maxItems: LIST_MAX, description: "Scopes to grant." }),
  ),
  models: Type.Optional(
    Type.Array(text("A model's id."), {
      maxItems: LIST_MAX,
      description: "Allowed models; without it, or empty, all.",
    }),
  ),
  max_output_tokens: Type.Optional(
    Type.Integer({ description: "Maximum tokens of a reply; without it, no limit of the key." }),
  ),
  lifetime_ms: lifetime,
});
export type NewKeyInput = Static<typeof NewKeyInput>;

export const keyOperations = {
  create: defineOperation({
    name: "keys create",
    method: "POST",
    path: "/keys",
    summary: "Create an API key; the reply shows its secret once.",
    input: NewKeyInput,
    reply: NewKey,
    audit,
    async run({ keys }, { internal = false, scopes = [], models = [], ...asked }) {
      const made = await keys.create({
        account: asked.account ?? null,
        name: asked.name ?? null,
        is_internal: internal,
        scopes,
        models: models.length === 0 ? null : models,
        max_output_tokens: asked.max_output_tokens ?? null,
        lifetimeMs: asked.lifetime_ms ?? null,
      });
      return showSecret(made.key, made.secret);
    },
  }),
  list: defineOperation({
    name: "keys list",
    method: "GET",
    path: "/keys",
    summary: "List keys without their secrets.",
    input: input({ account }),
    reply: Type.Array(ListedKey),
    async run({ keys }, asked) {
      const found = await keys.list(asked.account ?? null);
      return found.map((key) => ({ ...show(SeenKey, key), account: key.account }));
    },
  }),
  show: defineOperation({
    name: "keys show",
    method: "GET",
    path: "/keys/:id",
    summary: "Show a key with its last use and what it has under way, without its secret.",
    input: input({ id: idOf("key") }),
    reply: ShownKey,
    run: async ({ keys }, asked) => show(ShownKey, await keys.show(asked.id)),
  }),
  update: defineOperation({
    name: "keys update",
    method: "PATCH",
    path: "/keys/:id",
    summary: "Change a key, effective at its next request; omitted fields stay as they are.",
    input: input({
      id: idOf("key"),
      name: Type.Optional(maybe(text("Name for people, 1 to 128 characters; null: none."))),
      scopes: Type.Optional(
        Type.Array(text("A scope."), {
          maxItems: LIST_MAX,
          description: "Scopes of the key, in place of those before; empty: none.",
        }),
      ),
      models: Type.Optional(
        maybe(
          Type.Array(text("A model's id."), {
            maxItems: LIST_MAX,
            description: "Allowed models, in place of those before; null or empty: all.",
          }),
        ),
      ),
      max_output_tokens: Type.Optional(
        maybe(Type.Integer({ description: "Maximum tokens of a reply; null: no limit." })),
      ),
      lifetime_ms: Type.Optional(
        maybe(
          Type.Integer({
            minimum: 1,
            description: "Lifetime in milliseconds from now; null: unlimited.",
          }),
        ),
      ),
    }),
    reply: Key,
    audit: keyAudit,
    async run({ keys }, { id, lifetime_ms: lifetimeMs, models, ...fields }) {
      const allowed = models?.length === 0 ? null : models;
      const update = { ...fields, ...(models !== undefined && { models: allowed }) };
      return show(Key, await keys.update(id, { ...update, lifetimeMs }));
    },
  }),
  readLimits: defineOperation({
    name: "keys limit",
    method: "GET",
    path: "/keys/:id/limits",
    summary: "List the limits of a key with their use.",
    input: input({ id: idOf("key") }),
    reply: LimitList,
    run: async ({ limits }, asked) => ({ limits: await limits.showKey(asked.id) }),
  }),
  limit: defineOperation({
    name: "keys limit --change",
    method: "PUT",
    path: "/keys/:id/limits",
    summary: "Change the named limits of a key.",
    input: input({ id: idOf("key"), ...LIMIT_FIELDS }),
    reply: LimitList,
    audit: {
      ...keyAudit,
      read: async ({ limits }: Admin, found: string) => showLimits(await limits.findOfKey(found)),
    },
    run: async ({ limits }, { id, ...fields }) => {
      return { limits: await limits.limitKey(id, readLimits(fields)) };
    },
  }),
  revoke: defineOperation({
    name: "keys revoke",
    method: "POST",
    path: "/keys/:id/revoke",
    summary: "Revoke a key, effective at its next request.",
    input: input({ id: idOf("key") }),
    reply: Key,
    audit: keyAudit,
    run: async ({ keys }, asked) => show(Key, await keys.revoke(asked.id)),
  }),
  rotate: defineOperation({
    name: "keys rotate",
    method: "POST",
    path: "/keys/:id/rotate",
    summary: "Give a key a new secret; the reply shows it once.",
    input: input({
      id: idOf("key"),
      overlap_ms: Type.Integer({
        minimum: 0,
        description: "Milliseconds for which the old secret keeps working.",
      }),
    }),
    reply: RotatedKey,
    audit: keyAudit,
    async run({ keys }, asked) {
      const { key, previousUntil, ...made } = await keys.rotate(asked.id, asked.overlap_ms);
      const previous = previousUntil === null ? null : new Date(previousUntil).toISOString();
      const shown = showSecret(key, made.secret);
      return Object.assign(shown, { previous_secret_expires_at: previous });
    },
  }),
};
