// Operations on requests of the gateway.
import { Type } from "@sinclair/typebox";
import { show } from "../../platform/schema.ts";
import { defineOperation } from "../operation.ts";
import { ExplainedRequest, ListedRequest } from "../requests.ts";
import { account, idOf, input, LIMIT, limit, maybeText, text } from "./fields.ts";

const ID_CHARACTERS_MAX = 128;

const search = {
  account,
  key: Type.Optional(idOf("key")),
  model: maybeText("Model that was asked for, or that it meant."),
  status: maybeText("Status such as `429`, or a class such as `5xx`."),
  code: maybeText("Error code, such as `rate_limit_exceeded`."),
  run: Type.Optional(idOf("run")),
  since: maybeText("Earliest arrival, such as 2027-01-05, or a duration before now, such as 1h."),
  slower_than_ms: Type.Optional(
    Type.Integer({ minimum: 0, description: "Milliseconds that they took longer than." }),
  ),
};

export const requestOperations = {
  list: defineOperation({
    name: "requests list",
    method: "GET",
    path: "/requests",
    summary: "List the newest requests that have ended.",
    input: input({
      ...search,
      before: maybeText("`next` of the page before.", ID_CHARACTERS_MAX),
      limit,
    }),
    reply: Type.Object({
      rows: Type.Array(ListedRequest, { description: "In the order of their ends, newest first." }),
      next: Type.Union([Type.String(), Type.Null()], {
        description:
          "`before` of the next page; null: there is none. A page may have fewer rows than " +
          "`limit`, even none, since it looks at 500,000 requests at most.",
      }),
    }),
    async run({ requests }, { before = null, limit: rowsMax = LIMIT, ...asked }) {
      const { rows, next } = await requests.list(asked, rowsMax, before);
      return { rows: rows.map((row) => show(ListedRequest, row)), next };
    },
  }),
  explain: defineOperation({
    name: "requests show",
    method: "GET",
    path: "/requests/:id",
    summary: "Explain a request; several may have the same id, the newest is the first.",
    input: input({
      id: text(
        "Its `x-request-id`, the id of its row, or at least 6 first or last characters of them.",
        ID_CHARACTERS_MAX,
      ),
    }),
    reply: Type.Array(ExplainedRequest),
    async run({ requests }, asked) {
      const rows = await requests.explain(asked.id);
      return rows.map(({ explanation, ...row }) => ({ ...show(ListedRequest, row), explanation }));
    },
  }),
  listLater: defineOperation({
    name: "requests follow",
    method: "GET",
    path: "/requests/:id/later",
    summary: "List requests that ended after another, and more than a second ago.",
    input: input({
      id: text(
        "Id of a row; 00000000-0000-0000-0000-000000000000: before the first.",
        ID_CHARACTERS_MAX,
      ),
      ...search,
    }),
    reply: Type.Object({
      rows: Type.Array(ListedRequest, { description: "In the order of their ends, oldest first." }),
      last: Type.String({ description: "Id of the last request looked at: the next `id`." }),
    }),
    async run({ requests }, { id, ...asked }) {
      const { rows, last } = await requests.listLater(asked, id);
      return { rows: rows.map((row) => show(ListedRequest, row)), last };
    },
  }),
};
