// Operations on the processes that serve the same data.
import { Type } from "@sinclair/typebox";
import type { Admin } from "../admin.ts";
import { defineOperation } from "../operation.ts";
import { ListedProcess } from "../processes.ts";
import { input, NO_INPUT } from "./fields.ts";

/** Parts of each operation on one process. */
const ofOne = {
  input: input({
    epoch: Type.Integer({
      ...{ minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
      description: "Number of the process.",
    }),
  }),
  reply: ListedProcess,
  audit: {
    target: (asked: { epoch: number }) => String(asked.epoch),
    read: ({ processes }: Admin, found: string) => processes.find(Number(found)),
  },
};

export const processOperations = {
  list: defineOperation({
    name: "processes list",
    method: "GET",
    path: "/processes",
    summary: "List the processes on the data, and what each holds.",
    input: NO_INPUT,
    reply: Type.Array(ListedProcess),
    run: ({ processes }) => processes.list(),
  }),
  drain: defineOperation({
    name: "processes drain",
    method: "POST",
    path: "/processes/:epoch/drain",
    summary:
      "Let a process begin no more work and hand over what it holds; its `/readyz` is 503. Done " +
      "once its state is `drained`. It answers requests until it is told to stop.",
    ...ofOne,
    run: ({ processes }, { epoch }) => processes.drain(epoch),
  }),
  undrain: defineOperation({
    name: "processes undrain",
    method: "POST",
    path: "/processes/:epoch/undrain",
    summary: "Take a drain back, also one that is over: the process takes work again.",
    ...ofOne,
    run: ({ processes }, { epoch }) => processes.undrain(epoch),
  }),
  reload: defineOperation({
    name: "reload",
    method: "POST",
    path: "/reload",
    summary:
      "Let all processes on the data read their settings file again. Each is done once " +
      "`is_reload_pending` is false.",
    input: NO_INPUT,
    reply: Type.Array(ListedProcess),
    audit: { target: () => "settings" },
    run: ({ processes }) => processes.reload(),
  }),
};
