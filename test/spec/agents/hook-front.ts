// The app with a hook, and senders with an independent implementation of the standard's signature.
import { expect } from "bun:test";
import { createHmac } from "node:crypto";
import type { TestAppOptions } from "../../support/app.ts";
import { type Json, type RunsFront, startRuns } from "./runs-front.ts";
import { createTrigger } from "./service.ts";

/** Parts of a request; omitted ones are valid. */
export interface Sending {
  /** As returned at its creation. */
  hook?: Json;
  path?: string;
  id?: string;
  timestamp?: number | string;
  body?: string | Uint8Array;
  secrets?: readonly string[];
  signature?: string;
  /** Beside those of the standard, or in their place; null: left out. */
  headers?: Record<string, string | null>;
}

export interface HookFront extends RunsFront {
  hook: Json;
  createHook(fields?: object): Promise<Json>;
  /** The request's path, headers and body, ready to be sent. */
  sign(sending?: Sending): { path: string; headers: Record<string, string>; body: string };
  send(sending?: Sending): Promise<Response>;
  /** The fire of a request that must be answered so. */
  fired(sending?: Sending, status?: number): Promise<Json>;
  /** Every fire of the first hook, newest first. */
  listFires(): Promise<Json[]>;
  countRuns(): Promise<number>;
}

export const BODY = '{"ticket": 17}';
export const signWith = (
  secret: string,
  id: string,
  timestamp: string,
  body: string | Uint8Array,
) =>
  `v1,${createHmac("sha256", Buffer.from(secret.slice("whsec_".length), "base64"))
    .update(`${id}.${timestamp}.`)
    .update(body)
    .digest("base64")}`;

/** Runs are executed only if it listens; overlapping fires start separate runs. */
export async function startHook(
  tables: Parameters<typeof startRuns>[0] = {},
  options: TestAppOptions = {},
): Promise<HookFront> {
  const runs = await startRuns(tables, options);
  let hooks = 0;
  let sent = 0;
  const createHook = (fields: object = {}) =>
    createTrigger(runs, {
      ...{ agent_id: runs.agent.id, name: `Hook ${++hooks}`, overlap: "allow", ...fields },
    });
  const front: HookFront = {
    ...runs,
    createHook,
    hook: await createHook(),
    sign(sending = {}) {
      const { hook = front.hook, id = `message-${++sent}`, body = BODY } = sending;
      const timestamp = String(sending.timestamp ?? Math.floor(runs.clock.now() / 1_000));
      const secrets = sending.secrets ?? [hook.secret];
      const signature =
        sending.signature ??
        secrets.map((secret: string) => signWith(secret, id, timestamp, body)).join(" ");
      const all = {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": timestamp,
        "webhook-signature": signature,
        ...sending.headers,
      };
      const headers = Object.entries(all).filter((one): one is [string, string] => one[1] !== null);
      return {
        path: sending.path ?? hook.hook_path,
        headers: Object.fromEntries(headers),
        body: body as string,
      };
    },
    async send(sending = {}) {
      const { path, ...signed } = front.sign(sending);
      return runs.ask("POST", path, { ...signed, key: null });
    },
    async fired(sending = {}, status = 202) {
      const reply = await front.send(sending);
      const value = (await reply.json()) as Json;
      expect([reply.status, value]).toEqual([
        status,
        {
          fire: {
            ...{ id: expect.any(String), outcome: expect.any(String) },
            run_id: value.fire?.run_id === null ? null : expect.any(String),
          },
        },
      ]);
      return value.fire;
    },
    listFires: async () => (await runs.read(`/v1/triggers/${front.hook.id}/fires`)).data,
    countRuns: async () => (await runs.read(`/v1/agents/${runs.agent.id}/runs`)).data.length,
  };
  return front;
}
