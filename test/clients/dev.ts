// Shared by the tests of all client libraries: a compiled `wadi dev`, and a recording `fetch`.
import { afterAll, beforeAll, expect } from "bun:test";
import { join } from "node:path";
import { executable } from "../../scripts/build.ts";
import { startBalancer } from "../support/balancer.ts";
import { openRoom, type Server } from "../support/binary.ts";
import { MISSING, openCluster } from "../support/cluster.ts";

/** What `wadi dev` has by itself. */
const SETTINGS = `
[limits]
requests_per_minute = 1_000_000
address_requests_per_minute = 1_000_000
[agents]
open = true
mcp_server = true
[gateway]
messages = true
responses = true
`;

export interface Dev extends Server {
  /** Key that may decide approvals. */
  approver: string;
}

/** One server for all test files of a process: a start costs more than most of them. */
let shared: Promise<Server> | undefined;

/** No hook comes after the last file, so a shell waits for the end of this process. */
const UNTIL_END = '"$@" & read -r _; kill -9 $!; rm -rf "$HOME"';

const DEV = ["dev", "--port", "0"];
const env = { WADI_LIMITS__REQUESTS_PER_MINUTE: "1000000" };

function startDev(): Promise<Server> {
  const command = ["/bin/sh", "-c", UNTIL_END, "sh", executable()];
  return openRoom().serve(DEV, { env, command, holdsInput: true });
}

/**
 * Starts the compiled program; each test gets its server from here. `isOwn`: that of no other file.
 * With `WADI_TEST_PLACE=processes` it is a balancer before two servers, which have one key.
 */
export function registerDev({ isOwn = false } = {}): () => Dev {
  let close = async () => {};
  let dev: Dev;
  beforeAll(async () => {
    if (process.env.WADI_TEST_PLACE === "processes" && MISSING === null) {
      const cluster = await openCluster();
      const [one, two] = [
        await cluster.serve("one", SETTINGS),
        await cluster.serve("two", SETTINGS),
      ];
      // Until both count in Valkey, each refuses with a Retry-After that not every client obeys.
      for (const server of [one, two])
        while ((await server.ask("GET", "/v1/models", { key: one.key })).status !== 200);
      const balancer = startBalancer([one.url, two.url]);
      const scopes = ["agents", "agents.approve"].flatMap((scope) => ["--scope", scope]);
      const made = ["keys", "create", "--account", "default", ...scopes];
      const at = { cwd: join(cluster.room.directory, "one"), env: cluster.env };
      const { stdout } = await cluster.room.perform(made, at);
      const approver = stdout.trim().split("\n").at(-1)!;
      dev = { ...one, url: balancer.url, approver };
      close = async () => {
        balancer.stop();
        await cluster.close();
      };
      return;
    }
    let server: Server;
    if (isOwn) {
      const room = openRoom();
      close = room.close;
      server = await room.serve(DEV, { env });
    } else {
      shared ??= startDev();
      server = await shared;
    }
    dev = { ...server, approver: `${server.key}-approver` };
  });
  afterAll(() => close());
  return () => dev;
}

/** The base URL that a client is given. */
export const baseOf = ({ url }: Server) => `${url}/v1`;

export interface Noted {
  status: number;
  retry_after: string | null;
}

/**
 * A recording `fetch` for a client: it keeps the status of each reply. A header read by all of
 * these clients shortens their retry delay to a millisecond.
 */
export function createNotingFetch() {
  const noted: Noted[] = [];
  const reached = Promise.withResolvers<void>();
  const send = async (...args: Parameters<typeof fetch>): Promise<Response> => {
    reached.resolve();
    const reply = await fetch(...args);
    noted.push({ status: reply.status, retry_after: reply.headers.get("retry-after") });
    if (reply.ok) return reply;
    const headers = new Headers(reply.headers);
    headers.set("retry-after-ms", "1");
    return new Response(reply.body, { status: reply.status, headers });
  };
  return {
    noted,
    /** Resolves at the client's first request. */
    reached: reached.promise,
    fetch: Object.assign(send, { preconnect: fetch.preconnect }),
  };
}

/** Resolves with the promise's error. */
export const failureOf = (promise: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(promise).then(
    () => expect.unreachable(),
    (failure: unknown) => failure,
  );

export const WEATHER = {
  name: "get_weather",
  description: "The weather of a city.",
  parameters: {
    type: "object" as const,
    properties: { city: { type: "string" as const } },
    required: ["city"],
  },
};

/** A message with which the stub model calls that tool twice at once. */
export const CALLS = '!tool get_weather {"city":"Muscat"}\n!tool get_weather {"city":"Nizwa"}';
export const CITIES = [{ city: "Muscat" }, { city: "Nizwa" }];

/** Reply after both calls returned `38 in CITY`. */
export const ANSWER = "get_weather answered: 38 in Muscat\nget_weather answered: 38 in Nizwa";
