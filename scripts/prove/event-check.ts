// Checks fires, events and deliveries after any failure of the program that wrote and sent them.
import { Database as Connection } from "bun:sqlite";
import { type Arrival, hashText } from "./event-receiver.ts";
import { checkInstants } from "./instant-check.ts";

/** An endpoint, and which events it must be sent: those are counted in the order of their writing. */
export interface Subscription {
  id: string;
  /** A key of its account. */
  key: string;
  /** Name at the receiver. */
  endpoint: string;
  /** Number of events up to which none is for this endpoint. */
  none_until: number;
  /** Number of events after which each selected one is for it, except in `gaps`. */
  all_after: number;
  /** save between these, where it is unknown whether it was enabled. */
  gaps: [number, number][];
}

/** Answers to requests, which must stay true. */
export interface Answers {
  /** By `TRIGGER WEBHOOK-ID`. */
  hooks: ReadonlyMap<string, HookAnswers>;
  /** Fires by hand. */
  fires: readonly Receipt[];
}

export interface Receipt {
  id: string;
  outcome: string;
  run_id: string | null;
}

export interface HookAnswers {
  /** Answers that it has fired, not that it had. */
  fired: number;
  receipts: Receipt[];
}

export interface EventScene {
  file: string;
  arrivals: readonly Arrival[];
  unsigned: readonly string[];
  answers: Answers;
  subscriptions: readonly Subscription[];
  /** Clock of the last server at its end. */
  ended_at: number;
}

/** Breaches of each rule, by name. */
export type EventBreaches = Record<keyof typeof LAWS, string[]>;

/** In words. */
export const LAWS = {
  fired_twice: "instants of a schedule that started two runs",
  lost: "instants that neither fired nor were counted as missed",
  mistimed: "fires too early, too late or missed without need",
  astray: "schedules whose next instant is wrong",
  requested_twice: "webhook-ids that started two runs",
  denied: "replies to a hook or a manual fire that became false",
  runless: "fires that started without their run",
  fireless: "runs of triggers without their fire",
  unreported: "fires and approvals reported with a wrong state",
  ungiven: "events without exactly one delivery per endpoint that selected them",
  unselected: "deliveries to endpoints that did not select the event",
  missing: "events that did not reach an endpoint that selected them",
  unarrived: "deliveries marked as delivered that never arrived",
  renamed: "events that arrived under two webhook-ids",
  changed: "events that arrived with two bodies, or not with the stored one",
  unsigned: "requests with an invalid signature",
  miscounted: "endpoints or deliveries whose counts are wrong",
  disabled: "endpoints that are disabled though they were enabled last",
  stuck: "events or deliveries that never end",
} as const;

export const checkEvents = (scene: EventScene): EventBreaches => {
  using connection = new Connection(scene.file, { readonly: true });
  const list = (query: string): string[] =>
    connection
      .query(query)
      .values()
      .map((row) => row.join(" "));
  return {
    ...checkInstants(connection, scene.ended_at),
    ...checkSent(connection, scene),
    fired_twice: list(FIRED_TWICE),
    requested_twice: list(REQUESTED_TWICE),
    denied: checkAnswers(connection, scene.answers),
    runless: list(RUNLESS),
    fireless: list(FIRELESS),
    unreported: [...list(FIRES_UNREPORTED), ...list(APPROVALS_UNREPORTED)],
    unsigned: [...scene.unsigned],
    miscounted: [...list(PENDING_MISCOUNTED), ...list(ATTEMPTS_MISCOUNTED)],
    disabled: list(DISABLED),
    stuck: list(STUCK),
  };
};

/** Endpoints of which the counter is not how many of their deliveries wait. */
export const listMiscounted = (file: string): unknown[] => {
  using connection = new Connection(file, { readonly: true });
  return connection.query(PENDING_MISCOUNTED).all();
};

/** The place of the newest event. */
export const findLastEvent = (file: string): number => {
  using connection = new Connection(file, { readonly: true });
  const found = connection.query<{ last: number | null }, []>(
    "SELECT MAX(rowid) AS last FROM outbox",
  );
  return found.get()?.last ?? 0;
};

/** A schedule without a message of its own sends the instant. */
const FIRED_TWICE = `SELECT trigger_id, json_extract(input, '$.message') AS reported, COUNT(*)
    FROM runs WHERE trigger_kind = 'cron' AND reported LIKE 'The trigger %' GROUP BY 1, 2
    HAVING COUNT(*) > 1
  UNION ALL SELECT fires.trigger_id, scheduled_at, COUNT(*)
    FROM fires JOIN runs ON runs.fire_id = fires.id WHERE scheduled_at IS NOT NULL GROUP BY 1, 2
    HAVING COUNT(*) > 1
  UNION ALL SELECT trigger_id, scheduled_at, COUNT(*)
    FROM fires WHERE scheduled_at IS NOT NULL GROUP BY 1, 2 HAVING COUNT(*) > 1`;

/** The body of each request is \`{"token": its webhook-id}\`. */
const REQUESTED_TWICE = `SELECT trigger_id, json_extract(input, '$.hook.token') AS token, COUNT(*)
    FROM runs WHERE trigger_kind = 'webhook' GROUP BY 1, 2 HAVING COUNT(*) > 1
  UNION ALL SELECT trigger_id, webhook_id, COUNT(*)
    FROM fires WHERE webhook_id IS NOT NULL GROUP BY 1, 2 HAVING COUNT(*) > 1`;

const RUNLESS = `SELECT fires.id, outcome, fires.run_id FROM fires
  LEFT JOIN runs ON runs.fire_id = fires.id
  WHERE (outcome = 'started') <> (runs.id IS NOT NULL)
    OR COALESCE(fires.run_id, '') <> COALESCE(runs.id, '')`;

const FIRELESS = `SELECT runs.id FROM runs LEFT JOIN fires ON fires.id = runs.fire_id
  WHERE runs.trigger_kind IN ('cron', 'webhook', 'manual') AND runs.trigger_id IS NOT NULL
    AND (fires.id IS NULL OR fires.trigger_id <> runs.trigger_id
      OR fires.source <> runs.trigger_kind OR fires.run_id <> runs.id)`;

/** The last event of a fire matches its row; a scheduled or manual fire has only one. */
const FIRES_UNREPORTED = `WITH reported AS (
    SELECT rowid AS place, json_extract(data, '$.fire.id') AS fire_id,
      json_extract(data, '$.fire.outcome') AS outcome,
      json_extract(data, '$.fire.run_id') AS run_id, account_id
    FROM outbox WHERE type = 'trigger.fired'),
  last AS (SELECT fire_id, MAX(place) AS place, COUNT(*) AS times FROM reported GROUP BY fire_id)
  SELECT fires.id, fires.outcome FROM fires
  LEFT JOIN last ON last.fire_id = fires.id LEFT JOIN reported ON reported.place = last.place
  LEFT JOIN triggers ON triggers.id = fires.trigger_id
  WHERE last.place IS NULL OR reported.outcome <> fires.outcome
    OR COALESCE(reported.run_id, '') <> COALESCE(fires.run_id, '')
    OR (times > 1 AND fires.source <> 'webhook')
    OR reported.account_id <> COALESCE(triggers.account_id, reported.account_id)
  UNION ALL SELECT fire_id, 'no fire' FROM last WHERE fire_id NOT IN (SELECT id FROM fires)`;

const APPROVALS_UNREPORTED = `SELECT approvals.id, status FROM approvals LEFT JOIN (
    SELECT json_extract(data, '$.approval.id') AS id, SUM(type = 'approval.requested') AS asked,
      SUM(type = 'approval.decided') AS decided FROM outbox WHERE type LIKE 'approval.%' GROUP BY 1
  ) AS reported ON reported.id = approvals.id
  WHERE COALESCE(asked, 0) <> 1 OR COALESCE(decided, 0) <> (status <> 'pending')`;

const PENDING_MISCOUNTED = `SELECT id, pending_deliveries FROM webhook_endpoints
  WHERE pending_deliveries <> (SELECT COUNT(*) FROM deliveries
    WHERE webhook_id = webhook_endpoints.id AND status = 'pending')`;

/** The last hundred are kept. */
const ATTEMPTS_MISCOUNTED = `SELECT deliveries.id, attempt_count, COUNT(number) FROM deliveries
  LEFT JOIN delivery_attempts ON delivery_id = deliveries.id GROUP BY deliveries.id
  HAVING COUNT(number) <> MIN(attempt_count, 100) OR COALESCE(MAX(number), 0) <> attempt_count`;

const DISABLED = "SELECT id, disabled_reason FROM webhook_endpoints WHERE status = 'disabled'";

/** A test ends with its one attempt, or with its endpoint; all else is sent until it is taken. */
const STUCK = `SELECT 'event', id FROM outbox WHERE is_pending <> 0
  UNION ALL SELECT deliveries.status, deliveries.id || ' ' || event_type || ' to ' || url
      || COALESCE(' ' || last_error, '') FROM deliveries
    JOIN webhook_endpoints ON webhook_endpoints.id = webhook_id
    WHERE epoch <> 0 OR deliveries.status = 'pending'
      OR (deliveries.status <> 'delivered' AND event_type <> 'webhook.test')`;

const checkAnswers = (connection: Connection, { hooks, fires }: Answers): string[] => {
  const rows = connection
    .query<Receipt & { trigger_id: string; webhook_id: string | null }, []>(
      `SELECT fires.id, fires.trigger_id, webhook_id, outcome, runs.id AS run_id FROM fires
       LEFT JOIN runs ON runs.id = fires.run_id`,
    )
    .all();
  const byId = new Map(rows.map((row) => [row.id, row]));
  const isTrue = ({ id, outcome, run_id }: Receipt) => {
    const row = byId.get(id);
    return row?.outcome === outcome && row.run_id === run_id;
  };
  const denied = fires.filter((fire) => !isTrue(fire)).map(({ id }) => `fire ${id}`);
  for (const [request, { fired, receipts }] of hooks) {
    const isOne = receipts.every(({ id }) => id === receipts[0]!.id);
    const row = byId.get(receipts[0]!.id);
    const isIts = row !== undefined && request === `${row.trigger_id} ${row.webhook_id}`;
    if (fired > 1 || !isOne || !isIts || !receipts.every(isTrue)) denied.push(`hook ${request}`);
  }
  return denied;
};

interface EventRow {
  place: number;
  id: string;
  account_id: string;
  type: string;
  created_at: number;
  data: string;
}
interface DeliveryRow {
  id: string;
  webhook_id: string;
  event_id: string;
  status: string;
}
interface EndpointRow {
  id: string;
  account_id: string;
  events: string;
}
type Sent = Pick<
  EventBreaches,
  "ungiven" | "unselected" | "missing" | "unarrived" | "renamed" | "changed"
>;

/** Compares what was written, fanned out and sent. */
const checkSent = (connection: Connection, scene: EventScene): Sent => {
  const all = <T>(query: string): T[] => connection.query<T, []>(query).all();
  const events = all<EventRow>("SELECT rowid AS place, * FROM outbox ORDER BY rowid");
  const endpoints = all<EndpointRow>("SELECT id, account_id, events FROM webhook_endpoints");
  const deliveries = all<DeliveryRow>("SELECT id, webhook_id, event_id, status FROM deliveries");
  const came = new Map(scene.arrivals.map((one) => [`${one.endpoint} ${one.id}`, one]));
  const created = Map.groupBy(deliveries, (one) => `${one.webhook_id} ${one.event_id}`);
  const sent: Sent = {
    ungiven: [],
    unselected: [],
    missing: [],
    unarrived: [],
    ...checkBodies(scene),
  };
  for (const { id, account_id, events: selected } of endpoints) {
    const subscription = scene.subscriptions.find((one) => one.id === id);
    // Made by a request without an answer: what it should receive is unknown.
    if (!subscription) continue;
    const { endpoint } = subscription;
    const types = new Set<string>(JSON.parse(selected));
    for (const event of events) {
      const key = `${id} ${event.id}`;
      const rows = created.get(key) ?? [];
      const arrival = came.get(`${endpoint} ${event.id}`);
      const isTaken = (arrival?.taken ?? 0) > 0;
      const isWanted = event.account_id === account_id && types.has(event.type);
      const need = isWanted ? classifyNeed(subscription, event.place) : "never";
      if (event.type === "webhook.test") continue;
      if (need === "never" && (rows.length > 0 || arrival)) sent.unselected.push(key);
      if (need === "always" && rows.length !== 1) sent.ungiven.push(key);
      if (need === "always" && !isTaken) sent.missing.push(key);
      if (rows.length > 1) sent.ungiven.push(key);
      if (rows.some(({ status }) => status === "delivered") && !isTaken) sent.unarrived.push(key);
    }
  }
  const kept = new Map(events.map((event) => [event.id, hashText(writeEvent(event))]));
  for (const { endpoint, id, hash } of scene.arrivals) {
    if (kept.get(id) !== hash) sent.changed.push(`${endpoint} ${id}`);
  }
  return sent;
};

const classifyNeed = ({ none_until, all_after, gaps }: Subscription, place: number) => {
  if (place <= none_until) return "never";
  const isOpen = place <= all_after || gaps.some(([from, to]) => place > from && place <= to);
  return isOpen ? "perhaps" : "always";
};

/** Checks the arrivals alone. */
const checkBodies = ({ arrivals }: EventScene): Pick<Sent, "renamed" | "changed"> => {
  const reported = arrivals.filter(({ subject }) => subject !== null);
  const names = Map.groupBy(reported, ({ endpoint, subject }) => `${endpoint} ${subject}`);
  return {
    renamed: [...names].filter(([, { length }]) => length > 1).map(([name]) => name),
    changed: arrivals
      .filter(({ changed }) => changed > 0)
      .map(({ endpoint, id }) => `${endpoint} ${id}`),
  };
};

/** The body of an event by the standard, from its stored row. */
const writeEvent = ({ id, type, created_at, data }: EventRow): string => {
  const at = new Date(created_at).toISOString();
  return `{"id":"${id}","type":"${type}","created_at":"${at}","data":${data}}`;
};
