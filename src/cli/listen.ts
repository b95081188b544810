// `wadi listen`: stands in for a receiver of webhooks on this machine, and prints what arrives.
import { type Arrival, openListener } from "../operator/index.ts";
import { createSystemClock } from "../platform/clock.ts";
import { judgeSigningSecret } from "../platform/signing/secret.ts";
import { drawLines, type Output } from "./output.ts";
import { quote, quoteWhole } from "./quotation.ts";
import { type Given, readList, readNumber, UsageProblem } from "./verb.ts";

const PORT = 4400;
const PORT_MAX = 65_535;
const STATUS = 204;
/** The first and the last that end an exchange. */
const STATUSES = { first: 200, last: 599 };
/** What people see of an event's data. */
const DATA_CHARACTERS = 400;
/** What a type and an id look like; whatever else is quoted. */
const WORD = /^[\w.:+-]{1,128}$/;

/** Prints until a signal ends it. */
export async function runListen(given: Given, output: Output): Promise<number> {
  const secrets = readSecrets(given);
  const end = Promise.withResolvers<number>();
  const receiver = openListener({
    port: readWithin(given, "port", 0, PORT_MAX) ?? PORT,
    secrets,
    status: readWithin(given, "status", STATUSES.first, STATUSES.last) ?? STATUS,
    clock: createSystemClock(),
    onArrival: (arrival) => output.print(arrival, drawArrival(arrival)),
    onFailure: end.reject,
  });
  const { url } = receiver;
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => end.resolve(0));
  output.print({ url, is_verifying: secrets.length > 0 }, drawStart(url, secrets.length));
  try {
    return await end.promise;
  } finally {
    await receiver.stop();
  }
}

/** Not said again where it is wrong: it may be another one, typed in the wrong place. */
function readSecrets(given: Given): readonly string[] {
  const secrets = readList(given, "secret");
  for (const secret of secrets) {
    const why = judgeSigningSecret(secret);
    if (why !== null) throw new UsageProblem(`--secret ${why}`);
  }
  return secrets;
}

function readWithin(given: Given, name: string, first: number, last: number): number | undefined {
  const number = readNumber(given, name);
  if (number === undefined || (number >= first && number <= last)) return number;
  throw new UsageProblem(`--${name} takes ${first} to ${last}, but is ${number}`);
}

function drawStart(url: string, secrets: number): string {
  const how =
    secrets === 0
      ? "without --secret, so nothing is verified"
      : `verifying with ${secrets === 1 ? "one secret" : `${secrets} secrets`}`;
  return `listening on ${url}, ${how}; Ctrl-C ends it\n`;
}

/** `2026-11-22T10:00:00.000Z  verified  run.completed  0198…`, and below it the data, cut. */
export function drawArrival(arrival: Arrival): string {
  const { at, path, verdict, why, webhook_id, times, type, answered, body } = arrival;
  // Of what was refused the verdict says it.
  const isAsked = verdict !== "refused" && answered >= 300;
  const head = [
    ...[at, verdict, type === null ? "-" : writeWord(type)],
    webhook_id === null ? "-" : writeWord(webhook_id),
    ...(path === "/" ? [] : [quote(path)]),
    ...(times > 1 ? [`repeat, ${times} times so far`] : []),
    ...(isAsked ? [`answered ${answered}`] : []),
  ];
  const reason = why === null ? "" : `  ${why}\n`;
  return `${drawLines([head])}${reason}  ${cut(quoteWhole(findData(body)))}\n`;
}

const writeWord = (text: string) => (WORD.test(text) ? text : quote(text));

/** What the event tells; of anything else all of it. */
function findData(body: unknown): unknown {
  return typeof body === "object" && body !== null && "data" in body ? body.data : body;
}

function cut(line: string): string {
  if (line.length <= DATA_CHARACTERS) return line;
  return `${line.slice(0, DATA_CHARACTERS).toWellFormed()}…`;
}
