// Inheritance of each field, on thousands of random pairs of versions and changes.
import { expect, test } from "bun:test";
import {
  type Behaviour,
  type BehaviourChange,
  DEFAULT_BEHAVIOUR,
  inherit,
} from "../../../src/agents/definitions/version.ts";
import { createDraw } from "../../http/draw.ts";

const SEED = 20_261_121;
const PAIRS = 5_000;
const OBJECTS = ["policy", "budgets", "model_params"] as const;
/** Non-default values by field. */
const OTHERS = {
  policy: {
    approval_ttl_seconds: [60, 600],
    unattended_writes: [true],
    writes_after_external_content: ["allow"],
    require_approval: [["calculator"], ["web_search", "calculator"]],
    on_approval_expired: ["fail"],
    on_unknown_outcome: ["report"],
  },
  budgets: {
    max_cost_sar: ["0.000000", "1.500000"],
    max_rounds: [1, 7],
    max_tool_calls: [0, 3],
    max_total_tokens: [1, 5],
    max_run_seconds: [1, 6],
  },
  model_params: {
    temperature: [0, 0.5],
    top_p: [0, 1],
    max_tokens: [1, 9],
    reasoning: [false, true],
  },
} as const;

type Draw = (below: number) => number;
type Fields = Record<string, unknown>;
const pick = <T>(draw: Draw, values: readonly T[]): T => values[draw(values.length)]!;

function drawBehaviour(draw: Draw): Behaviour {
  const object = (name: (typeof OBJECTS)[number]) =>
    Object.fromEntries(
      Object.entries<readonly unknown[]>(OTHERS[name]).map(([field, others]) => {
        const fallback = (DEFAULT_BEHAVIOUR[name] as Fields)[field];
        return [field, pick(draw, [fallback, ...others])];
      }),
    );
  return {
    system_prompt: pick(draw, ["a", "b"]),
    model: pick(draw, [null, "stub-1"]),
    tools: pick(draw, [[], ["calculator"]]),
    policy: object("policy"),
    budgets: object("budgets"),
    model_params: object("model_params"),
  } as Behaviour;
}

function drawChange(draw: Draw): BehaviourChange {
  const change: Fields = {};
  if (draw(2)) change.system_prompt = pick(draw, ["c", "d"]);
  if (draw(2)) change.model = pick(draw, [null, "stub-2"]);
  if (draw(2)) change.tools = pick(draw, [null, ["web_search"]]);
  for (const name of OBJECTS) {
    if (draw(2)) continue;
    if (draw(5) === 0) {
      change[name] = null;
      continue;
    }
    const fields: Fields = {};
    for (const [field, others] of Object.entries<readonly unknown[]>(OTHERS[name])) {
      if (draw(2)) fields[field] = pick(draw, [null, ...others]);
    }
    change[name] = fields;
  }
  return change as BehaviourChange;
}

test("agents.does.version every field is the sent value, its default if null, or inherited", () => {
  const draw = createDraw(SEED);
  for (let n = 0; n < PAIRS; n++) {
    const [old, change] = [drawBehaviour(draw), drawChange(draw)];
    const [oldText, changeText] = [JSON.stringify(old), JSON.stringify(change)];
    const made = inherit(old, change);
    expect(Object.keys(made)).toEqual(Object.keys(DEFAULT_BEHAVIOUR));
    expect(made.system_prompt).toBe(change.system_prompt ?? old.system_prompt);
    expect(made.model).toBe("model" in change ? change.model! : old.model);
    expect(made.tools).toEqual("tools" in change ? (change.tools ?? []) : old.tools);
    for (const name of OBJECTS) {
      const [before, sent, after] = [old[name], change[name], made[name]] as Fields[];
      const defaults = DEFAULT_BEHAVIOUR[name] as Fields;
      expect(Object.keys(after!)).toEqual(Object.keys(defaults));
      for (const field of Object.keys(defaults)) {
        const wanted =
          sent === null || sent?.[field] === null
            ? defaults[field]
            : (sent?.[field] ?? before![field]);
        expect([changeText, field, after![field]]).toEqual([changeText, field, wanted]);
      }
    }
    // Neither was changed, so the stored values equal the read ones.
    expect([JSON.stringify(old), JSON.stringify(change)]).toEqual([oldText, changeText]);
  }
});

test("an empty change copies the version, and a full one ignores the previous version", () => {
  const draw = createDraw(SEED + 1);
  for (let n = 0; n < PAIRS; n++) {
    const [one, other] = [drawBehaviour(draw), drawBehaviour(draw)];
    expect(inherit(one, {})).toEqual(one);
    const whole = drawBehaviour(draw);
    expect(inherit(one, whole)).toEqual(inherit(other, whole));
  }
});

test("a field that an older program did not store has its default", () => {
  const { on_unknown_outcome: _, ...older } = DEFAULT_BEHAVIOUR.policy;
  const old = { ...DEFAULT_BEHAVIOUR, policy: older } as Behaviour;
  expect(inherit(old, {}).policy.on_unknown_outcome).toBe("ask");
});
