// Cost of refusing a signed request: the same for every cause, so that timing reveals no trigger.
import { createHmac } from "node:crypto";
import { runCaller } from "./caller.ts";
import { type Figure, type Report, spreadOf, type Table, writeSpread } from "./measure.ts";
import { addAgent, makeRunFixture, type RunServer, serveRuns } from "./run-fixture.ts";
import { buildWadi } from "./stage.ts";

/** Requests of each kind, in one run and in turn. */
const REQUESTS = 10_000;
const WARM_REQUESTS = 2_000;
/** A body costs as much as it is long, to be read and to be verified. */
const BODY_BYTES = [200, 60_000];
const RATIO_MAX = 0.03;
const KNOWN = "known trigger, wrong signature";

interface Kind {
  name: string;
  path: string;
  /** Signing secret; a wrong one by default. */
  secret?: string;
}

/** For each kind the median of each round, in milliseconds. */
type Medians = Record<string, number[]>;

export const benchHook = async (rounds: number, [program]: readonly string[]): Promise<Report> => {
  const fixture = await makeRunFixture(program ?? (await buildWadi()), { concurrent_runs: 1 });
  const server = await serveRuns(fixture);
  const kinds = await listKinds(server);
  const outcomes: Record<number, Medians> = {};
  for (const bytes of BODY_BYTES) {
    const medians: Medians = Object.fromEntries(kinds.map(({ name }) => [name, []]));
    await ask(server, kinds, bytes, WARM_REQUESTS);
    for (let round = 0; round < rounds; round++) {
      process.stderr.write(`hook: round ${round + 1}, bodies of ${bytes} bytes\n`);
      const measured = await ask(server, kinds, bytes, REQUESTS);
      for (const { name } of kinds) medians[name]!.push(takeMedian(measured.get(name)!));
    }
    outcomes[bytes] = medians;
  }
  await server.stop();
  return writeReport(outcomes);
};

const listKinds = async (server: RunServer): Promise<Kind[]> => {
  const agent_id = await addAgent(server, "stub");
  const create = async (fields: object) => {
    const body = { agent_id, ...fields };
    const reply = await server.ask("POST", "/v1/triggers", body);
    if (reply.status !== 201) throw new Error(`${reply.status} ${await reply.text()}`);
    return (await reply.json()) as { id: string; secret: string };
  };
  const hook = await create({ name: "Hook", kind: "webhook" });
  const cron = await create({ name: "Yearly", kind: "cron", cron: "0 0 1 1 *" });
  const at = (id: string) => `/v1/hooks/${id}`;
  return [
    { name: KNOWN, path: at(hook.id) },
    {
      name: "known trigger, right signature of another time",
      path: at(hook.id),
      secret: hook.secret,
    },
    { name: "unknown trigger", path: at(crypto.randomUUID()) },
    { name: "cron trigger", path: at(cron.id) },
    // The same length as a valid one, so that requests have equal size.
    { name: "no UUID", path: at("x".repeat(36)) },
  ];
};

/** A whole request, head and body, of a message that was signed a day ago. */
const writeRequest = ({ path, secret }: Kind, bytes: number): string => {
  const body = JSON.stringify("x".repeat(bytes - 2));
  const timestamp = Math.floor(Date.now() / 1_000) - (secret === undefined ? 0 : 86_400);
  const key = Buffer.from((secret ?? `whsec_${"A".repeat(44)}`).slice("whsec_".length), "base64");
  const signature = createHmac("sha256", key).update(`message.${timestamp}.${body}`);
  return [
    `POST ${path} HTTP/1.1`,
    "Host: 127.0.0.1",
    "Content-Type: application/json",
    "webhook-id: message",
    `webhook-timestamp: ${timestamp}`,
    `webhook-signature: v1,${signature.digest("base64")}`,
    `Content-Length: ${body.length}`,
    "",
    body,
  ].join("\r\n");
};

/** Milliseconds of each request by kind, over one connection, in a varying order. */
const ask = async (
  { port }: RunServer,
  kinds: readonly Kind[],
  bytes: number,
  requests: number,
): Promise<Map<string, Float64Array>> => {
  const texts = kinds.map((kind) => writeRequest(kind, bytes));
  const measured = new Map(kinds.map(({ name }) => [name, new Float64Array(requests)]));
  const times = [...measured.values()];
  const order = kinds.map((_, at) => at);
  let requested_at = -1;
  let sent_at = 0;
  const complaint = await runCaller({
    ...{ port, status: 401, isStream: false, piece: '"code":"invalid_signature"' },
    write() {
      requested_at++;
      const turn = requested_at % kinds.length;
      if (turn === 0) shuffle(order);
      const text = texts[order[turn]!]!;
      sent_at = performance.now();
      return text;
    },
    leaveAfter: () => Infinity,
    onFirst() {},
    onReply() {
      const turn = requested_at % kinds.length;
      times[order[turn]!]![Math.floor(requested_at / kinds.length)] = performance.now() - sent_at;
      return requested_at + 1 < requests * kinds.length;
    },
  });
  if (complaint !== undefined) throw new Error(complaint);
  return measured;
};

const shuffle = (order: number[]) => {
  for (let at = order.length - 1; at > 0; at--) {
    const other = Math.floor(Math.random() * (at + 1));
    [order[at], order[other]] = [order[other]!, order[at]!];
  }
};

const takeMedian = (times: Float64Array): number => {
  const sorted = times.toSorted();
  return (sorted[(sorted.length - 1) >> 1]! + sorted[sorted.length >> 1]!) / 2;
};

const compare = (medians: Medians, name: string) =>
  spreadOf(medians[name]!.map((median, round) => median / medians[KNOWN]![round]!));

const writeReport = (outcomes: Record<number, Medians>): Report => ({
  tables: Object.entries(outcomes).map(
    ([bytes, medians]): Table => ({
      title: `refused with 401, bodies of ${Number(bytes).toLocaleString("en")} bytes`,
      columns: ["", "median ms", `of ${KNOWN}`],
      rows: Object.keys(medians).map((name) => [
        name,
        writeSpread(spreadOf(medians[name]!)),
        writeSpread(compare(medians, name)),
      ]),
    }),
  ),
  figures: Object.entries(outcomes).flatMap(([bytes, medians]) =>
    Object.keys(medians)
      .filter((name) => name !== KNOWN)
      .map((name): Figure => {
        const spread = compare(medians, name);
        return {
          ...{ what: `${name}, ${bytes} bytes`, spread, unit: `of ${KNOWN}` },
          goal: `1 ± ${RATIO_MAX}`,
          isMet: Math.abs(spread.median - 1) <= RATIO_MAX,
        };
      }),
  ),
  notes: [
    `Medians of ${REQUESTS.toLocaleString("en")} requests of each kind in each round, over one connection, all kinds in turn.`,
    "The goal is this bench's own: design/quality.md names none.",
  ],
  data: outcomes,
});
