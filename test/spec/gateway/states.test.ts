// Spec 000, "States and transitions": what an operator's switches make of the list and of calls.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { ModelSwitch } from "../../../src/models/index.ts";
import { KEY, startApp, type TestApp } from "../../support/app.ts";
import { startFront } from "./front.ts";
import { allow, createKey } from "./keys.ts";
import { readRefusal } from "./refusal.ts";

const model = (id: string, lines = "self_hosted = true") => `
[[models]]
id = "${id}"
${lines}
upstream = { kind = "stub" }
`;
const SETTINGS = `
[limits]
requests_per_minute = 100000
[service]
default_model = "main"
${model("main")}
${model("second")}
${model("elsewhere", "self_hosted = false")}
${model("hidden", 'self_hosted = true\nvisibility = "private"')}
${model("inner", 'self_hosted = true\nvisibility = "internal"')}
${model("deep", 'self_hosted = true\nthink = "required"')}
`;
const IDS = ["main", "second", "elsewhere", "hidden", "inner", "deep"];
/** Requests that mean the default model without its name. */
const NAMELESS = ["svc", "svc-v0", undefined, "unheard-of"];

let app: TestApp;
beforeEach(async () => {
  app = await startApp({ settings: SETTINGS });
});
afterEach(() => app.stop());

const turn = (id: string, ...turns: ModelSwitch[]) =>
  Promise.all(turns.map((one) => app.app.admin.models.turn(id, one)));
/** The refusal of a chat, or its status; in the list each model with its status. */
const chat = async (named: string | undefined, fields: object = {}, key = KEY) => {
  const reply = await app.chat("Hello", { model: named, ...fields }, { key });
  return reply.ok ? [reply.status] : readRefusal(reply);
};
const list = async (key = KEY) => {
  const { data } = (await (await app.get("/v1/models", { key })).json()) as {
    data: { id: string; status: string }[];
  };
  return data.map(({ id, status }) => `${id} ${status}`);
};

describe("a model that is off", () => {
  test("gateway.states.p2 gateway.errors.model_offline refuses a call that names it, with and without a stream", async () => {
    await turn("second", "off");
    for (const stream of [false, true]) {
      expect(await chat("second", { stream })).toEqual([503, "model_offline", null]);
    }
    expect(await chat("main")).toEqual([201]);
  });

  test("gateway.states.p3 gateway.errors.no_model_available refuses as the default a call without a model", async () => {
    await turn("main", "off");
    for (const named of NAMELESS) {
      expect([named, ...(await chat(named))]).toEqual([named, 503, "no_model_available", null]);
    }
    expect(await chat("main")).toEqual([503, "model_offline", null]);
    expect(await chat("second")).toEqual([201]);
  });

  test("gateway.resources.model.status gateway.states.model_status gateway.resources.model.p3 is listed as offline, and so is the alias", async () => {
    expect(await list()).toEqual(["svc on", "main on", "second on", "deep on"]);
    await turn("second", "off");
    expect(await list()).toEqual(["svc on", "main on", "second offline", "deep on"]);
    await turn("main", "off");
    expect(await list()).toEqual(["svc offline", "main offline", "second offline", "deep on"]);
  });

  test("gateway.states.model_status is answered and listed again from the next request after it is switched on", async () => {
    await turn("main", "off");
    await turn("main", "on");
    expect(await chat("main")).toEqual([201]);
    expect(await chat("svc")).toEqual([201]);
    expect((await list())[0]).toBe("svc on");
  });
});

describe("a model that is blocked", () => {
  test("gateway.errors.model_unavailable refuses a call that names it", async () => {
    await turn("second", "block");
    for (const stream of [false, true]) {
      expect(await chat("second", { stream })).toEqual([503, "model_unavailable", null]);
    }
    expect(await chat("main")).toEqual([201]);
  });

  test("gateway.errors.no_model_available refuses as the default a call without a model", async () => {
    await turn("main", "block");
    for (const named of NAMELESS) {
      expect([named, ...(await chat(named))]).toEqual([named, 503, "no_model_available", null]);
    }
    expect(await chat("main")).toEqual([503, "model_unavailable", null]);
  });

  test("gateway.resources.model.p2 gateway.resources.model.p3 is not listed, and as the default neither is the alias", async () => {
    await turn("second", "block", "off");
    expect(await list()).toEqual(["svc on", "main on", "deep on"]);
    await turn("main", "block");
    expect(await list()).toEqual(["deep on"]);
    await turn("main", "unblock");
    await turn("second", "unblock");
    expect(await list()).toEqual(["svc on", "main on", "second offline", "deep on"]);
  });
});

describe("order of checks", () => {
  test("gateway.authentication.7 gateway.authentication.8 a key that may not call a model does not learn its state", async () => {
    const { key } = await allow(app, "strict", { models: IDS.filter((id) => id !== "second") });
    const ask = async () => {
      const refusals: unknown[] = [];
      for (const id of ["second", "elsewhere", "hidden", "inner", "deep"]) {
        refusals.push(await chat(id, {}, key));
      }
      return refusals;
    };
    const refusals = [
      [403, "model_not_permitted", "model"],
      [403, "model_not_permitted", "model"],
      [404, "model_not_found", "model"],
      [404, "model_not_found", "model"],
      [403, "scope_required", "model"],
    ];
    expect(await ask()).toEqual(refusals);
    for (const id of IDS) await turn(id, "off");
    expect(await ask()).toEqual(refusals);
    for (const id of IDS) await turn(id, "block");
    expect(await ask()).toEqual(refusals);
  });

  test("gateway.authentication.5 a key whose list lacks the default model is refused by alias, whatever the state", async () => {
    await turn("main", "off");
    const key = await createKey(app, { models: ["second"] });
    for (const named of ["svc", undefined]) {
      expect(await chat(named, {}, key)).toEqual([403, "model_not_permitted", "model"]);
    }
  });

  test("gateway.states.p2 an invalid field is reported before the state, and the state before missing capabilities", async () => {
    await turn("second", "off");
    expect(await chat("second", { top_p: 7 })).toEqual([400, "invalid_request", "top_p"]);
    const key = `${KEY}-none`;
    expect(await chat("second", { reasoning: true }, key)).toEqual([503, "model_offline", null]);
    expect(await chat("second", { tool_choice: "none", tools: [] })).toEqual([
      ...[503, "model_offline", null],
    ]);
  });

  test("gateway.errors.headers.deprecation gateway.errors.headers.link an unknown id gets its deprecation headers beside no_model_available", async () => {
    await turn("main", "off");
    const headersOf = async (named: string | undefined) => {
      const { headers } = await app.chat("Hello", { model: named });
      return [headers.has("deprecation"), headers.has("link")];
    };
    expect(await headersOf("unheard-of")).toEqual([true, true]);
    for (const named of ["svc", "svc-v0", undefined, "main"]) {
      expect(await headersOf(named)).toEqual([false, false]);
    }
  });

  test("gateway.versioning.3 after the sunset an unknown id is not found, whatever the default model's state", async () => {
    await turn("main", "off");
    app.clock.shiftWall(365 * 86_400_000);
    expect(await chat("unheard-of")).toEqual([404, "model_not_found", "model"]);
    expect(await chat("svc")).toEqual([503, "no_model_available", null]);
  });
});

test("gateway.states.p2 no model server is called for a model that is switched off", async () => {
  await using front = await startFront();
  for (const [switched, status] of [
    ["off", 503],
    ["block", 503],
    ["unblock", 503],
    ["on", 201],
  ] as const) {
    await front.app.admin.models.turn("test-1", switched);
    expect((await front.chat("Hello")).status).toBe(status);
  }
  expect(front.upstream.asked).toHaveLength(1);
});

/** With named models the stub serves none. */
const BESIDE = "embeddings off\nsearch off\n";

test("a server is ready while its default model can serve, whatever the state of others", async () => {
  const ask = async () => {
    await app.clock.advance(1_000);
    const reply = await app.get("/readyz", { key: null });
    return [reply.status, await reply.text()];
  };
  expect(await ask()).toEqual([200, `ready\n${BESIDE}`]);
  await turn("second", "off", "block");
  expect(await ask()).toEqual([200, `ready\n${BESIDE}`]);
  await turn("main", "off");
  expect(await ask()).toEqual([503, `not ready\n${BESIDE}`]);
  await turn("main", "on", "block");
  expect(await ask()).toEqual([503, `not ready\n${BESIDE}`]);
  await turn("main", "unblock");
  expect(await ask()).toEqual([200, `ready\n${BESIDE}`]);
});
