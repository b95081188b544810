// Tokens of connections: how many are kept, and how long they may be.
import { expect, test } from "bun:test";
import { Tokens } from "../../../../src/agents/tools/connections/tokens.ts";
import { createManualClock } from "../../../support/clock.ts";

const OAUTH = { token_url: "https://far.example.com/token", client_id: "wadi" };

/** A server of tokens of so many characters, which counts the requests. */
function openTokens() {
  let asked = 0;
  let size = 1;
  const egress = {
    async request() {
      asked += 1;
      const reply = { access_token: "x".repeat(size), token_type: "Bearer", expires_in: 3_600 };
      const body = new TextEncoder().encode(JSON.stringify(reply));
      return { ok: true, status: 200, headers: new Headers(), body, truncated: false };
    },
  };
  const tokens = new Tokens({ egress: egress as never, clock: createManualClock() });
  return {
    /** The number of requests for the token of a connection, which the server gives in that size. */
    async ask(id: string, tokenSize = 1) {
      size = tokenSize;
      const before = asked;
      const found = await tokens.find({ id, secret_set_at: 1 }, OAUTH as never, "secret");
      return [found.ok, asked - before];
    },
  };
}

test("a token has 8,192 characters at most", async () => {
  const { ask } = openTokens();
  expect(await ask("a", 8_192)).toEqual([true, 1]);
  expect(await ask("b", 8_193)).toEqual([false, 1]);
});

test.each([
  [7_986, 0],
  [7_987, 1],
])(
  "of a million characters with their names, one of %d among them, %d tokens are forgotten",
  async (last, forgotten) => {
    const { ask } = openTokens();
    // Each name has a space and a digit behind it.
    const nameOf = (n: number) => `c-${n}`.padEnd(8, "-");
    for (let n = 0; n < 124; n++) await ask(nameOf(n), 7_990);
    await ask(nameOf(124), last);
    expect(await ask("a", 1)).toEqual([true, 1]);
    expect(await ask(nameOf(0))).toEqual([true, forgotten]);
  },
);

test("a token that was refused is forgotten, but not the one that has taken its place", async () => {
  let given = 0;
  const egress = {
    async request() {
      const reply = { access_token: `token-${++given}`, token_type: "Bearer", expires_in: 600 };
      const body = new TextEncoder().encode(JSON.stringify(reply));
      return { ok: true, status: 200, headers: new Headers(), body, truncated: false };
    },
  };
  const tokens = new Tokens({ egress: egress as never, clock: createManualClock() });
  const owner = { id: "a", secret_set_at: 1 };
  const find = () => tokens.find(owner, OAUTH as never, "secret");
  tokens.forget(owner, "token-1");
  expect(await find()).toEqual({ ok: true, token: "token-1", isNew: true });
  expect(await find()).toEqual({ ok: true, token: "token-1", isNew: false });
  tokens.forget({ ...owner, id: "b" }, "token-1");
  expect(await find()).toMatchObject({ token: "token-1" });
  tokens.forget(owner, "token-1");
  const both = await Promise.all([find(), find()]);
  expect(new Set(both)).toEqual(new Set([{ ok: true, token: "token-2", isNew: true }]));
  tokens.forget(owner, "token-1");
  expect(await find()).toEqual({ ok: true, token: "token-2", isNew: false });
});
