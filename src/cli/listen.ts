// `wadi listen`: a local receiver that verifies webhooks and prints them.

import { openWebhookReceiver, type ReceivedWebhook } from "../admin/index.ts";
import { validateSigningSecret } from "../crypto/index.ts";
import { createSystemClock } from "../platform/clock.ts";
import { shorten } from "../platform/text.ts";
import { type Command, type CommandInput, readList, readNumber, UsageError } from "./command.ts";
import { drawLines, type Output, quote, quoteWhole } from "./output.ts";

const PORT = 4400;
const PORT_MAX = 65_535;
const STATUS = 204;
const STATUSES = { first: 200, last: 599 };
const DATA_CHARACTERS = 400;
/** Pattern of types and ids; other texts are quoted. */
const WORD = /^[\w.:+-]{1,128}$/;

export async function runListen(input: CommandInput, output: Output): Promise<number> {
  const secrets = readSecrets(input);
  const end = Promise.withResolvers<number>();
  const receiver = openWebhookReceiver({
    port: readWithin(input, "port", 0, PORT_MAX) ?? PORT,
    secrets,
    status: readWithin(input, "status", STATUSES.first, STATUSES.last) ?? STATUS,
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

/** Never echoes a wrong secret: it may be another one, typed in the wrong place. */
function readSecrets(input: CommandInput): readonly string[] {
  const secrets = readList(input, "secret");
  for (const secret of secrets) {
    const fault = validateSigningSecret(secret);
    if (fault !== null) throw new UsageError(`--secret ${fault}`);
  }
  return secrets;
}

function readWithin(
  input: CommandInput,
  name: string,
  first: number,
  last: number,
): number | undefined {
  const number = readNumber(input, name);
  if (number === undefined || (number >= first && number <= last)) return number;
  throw new UsageError(`--${name} takes ${first} to ${last}, but is ${number}`);
}

function drawStart(url: string, secrets: number): string {
  const how =
    secrets === 0
      ? "without --secret, so nothing is verified"
      : `verifying with ${secrets === 1 ? "one secret" : `${secrets} secrets`}`;
  return `listening on ${url}, ${how}; Ctrl-C ends it\n`;
}

/** Draws `2026-11-22T10:00:00.000Z  verified  run.completed  0198…` and the data below. */
export function drawArrival(arrival: ReceivedWebhook): string {
  const { at, path, verdict, why, webhook_id, times, type, answered, body } = arrival;
  // A refusal shows in the verdict.
  const isAsked = verdict !== "refused" && answered >= 300;
  const head = [
    ...[at, verdict, type === null ? "-" : writeWord(type)],
    webhook_id === null ? "-" : writeWord(webhook_id),
    ...(path === "/" ? [] : [quote(path)]),
    ...(times > 1 ? [`repeat, ${times} times so far`] : []),
    ...(isAsked ? [`answered ${answered}`] : []),
  ];
  const reason = why === null ? "" : `  ${why}\n`;
  return `${drawLines([head])}${reason}  ${shorten(quoteWhole(findData(body)), DATA_CHARACTERS)}\n`;
}

const writeWord = (text: string) => (WORD.test(text) ? text : quote(text));

function findData(body: unknown): unknown {
  return typeof body === "object" && body !== null && "data" in body ? body.data : body;
}

export const commands: readonly Command[] = [
  {
    name: "listen",
    flags: {
      port: { takes: "N", help: "port to listen on (default 4400; 0 picks a free one)" },
      secret: { takes: "whsec_…", multiple: true, help: "signing secret; repeatable" },
      status: { takes: "N", help: "HTTP status to answer with, such as 503 (default 204)" },
      json: { help: "one JSON document per line: the address, then each event" },
    },
    help: "Receive, verify and print webhooks on this machine",
    example: "wadi listen --port 4400 --secret whsec_…",
    run: runListen,
  },
];
