// Models and tools of a version, judged beside the gateway's own judgements.
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

/** A gateway that knows `stub-1`, the default model, and says this of it. */
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

test("a model that is stopped or blocked may be named, since it may be back", async () => {
  for (const code of [null, "model_offline", "model_unavailable"] as const) {
    expect(await validate(code, "stub-1")).toEqual([null, ["stub-1"]]);
    // By the id that it means now: the alias would hide why.
    expect(await validate(code, null)).toEqual([null, ["stub-1"]]);
  }
});

test("agents.errors.no_model_available what the key may not, or nobody can say, is refused", async () => {
  for (const code of ["model_not_permitted", "model_not_found", "no_model_available"] as const) {
    for (const model of ["stub-1", null]) {
      expect(await validate(code, model)).toEqual([[code, "model"], ["stub-1"]]);
    }
  }
  expect(await validate(null, "unknown")).toEqual([["model_not_found", "model"], []]);
});

test("every name of the default model is stored as none", () => {
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

test("tools are pinned as they are now; an inherited one that is gone stays as it was", () => {
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

test("agents.does.version an inherited tool of the account stays at its revision, a named one is the latest", () => {
  const old = pinOf("send", { kind: "http", risk: "write" });
  const now = pinOf("send", { kind: "http", revision: 2 });
  expect(pinTools(choose(now), ["send"], [old])).toEqual([old]);
  expect(pinTools(choose(now), ["send"], [])).toEqual([now]);
  expect(pinTools(choose(pinOf("send")), ["send"], [old])).toEqual([old]);
  // What was the platform's is not the account's, also where the account has one of its name now.
  expect(pinTools(choose(now), ["send"], [pinOf("send")])).toEqual([pinOf("send")]);
});

test("a tool that is switched off stays where it is inherited, and is not newly named", () => {
  const pin = pinOf("send", { kind: "http" });
  const off: FindChoice = (name) => (name === "send" ? { pin, isOff: true } : undefined);
  expect(pinTools(off, ["send"], [pin])).toEqual([pin]);
  expect(refusalOf(() => pinTools(off, ["send"], []))).toEqual([
    ...["invalid_request", "tools.0", 'The tool "send" is switched off.'],
  ]);
  // A guard does no harm.
  expect(refusalOf(() => requireGuarded(off, ["send"]))).toBeNull();
  expect(refusalOf(() => requireGuarded(off, ["send", "sent"]))).toEqual([
    ...["invalid_request", "policy.require_approval.1", 'There is no tool "sent".'],
  ]);
});
