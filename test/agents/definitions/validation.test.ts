// Validation of a version's models and tools, beside the gateway's own checks.
import { expect, test } from "bun:test";
import {
  pinTools,
  requireGuarded,
  requireModel,
  storeModel,
} from "../../../src/agents/definitions/validation.ts";
import type { ToolPin } from "../../../src/agents/definitions/version.ts";
import { type ApiError, apiError, type ErrorCode } from "../../../src/platform/errors.ts";
import { caller } from "../../http/test-server.ts";

type Chat = Parameters<typeof requireModel>[0];

/** A gateway with the default model `stub-1`, which answers with `code`. */
function createChat(code: ErrorCode | null) {
  const checked: string[] = [];
  const chat = {
    find: (name: string) => (name === "unknown" ? undefined : { id: "stub-1" }),
    async authorize(name: string) {
      checked.push(name);
      return code === null ? { model: {} } : { refusal: apiError(code, { param: "model" }) };
    },
  } as unknown as Chat;
  return { chat, checked };
}
const validate = async (code: ErrorCode | null, model: string | null) => {
  const { chat, checked } = createChat(code);
  const said = await requireModel(chat, model, "svc", caller).then(
    () => null,
    (refusal: ApiError) => [refusal.code, refusal.details.param],
  );
  return [said, checked];
};

test("accepts a stopped or blocked model, since it may return", async () => {
  for (const code of [null, "model_offline", "model_unavailable"] as const) {
    expect(await validate(code, "stub-1")).toEqual([null, ["stub-1"]]);
    // The current id is used, since the alias would hide the reason.
    expect(await validate(code, null)).toEqual([null, ["stub-1"]]);
  }
});

test("agents.errors.no_model_available refuses a model that the key may not use, or whose rights cannot be read", async () => {
  for (const code of ["model_not_permitted", "model_not_found", "no_model_available"] as const) {
    for (const model of ["stub-1", null]) {
      expect(await validate(code, model)).toEqual([[code, "model"], ["stub-1"]]);
    }
  }
  expect(await validate(null, "unknown")).toEqual([["model_not_found", "model"], []]);
});

test("stores no model for every name of the default model", () => {
  expect(["svc", "svc-v0", "svc-v1", null, undefined].map((one) => storeModel(one, "svc"))).toEqual(
    [null, null, "svc-v1", null, undefined],
  );
});

type FindChoice = Parameters<typeof pinTools>[0];
const pinOf = (name: string, fields: Partial<ToolPin> = {}): ToolPin => ({
  ...{ name, revision: 1, kind: "builtin", risk: "read" },
  ...fields,
});
const choose = (...pins: ToolPin[]): FindChoice => {
  const found = new Map(pins.map((pin) => [pin.name, { pin, isOff: false }]));
  return (name) => found.get(name);
};
const refusalOf = (work: () => unknown) => {
  try {
    work();
  } catch (failure) {
    const { code, message, details: say } = failure as ApiError;
    return [code, say.param, message];
  }
  return null;
};

test("pins the current revision of tools; an inherited tool that is gone keeps its pin", () => {
  const [now, old, gone] = [
    pinOf("calculator", { revision: 3, risk: "write" }),
    pinOf("calculator"),
    pinOf("gone", { revision: 7 }),
  ];
  expect(pinTools(choose(now), ["calculator", "gone"], [old, gone])).toEqual([now, gone]);
  const name = `gone${"x".repeat(99)}`;
  expect(refusalOf(() => pinTools(choose(now), ["calculator", name], [old, gone]))).toEqual([
    ...["invalid_request", "tools.1", `There is no tool "${name.slice(0, 64)}…".`],
  ]);
});

test("agents.does.version an inherited tool of the account keeps its revision, a listed one gets the latest", () => {
  const old = pinOf("send", { kind: "http", risk: "write" });
  const now = pinOf("send", { kind: "http", revision: 2 });
  expect(pinTools(choose(now), ["send"], [old])).toEqual([old]);
  expect(pinTools(choose(now), ["send"], [])).toEqual([now]);
  expect(pinTools(choose(pinOf("send")), ["send"], [old])).toEqual([old]);
  // A platform tool never becomes the account's tool of the same name.
  expect(pinTools(choose(now), ["send"], [pinOf("send")])).toEqual([pinOf("send")]);
});

test("a disabled tool stays if inherited, and is refused if listed", () => {
  const pin = pinOf("send", { kind: "http" });
  const off: FindChoice = (name) => (name === "send" ? { pin, isOff: true } : undefined);
  expect(pinTools(off, ["send"], [pin])).toEqual([pin]);
  expect(refusalOf(() => pinTools(off, ["send"], []))).toEqual([
    ...["invalid_request", "tools.0", 'The tool "send" is switched off.'],
  ]);
  // Reads are unaffected.
  expect(refusalOf(() => requireGuarded(off, ["send"]))).toBeNull();
  expect(refusalOf(() => requireGuarded(off, ["send", "sent"]))).toEqual([
    ...["invalid_request", "policy.require_approval.1", 'There is no tool "sent".'],
  ]);
});
