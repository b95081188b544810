// Callers that send signed requests, fire by hand, decide, and change their endpoints. The server
// is repeatedly killed and restarted meanwhile.
import type { RunServer } from "../bench/run-fixture.ts";
import { type Crowd, Wrong } from "./crowd.ts";
import { findLastEvent, type HookAnswers, type Receipt, type Subscription } from "./event-check.ts";
import {
  ALL_EVENTS,
  ask,
  type EventAccount,
  type EventFixture,
  type EventServer,
  type Hook,
  subscribe,
} from "./event-fixture.ts";
import { type Mood, sign } from "./event-receiver.ts";

const SENDER_PAUSE_MS = 60;
const CALLER_PAUSE_MS = 50;
const AGAIN_MS = 10;
/** How many send one request at once: nearly always it is one. */
const COPIES = [...Array<number>(30).fill(1), 3, 3, 3, 8, 8, 50];
const MOODS: readonly Mood[] = ["well", "well", "well", "slow", "ill"];
const MOOD_MS_MAX = 2_000;
const STEP_MS_MAX = 800;
/** Maximum number of endpoints created later that stay. */
const KEPT_MAX = 6;

export interface EventCrowd extends Crowd {
  server: EventServer | null;
  fixture: EventFixture;
  /** No new work starts. */
  isClosing: boolean;
  /** Work that must not be interrupted. */
  underway: number;
  hooks: Map<string, HookAnswers>;
  fires: Receipt[];
  /** Requests sent by several at once. */
  crowded: number;
  runs: number;
  decided: number;
  /** Endpoints that came later, and those of them that stay. */
  later: number;
  kept: number;
  sent: number;
  /** Called when a signed request was answered. */
  onAnswer(): void;
}

const pick = <T>(some: readonly T[]): T => some[Math.floor(Math.random() * some.length)]!;
const pause = (ms_max: number) => Bun.sleep(Math.random() * ms_max);

/** Runs an action to its end, through crashes of servers. */
const finish = async (crowd: EventCrowd, act: () => Promise<void>): Promise<void> => {
  if (crowd.isClosing) return;
  crowd.underway++;
  try {
    await act();
  } finally {
    crowd.underway--;
  }
};

/** Sends the same request until it is answered that it has fired, or had. */
export const sendOnce = async (crowd: EventCrowd, _server: RunServer): Promise<void> => {
  await pause(SENDER_PAUSE_MS);
  await finish(crowd, async () => {
    const hook = pick(pick(crowd.fixture.accounts).hooks);
    const id = `request-${crowd.sent++}`;
    const copies = pick(COPIES);
    if (copies > 1) crowd.crowded++;
    await Promise.all(Array.from({ length: copies }, () => sendUntilTaken(crowd, hook, id)));
  });
};

const sendUntilTaken = async (crowd: EventCrowd, hook: Hook, id: string): Promise<void> => {
  while (!crowd.isOver) {
    const { server } = crowd;
    const reply = server && (await send(server, hook, id).catch(() => null));
    const text = await reply?.text().catch(() => undefined);
    if (reply && text !== undefined) {
      if (reply.ok) {
        noteReceipt(crowd, `${hook.id} ${id}`, reply.status, JSON.parse(text).fire);
        return;
      }
      // Its thread is busy, or the server is stopping.
      const mayCome = reply.status === 429 || reply.status === 503;
      if (!mayCome) throw new Wrong(`a hook: ${reply.status} ${text}`);
    }
    await Bun.sleep(AGAIN_MS);
  }
};

const send = (server: EventServer, { path, secret }: Hook, id: string): Promise<Response> => {
  const body = { token: id };
  const timestamp = String(Math.floor(server.now() / 1_000));
  return server.ask("POST", path, body, {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": sign(secret, id, timestamp, JSON.stringify(body)),
  });
};

const noteReceipt = (crowd: EventCrowd, request: string, status: number, fire: Receipt): void => {
  const answers = crowd.hooks.get(request) ?? { fired: 0, receipts: [] };
  crowd.hooks.set(request, answers);
  answers.receipts.push(fire);
  if (status === 202) answers.fired++;
  crowd.onAnswer();
};

/** For a manual fire and for a run, a broken connection proves nothing. */
export const callOnce = async (crowd: EventCrowd, server: RunServer): Promise<void> => {
  await pause(CALLER_PAUSE_MS);
  if (crowd.isClosing) return;
  const { key, agent, triggers } = pick(crowd.fixture.accounts);
  const headers = { authorization: `Bearer ${key}` };
  const byHand = Math.random() < 0.6;
  const path = byHand ? `/v1/triggers/${pick(triggers)}/fires` : `/v1/agents/${agent}/runs`;
  const body = byHand ? {} : { input: { message: "Hello" } };
  const reply = await server.ask("POST", path, body, headers);
  const text = await reply.text();
  // Limited: its thread is busy.
  if ([409, 429, 503].includes(reply.status)) return;
  if (reply.status !== 202) throw new Wrong(`${path}: ${reply.status} ${text}`);
  if (byHand) crowd.fires.push(JSON.parse(text).fire);
  else crowd.runs++;
};

/** An approval is always decided the same way; some only after all else is done. */
export const decideOnce = async (crowd: EventCrowd, server: RunServer): Promise<void> => {
  await pause(CALLER_PAUSE_MS);
  const { approver } = pick(crowd.fixture.accounts);
  const path = "/v1/approvals?status=pending&limit=200";
  const { data } = (await ask(server, approver, "GET", path)) as unknown as {
    data: { id: string }[];
  };
  for (const { id } of data) {
    const drawn = Bun.hash.crc32(id) % 10;
    if (drawn === 9 && !crowd.isClosing) continue;
    const verb = drawn < 7 ? "approve" : "reject";
    // The clock of another server may have let it expire.
    const decided = await ask(server, approver, "POST", `/v1/approvals/${id}/${verb}`).catch(
      () => null,
    );
    if (decided) crowd.decided++;
  }
};

/** Endpoints fall ill and become well again. */
export const changeMood = async (crowd: EventCrowd, _server: RunServer): Promise<void> => {
  await pause(MOOD_MS_MAX);
  const { receiver, subscriptions } = crowd.fixture;
  const { endpoint } = pick(subscriptions);
  if (!crowd.isClosing && receiver.moods.get(endpoint) !== "gone") {
    receiver.moods.set(endpoint, pick(MOODS));
  }
};

/** An endpoint that is made later, changed, and deleted or kept. */
export const changeEndpoints = async (crowd: EventCrowd, server: RunServer): Promise<void> => {
  await pause(STEP_MS_MAX);
  await finish(crowd, async () => {
    const account = pick(crowd.fixture.accounts);
    await deleteUnknown(crowd, account);
    const endpoint = `later-${crowd.later++}`;
    const fields = { server, key: account.key, endpoint, events: ALL_EVENTS };
    const made = await subscribe(crowd.fixture, fields);
    const path = `/v1/webhooks/${made.id}`;
    await pause(STEP_MS_MAX);
    await pick([rotate, test, switchOff, vanish])(crowd, account, made);
    await pause(STEP_MS_MAX);
    if (crowd.kept < KEPT_MAX && Math.random() < 0.2) crowd.kept++;
    else {
      // A request that was not answered may have deleted it.
      await insist(crowd, account.key, "DELETE", path, undefined, [404]);
      crowd.fixture.subscriptions.splice(crowd.fixture.subscriptions.indexOf(made), 1);
    }
  });
};

/** Endpoints whose creation was not answered. */
const deleteUnknown = async (crowd: EventCrowd, { key }: EventAccount): Promise<void> => {
  const known = new Set(crowd.fixture.subscriptions.map(({ id }) => id));
  const { data } = (await insist(crowd, key, "GET", "/v1/webhooks")) as { data: { id: string }[] };
  for (const { id } of data) {
    if (!known.has(id)) {
      await insist(crowd, key, "DELETE", `/v1/webhooks/${id}`, undefined, [404]);
    }
  }
};

type Change = (crowd: EventCrowd, account: EventAccount, made: Subscription) => Promise<void>;

/** Once: should the answer be lost, the secret before signs beside the new one. */
const rotate: Change = async ({ server, fixture }, { key }, { id, endpoint }) => {
  const path = `/v1/webhooks/${id}/rotate-secret`;
  const made = server && (await ask(server, key, "POST", path).catch(() => null));
  if (made) fixture.receiver.know(endpoint, made.secret);
};

const test: Change = async (crowd, { key }, { id }) => {
  await insist(crowd, key, "POST", `/v1/webhooks/${id}/test`);
};

const switchOff: Change = async (crowd, account, made) => {
  const from = findLastEvent(crowd.fixture.file);
  await insist(crowd, account.key, "PATCH", `/v1/webhooks/${made.id}`, { status: "disabled" });
  await pause(STEP_MS_MAX);
  await switchOn(crowd, account, made, from);
};

/** It answers 410 until it is disabled for that. */
const vanish: Change = async (crowd, account, made) => {
  const { fixture } = crowd;
  const from = findLastEvent(fixture.file);
  fixture.receiver.moods.set(made.endpoint, "gone");
  const path = `/v1/webhooks/${made.id}`;
  for (let status: unknown; status !== "disabled"; ) {
    // It may be disabled by now.
    await insist(crowd, account.key, "POST", `${path}/test`, undefined, [409]);
    await pause(STEP_MS_MAX);
    ({ status } = await insist(crowd, account.key, "GET", path));
  }
  fixture.receiver.moods.delete(made.endpoint);
  await switchOn(crowd, account, made, from);
};

const switchOn = async (
  crowd: EventCrowd,
  { key }: EventAccount,
  made: Subscription,
  from: number,
): Promise<void> => {
  await insist(crowd, key, "PATCH", `/v1/webhooks/${made.id}`, { status: "enabled" });
  made.gaps.push([from, findLastEvent(crowd.fixture.file)]);
  await recover(crowd, made);
};

/** All that failed or was cancelled is to be sent after all. */
export const recover = async (crowd: EventCrowd, { id, key }: Subscription): Promise<void> => {
  const body = { since: "2000-01-01T00:00:00.000Z" };
  // Should it be disabled again, that is a finding of its own.
  await insist(crowd, key, "POST", `/v1/webhooks/${id}/deliveries`, body, [409]);
};

/** Repeats a request, with the server that runs then, until one answers. */
const insist = async (
  crowd: EventCrowd,
  key: string,
  method: string,
  path: string,
  body?: object,
  /** Further statuses to accept. */
  also: readonly number[] = [],
): Promise<object & { status?: unknown }> => {
  const headers = { authorization: `Bearer ${key}` };
  while (!crowd.isOver) {
    const reply = await crowd.server?.ask(method, path, body, headers).catch(() => undefined);
    const text = await reply?.text().catch(() => undefined);
    if (reply && text !== undefined && also.includes(reply.status)) return {};
    if (reply?.ok && text !== undefined) return text === "" ? {} : JSON.parse(text);
    if (reply && text !== undefined && reply.status !== 503) {
      throw new Wrong(`${method} ${path}: ${reply.status} ${text}`);
    }
    await Bun.sleep(AGAIN_MS);
  }
  throw new Error("it is over");
};
