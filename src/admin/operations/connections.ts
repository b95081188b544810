// Operations on credentials of tools; no reply shows a secret.
import { Type } from "@sinclair/typebox";
import { show } from "../../platform/schema.ts";
import type { Admin } from "../admin.ts";
import { ListedConnection } from "../connections.ts";
import { defineOperation } from "../operation.ts";
import { account, idOf, input, maybeText, text } from "./fields.ts";

const SECRET_BYTES_MAX = 16_384;
const HOSTS_MAX = 1_000;

const secret = text("The secret.", SECRET_BYTES_MAX);
const hosts = (description: string) =>
  Type.Optional(Type.Array(text("A host."), { maxItems: HOSTS_MAX, description }));

const Removal = Type.Object({
  connection: Type.String({ description: "Id of the connection." }),
  deleted: Type.Literal(true, { description: "The connection and its secret are deleted." }),
});

const audit = {
  target: (asked: object, reply?: Record<string, unknown>) =>
    "id" in asked ? String(asked.id) : (reply?.id as string | undefined),
  async read({ connections }: Admin, found: string) {
    const row = await connections.find(found);
    return row && show(ListedConnection, row);
  },
};

export const connectionOperations = {
  list: defineOperation({
    name: "connections list",
    method: "GET",
    path: "/connections",
    summary: "List connections without their secrets.",
    input: input({ account }),
    reply: Type.Array(ListedConnection),
    async run({ connections }, asked) {
      const found = await connections.list(asked.account ?? null);
      return found.map((row) => show(ListedConnection, row));
    },
  }),
  create: defineOperation({
    name: "connections create",
    method: "POST",
    path: "/connections",
    summary: "Create a connection with its secret.",
    input: input({
      account: text("Name of the owner."),
      name: text("Name of the connection."),
      kind: maybeText("`bearer` or `header`; `header` with a header's name, else `bearer`."),
      header_name: maybeText("Header that carries the secret."),
      allowed_hosts: hosts("Hosts that may receive it."),
      secret,
    }),
    reply: ListedConnection,
    audit,
    async run({ connections }, asked) {
      const { kind = null, header_name = null, allowed_hosts = [], ...rest } = asked;
      const request = { ...rest, kind, header_name, allowed_hosts };
      return show(ListedConnection, await connections.create(request));
    },
  }),
  setSecret: defineOperation({
    name: "connections set-secret",
    method: "PUT",
    path: "/connections/:id/secret",
    summary: "Replace a secret.",
    input: input({
      id: idOf("connection"),
      secret,
      allowed_hosts: hosts("Hosts that may receive it; else as before."),
    }),
    reply: ListedConnection,
    audit,
    async run({ connections }, asked) {
      const changed = await connections.setSecret(asked.id, asked.secret, asked.allowed_hosts);
      return show(ListedConnection, changed);
    },
  }),
  delete: defineOperation({
    name: "connections delete",
    method: "DELETE",
    path: "/connections/:id",
    summary: "Delete a connection and its secret, unless a tool uses it.",
    input: input({ id: idOf("connection") }),
    reply: Removal,
    audit,
    async run({ connections }, asked) {
      return { connection: await connections.remove(asked.id), deleted: true };
    },
  }),
};
