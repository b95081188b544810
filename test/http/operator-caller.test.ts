// Who sent a request to the operator API, and how guesses are slowed down by their address.
import { expect, test } from "bun:test";
import { RateLimiter } from "../../src/access/rate-limit.ts";
import {
  countFailure,
  findOperator,
  findSession,
  type OperatorCaller,
  type OperatorCallerOptions,
  watchOperator,
  writeLinkCommand,
} from "../../src/http/operator-caller.ts";
import { type ApiError, apiError } from "../../src/platform/errors.ts";
import { createManualClock } from "../support/clock.ts";

test("an address that guesses is slowed down, and no other address with it", async () => {
  const terms = { requests_max: 2, windowMs: 60_000, closingMs: 0 };
  const limiter = new RateLimiter(createManualClock(), terms);
  const addressOf = ({ headers }: Request) => headers.get("address")!;
  const guess = (address: string) => {
    const request = new Request("http://server/operator/v1/runs", { headers: { address } });
    const refused = countFailure(request, { limiter, addressOf }, apiError("invalid_api_key"));
    return refused.catch((limited: ApiError) => limited).then(({ code }) => code);
  };
  const guesses = [await guess("192.0.2.1"), await guess("192.0.2.1"), await guess("192.0.2.1")];
  expect(guesses).toEqual(["invalid_api_key", "invalid_api_key", "rate_limit_exceeded"]);
  expect(await guess("192.0.2.2")).toBe("invalid_api_key");
});

const NOURA = { id: "o-1", name: "noura", role: "operator" } as const;
const COOKIE = "wadi_console";

/** What a request is found by; `asked` has the tokens that were looked up. */
function open(changed: Partial<OperatorCallerOptions> = {}) {
  const asked: string[] = [];
  const find = async (token: string) => {
    asked.push(token);
    return NOURA as never;
  };
  const options = {
    ...{ identify: find, identifySession: find, cookie: COOKIE, isEnabled: () => true },
    own: { publicUrls: () => [], hosts: () => ["localhost"] },
    ...{ commands: () => ({ program: "wadi", needsServer: false }), addressOf: () => "::1" },
    limiter: { take: () => null },
    ...changed,
  };
  const send = (headers: Record<string, string>, method = "GET") =>
    new Request("http://localhost/operator/v1/runs", { method, headers });
  return { asked, options, send };
}

test("a session is not looked up for a page of another site", async () => {
  const { asked, options, send } = open();
  const cookie = `${COOKIE}=token`;
  const foreign = send({ cookie, origin: "https://evil.example" }, "POST");
  await expect(findSession(foreign, options)).rejects.toMatchObject({ code: "permission_denied" });
  expect(asked).toEqual([]);
  await findSession(send({ cookie, origin: "http://localhost" }, "POST"), options);
  expect(asked).toEqual(["token"]);
});

test("a failed session counts against its address, and a missing one too", async () => {
  const counted: string[] = [];
  const take = async (name: string) => void counted.push(name);
  const { options, send } = open({ limiter: { take }, identifySession: async () => undefined });
  for (const [headers, code] of [
    [{}, "missing_api_key"],
    [{ cookie: `${COOKIE}=ended` }, "invalid_api_key"],
  ] as const) {
    await expect(findSession(send(headers), options)).rejects.toMatchObject({ code });
    expect(counted.splice(0)).toEqual(["failed ::1"]);
  }
});

test("only a server with its data in memory names its program and address for a link", () => {
  const { send } = open();
  const write = (needsServer: boolean) =>
    writeLinkCommand(send({}), { commands: () => ({ program: "/opt/wadi", needsServer }) });
  expect(write(true)).toBe("`/opt/wadi console --server http://localhost`");
  expect(write(false)).toBe("`wadi console`");
});

test("tokens of up to 512 characters are looked up, and longer ones are unknown", async () => {
  const { asked, options, send } = open();
  const [long, longer] = ["x".repeat(512), "x".repeat(513)] as const;
  const bearer = (token: string) => send({ authorization: `Bearer ${token}` });
  await findOperator(bearer(long), options);
  await findSession(send({ cookie: `${COOKIE}=${long}` }), options);
  expect(asked).toEqual([long, long]);
  const unknown = { code: "invalid_api_key" };
  await expect(findOperator(bearer(longer), options)).rejects.toMatchObject(unknown);
  const missing = { code: "missing_api_key" };
  const session = findSession(send({ cookie: `${COOKIE}=${longer}` }), options);
  await expect(session).rejects.toMatchObject(missing);
  expect(asked).toHaveLength(2);
});

test("where other processes count the guesses, their answer is waited for", async () => {
  const take = () => Promise.reject(apiError("rate_limit_exceeded"));
  const { options, send } = open({ limiter: { take } });
  await expect(findOperator(send({}), options)).rejects.toMatchObject({
    code: "rate_limit_exceeded",
  });
});

test("a stream's caller stays in force with its role, and while the API is switched on", async () => {
  const caller: OperatorCaller = { ...NOURA, via: "operator API" };
  const found = { role: "operator" };
  let isEnabled = true;
  const { options, send } = open({ identify: async () => found as never });
  const enabled = { ...options, isEnabled: () => isEnabled };
  const isInForce = watchOperator(send({ authorization: "Bearer token" }), caller, enabled);
  expect(await isInForce()).toBe(true);
  found.role = "approver";
  expect(await isInForce()).toBe(false);
  found.role = "operator";
  isEnabled = false;
  expect(await isInForce()).toBe(false);
});

test("only a test server tells strangers its program's place and address", () => {
  const request = new Request("http://localhost:8080/console/session?x=1");
  const write = (needsServer: boolean) =>
    writeLinkCommand(request, { commands: () => ({ program: "/opt/wadi", needsServer }) });
  expect(write(true)).toBe("`/opt/wadi console --server http://localhost:8080`");
  expect(write(false)).toBe("`wadi console`");
});
