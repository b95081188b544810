// Models and tools of a version, judged beside the gateway's own judgements.
import { expect, test } from "bun:test";
import { pinTools, requireModel, storeModel } from "../../../src/agents/definitions/judging.ts";
import { type Code, type Refusal, refuse } from "../../../src/platform/refusal.ts";
import { caller } from "../../http/hall.ts";

type Chat = Parameters<typeof requireModel>[0];

/** A gateway that knows `stub-1`, the default model, and says this of it. */
function createChat(code: Code | null) {
  const judged: string[] = [];
  const chat = {
    find: (name: string) => (name === "unknown" ? undefined : { id: "stub-1" }),
    async judge(name: string) {
      judged.push(name);
      return code === null ? { model: {} } : { refusal: refuse(code, { param: "model" }) };
    },
  } as unknown as Chat;
  return { chat, judged };
}
const judge = async (code: Code | null, model: string | null) => {
  const { chat, judged } = createChat(code);
  const said = await requireModel(chat, model, "svc", caller).then(
    () => null,
    (refusal: Refusal) => [refusal.code, refusal.say.param],
  );
  return [said, judged];
};

test("a model that is stopped or blocked may be named, since it may be back", async () => {
  for (const code of [null, "model_offline", "model_unavailable"] as const) {
    expect(await judge(code, "stub-1")).toEqual([null, ["stub-1"]]);
    // By the id that it means now: the alias would hide why.
    expect(await judge(code, null)).toEqual([null, ["stub-1"]]);
  }
});

test("agents.errors.no_model_available what the key may not, or nobody can say, is refused", async () => {
  for (const code of ["model_not_permitted", "model_not_found", "no_model_available"] as const) {
    for (const model of ["stub-1", null]) {
      expect(await judge(code, model)).toEqual([[code, "model"], ["stub-1"]]);
    }
  }
  expect(await judge(null, "unknown")).toEqual([["model_not_found", "model"], []]);
});

test("every name of the default model is stored as none", () => {
  expect(["svc", "svc-v0", "svc-v1", null, undefined].map((one) => storeModel(one, "svc"))).toEqual(
    [null, null, "svc-v1", null, undefined],
  );
});

test("tools are pinned as they are now; an inherited one that is gone stays as it was", () => {
  const catalog = {
    find: (name: string) => (name === "calculator" ? { revision: 3, risk: "write" } : undefined),
  } as unknown as Parameters<typeof pinTools>[0];
  const [now, old, gone] = [3, 1, 7].map((revision, i) => ({
    ...{ name: i === 2 ? "gone" : "calculator", revision, kind: "builtin" as const },
    risk: i === 0 ? ("write" as const) : ("read" as const),
  }));
  expect(pinTools(catalog, ["calculator", "gone"], [old!, gone!])).toEqual([now!, gone!]);
  const name = `gone${"x".repeat(99)}`;
  const work = () => pinTools(catalog, ["calculator", name], [old!, gone!]);
  expect(work).toThrow(`There is no tool "${name.slice(0, 64)}…".`);
});
