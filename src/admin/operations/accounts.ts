// Operations on accounts, their grants and holds.
import { Type } from "@sinclair/typebox";
import { Account, Hold, LimitUse } from "../../access/index.ts";
import { show } from "../../platform/schema.ts";
import { ListedAccount } from "../accounts.ts";
import type { Admin } from "../admin.ts";
import { defineOperation } from "../operation.ts";
import { input, maybeText, NO_INPUT, text } from "./fields.ts";
import { LIMIT_FIELDS, LimitList, readLimits, showLimits } from "./limits.ts";

const name = text("Name of the account.");
const model = text("Id of the model.");
const reason = maybeText("Reason that the owner reads.");

const Grant = Type.Object({
  account: Type.String({ description: "Name of the account." }),
  model: Type.String({ description: "Id of the model." }),
  granted: Type.Boolean({ description: "The account may call it now." }),
  note: Type.Union([Type.String(), Type.Null()], {
    description: "Why the grant has no effect; null: it has.",
  }),
});

const rowCounts = (description: string) =>
  Type.Array(
    Type.Object({
      what: Type.String({ description: "Kind of rows." }),
      rows: Type.Integer({ description: "Number of rows." }),
    }),
    { description },
  );

const AccountContents = Type.Object({
  account: Type.String({ description: "Name of the account." }),
  is_begun: Type.Boolean({
    description: "Its deletion was begun: it is gone, and these are left.",
  }),
  contents: rowCounts("What it has, in order; its requests by their daily sums."),
});

const AccountRemoval = Type.Object({
  account: Type.String({ description: "Name of the account." }),
  is_done: Type.Boolean({ description: "False: time was over, and rows are left." }),
  next: Type.Union([Type.String(), Type.Null()], {
    description: "`from` of the next request, which goes on there; null: it is done.",
  }),
  deleted: rowCounts("Rows that this request has deleted, with versions, steps and messages."),
});

const AccountLimit = Type.Object({
  ...LimitUse.properties,
  account: Type.String({ description: "Name of the account." }),
});

const Release = Type.Object({
  account: Type.String({ description: "Name of the account." }),
  held: Type.Literal(false, { description: "The account is no longer held." }),
  was_held: Type.Boolean({ description: "The account was held before." }),
});

const audit = {
  target: (asked: { name: string }) => asked.name,
  async read({ accounts }: Admin, found: string) {
    const row = await accounts.find(found);
    return row && show(ListedAccount, row);
  },
};

export const accountOperations = {
  create: defineOperation({
    name: "accounts create",
    method: "POST",
    path: "/accounts",
    summary: "Create an account, which owns keys and agents.",
    input: input({ name }),
    reply: Account,
    audit,
    run: async ({ accounts }, asked) => show(Account, await accounts.create(asked.name)),
  }),
  list: defineOperation({
    name: "accounts list",
    method: "GET",
    path: "/accounts",
    summary: "List accounts with their holds and stored bytes.",
    input: NO_INPUT,
    reply: Type.Array(ListedAccount),
    run: async ({ accounts }) => (await accounts.list()).map((row) => show(ListedAccount, row)),
  }),
  countContents: defineOperation({
    name: "accounts delete",
    method: "GET",
    path: "/accounts/:name/contents",
    summary: "Count what a deletion of an account would delete.",
    input: input({ name }),
    reply: AccountContents,
    run: ({ accountDeletion }, asked) => accountDeletion.count(asked.name),
  }),
  delete: defineOperation({
    name: "accounts delete --yes",
    method: "DELETE",
    path: "/accounts/:name",
    summary:
      "Delete an account at once with its keys, then everything of it; ask again until it is done.",
    input: input({
      name,
      from: maybeText("`next` of the last reply: the same deletion goes on there."),
    }),
    reply: AccountRemoval,
    audit,
    run: ({ accountDeletion }, asked) => accountDeletion.remove(asked.name, asked.from),
  }),
  grant: defineOperation({
    name: "accounts grant",
    method: "PUT",
    path: "/accounts/:name/grants/:model",
    summary: "Let an account call an external or private model.",
    input: input({ name, model }),
    reply: Grant,
    audit,
    async run({ accounts }, asked) {
      const note = (await accounts.grant(asked.name, asked.model)) ?? null;
      return { account: asked.name, model: asked.model, granted: true, note };
    },
  }),
  ungrant: defineOperation({
    name: "accounts ungrant",
    method: "DELETE",
    path: "/accounts/:name/grants/:model",
    summary: "Revoke a grant.",
    input: input({ name, model }),
    reply: Grant,
    audit,
    async run({ accounts }, asked) {
      await accounts.ungrant(asked.name, asked.model);
      return { account: asked.name, model: asked.model, granted: false, note: null };
    },
  }),
  readLimits: defineOperation({
    name: "accounts limit",
    method: "GET",
    path: "/accounts/:name/limits",
    summary: "List the limits of an account with their use.",
    input: input({ name }),
    reply: LimitList,
    run: async ({ limits }, asked) => ({ limits: await limits.showAccount(asked.name) }),
  }),
  listLimits: defineOperation({
    name: "accounts limits",
    method: "GET",
    path: "/limits",
    summary: "List the limits of all accounts with their use.",
    input: NO_INPUT,
    reply: Type.Array(AccountLimit),
    run: ({ limits }) => limits.listAccounts(),
  }),
  limit: defineOperation({
    name: "accounts limit --change",
    method: "PUT",
    path: "/accounts/:name/limits",
    summary: "Change the named limits of an account.",
    input: input({ name, ...LIMIT_FIELDS }),
    reply: LimitList,
    audit: {
      ...audit,
      read: async ({ limits }: Admin, found: string) =>
        showLimits(await limits.findOfAccount(found)),
    },
    run: async ({ limits }, { name, ...fields }) => {
      return { limits: await limits.limitAccount(name, readLimits(fields)) };
    },
  }),
  hold: defineOperation({
    name: "accounts hold",
    method: "PUT",
    path: "/accounts/:name/hold",
    summary: "Keep new runs of an account's agents from starting.",
    input: input({ name, reason }),
    reply: Hold,
    audit,
    run: async ({ accounts }, asked) =>
      show(Hold, await accounts.hold(asked.name, asked.reason ?? null)),
  }),
  release: defineOperation({
    name: "accounts release",
    method: "DELETE",
    path: "/accounts/:name/hold",
    summary: "End a hold and start the runs that wait for it.",
    input: input({ name }),
    reply: Release,
    audit,
    async run({ accounts }, asked) {
      const was_held = await accounts.release(asked.name);
      return { account: asked.name, held: false, was_held };
    },
  }),
};
