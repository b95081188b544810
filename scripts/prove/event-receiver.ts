// Endpoints for events: they verify and count deliveries, and sometimes fail.
import { createHmac } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { Wrong } from "./crowd.ts";

/** All that came to one endpoint under one `webhook-id`. */
export interface Arrival {
  /** The endpoint's name, with which its address ends. */
  endpoint: string;
  id: string;
  /** Subject of the event, for duplicates under another id; null: it may repeat. */
  subject: string | null;
  /** Hash of the first body. */
  hash: string;
  times: number;
  /** Times that it was answered that it was taken. */
  taken: number;
  /** Times that its body was another than at first, or named another id. */
  changed: number;
}

/** How an endpoint answers. */
export type Mood = "well" | "slow" | "ill" | "down" | "gone";

export interface EventReceiver {
  /** `127.0.0.1:PORT`, as the operator's list takes it. */
  host: string;
  /** Endpoints that are not named here are healthy. */
  moods: Map<string, Mood>;
  /** A secret with which this endpoint's events may be signed. */
  know(endpoint: string, secret: string): void;
  list(): Arrival[];
  /** Deliveries to endpoints with a known secret, signed with none of them. */
  listUnsigned(): string[];
  /** Deliveries that it refused. */
  refused(): number;
  /** Called whenever something was answered. */
  onAnswer(): void;
  close(): void;
}

const SLOW_MS_MAX = 400;

/** The signature of Standard Webhooks, computed independently of the program. */
export const sign = (secret: string, id: string, timestamp: string, body: string): string => {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
};

export const hashText = (text: string): string => Bun.hash(text).toString(36);

export const openEventReceiver = async (): Promise<EventReceiver> => {
  const log = createLog();
  const moods = new Map<string, Mood>();
  let refused = 0;
  const server = createServer((request, reply) => {
    const pieces: Buffer[] = [];
    request.on("error", () => {});
    request.on("data", (piece) => pieces.push(piece));
    request.on("end", () => {
      const endpoint = request.url!.slice(1);
      const arrival = log.note(endpoint, request.headers, Buffer.concat(pieces).toString());
      const mood = moods.get(endpoint) ?? "well";
      const status = drawStatus(mood);
      if (status === 200) arrival.taken++;
      else refused++;
      const slow_ms = mood === "slow" ? Math.random() * SLOW_MS_MAX : 0;
      setTimeout(() => {
        answer(reply, status);
        receiver.onAnswer();
      }, slow_ms);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const receiver: EventReceiver = {
    host: `127.0.0.1:${port}`,
    moods,
    know: log.know,
    list: log.list,
    listUnsigned: log.listUnsigned,
    refused: () => refused,
    onAnswer() {},
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
  return receiver;
};

/** A status, a broken connection, or nothing at all. */
type Status = number | "reset" | "hang";

const drawStatus = (mood: Mood): Status => {
  if (mood === "gone") return 410;
  if (mood === "down") return 500;
  if (mood !== "ill") return 200;
  const drawn = Math.random();
  if (drawn < 0.5) return 200;
  if (drawn < 0.7) return 500;
  if (drawn < 0.8) return 429;
  return drawn < 0.9 ? "reset" : "hang";
};

const answer = (reply: ServerResponse, status: Status): void => {
  if (status === "hang") return;
  if (status === "reset") {
    reply.socket?.destroy();
    return;
  }
  reply.writeHead(status, {
    "content-type": "application/json",
    ...(status === 429 && { "retry-after": "7" }),
  });
  reply.end('{"done":true}');
};

interface Unsigned {
  id: string;
  timestamp: string;
  body: string;
  signatures: readonly string[];
}

const createLog = () => {
  const arrivals = new Map<string, Arrival>();
  const secrets = new Map<string, string[]>();
  /** By endpoint: deliveries signed by no secret known at that time. */
  const unsigned = new Map<string, Unsigned[]>();
  const isSigned = (endpoint: string, { id, timestamp, body, signatures }: Unsigned) =>
    (secrets.get(endpoint) ?? []).some((secret) =>
      signatures.includes(sign(secret, id, timestamp, body)),
    );
  return {
    note(endpoint: string, headers: IncomingHttpHeaders, body: string): Arrival {
      const id = String(headers["webhook-id"]);
      const timestamp = String(headers["webhook-timestamp"]);
      const signatures = String(headers["webhook-signature"]).split(" ");
      const came = { id, timestamp, body, signatures };
      if (!isSigned(endpoint, came)) {
        unsigned.set(endpoint, [...(unsigned.get(endpoint) ?? []), came]);
      }
      const key = `${endpoint} ${id}`;
      const event = JSON.parse(body) as Reported;
      const hash = hashText(body);
      const arrival = arrivals.get(key) ?? {
        ...{ endpoint, id, subject: findSubject(event), hash, times: 0, taken: 0, changed: 0 },
      };
      arrivals.set(key, arrival);
      arrival.times++;
      if (arrival.hash !== hash || event.id !== id) arrival.changed++;
      return arrival;
    },
    know(endpoint: string, secret: string) {
      secrets.set(endpoint, [...(secrets.get(endpoint) ?? []), secret]);
    },
    list: () => [...arrivals.values()],
    listUnsigned: () =>
      [...unsigned].flatMap(([endpoint, came]) =>
        secrets.has(endpoint)
          ? came.filter((one) => !isSigned(endpoint, one)).map(({ id }) => `${endpoint} ${id}`)
          : [],
      ),
  };
};

interface Reported {
  id: string;
  type: string;
  data: Record<"run" | "approval" | "fire", { id: string; status: string; outcome: string }>;
}

const findSubject = ({ type, data }: Reported): string | null => {
  switch (type) {
    case "run.completed":
    case "run.failed":
      return `run ${data.run.id}`;
    case "approval.requested":
    case "approval.decided":
      return `${type} ${data.approval.id}`;
    case "trigger.fired":
      // A limited fire may be limited again, after another outcome.
      return data.fire.outcome === "started" ? `fire ${data.fire.id}` : null;
    case "webhook.test":
      return null;
    default:
      throw new Wrong(`an event of type ${type}`);
  }
};
