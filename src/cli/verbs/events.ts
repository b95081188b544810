// The verbs of what starts runs by itself, and of what is told of them.
import { account, limit, type Verb } from "../verb.ts";

/** One of the two ways to turn a trigger. */
function turn(act: "pause" | "resume", help: string): Verb {
  return {
    name: `triggers ${act}`,
    args: ["ID"],
    flags: {},
    help,
    run: async (given, output) => (await import("../triggers.ts")).turnTrigger(given, output, act),
  };
}

export const eventsVerbs: readonly Verb[] = [
  {
    name: "triggers list",
    args: [],
    flags: { account },
    help: "what starts runs by itself, and when next",
    run: async (given, output) => (await import("../triggers.ts")).listTriggers(given, output),
  },
  {
    name: "triggers show",
    args: ["ID"],
    flags: {},
    help: "all that is known of one",
    run: async (given, output) => (await import("../triggers.ts")).showTrigger(given, output),
  },
  {
    name: "triggers fires",
    args: ["ID"],
    flags: { limit },
    help: "its newest fires, and what came of them",
    run: async (given, output) => (await import("../triggers.ts")).listFires(given, output),
  },
  turn("pause", "it fires no more"),
  turn("resume", "it fires again, with the key that it had"),
  {
    name: "webhooks list",
    args: [],
    flags: { account },
    help: "endpoints, and how they are doing",
    run: async (given, output) => (await import("../webhooks.ts")).listEndpoints(given, output),
  },
  {
    name: "webhooks deliveries",
    args: ["ID"],
    flags: {
      status: { takes: "S", help: "only those that are in it, such as failed" },
      limit,
    },
    help: "the newest of an endpoint, and how they went",
    run: async (given, output) => (await import("../webhooks.ts")).listDeliveries(given, output),
  },
  {
    name: "webhooks replay",
    args: ["ID"],
    flags: {},
    help: "sends a delivery again, with its webhook-id",
    run: async (given, output) => (await import("../webhooks.ts")).replayDelivery(given, output),
  },
  {
    name: "webhooks recover",
    args: ["ID"],
    flags: {
      since: { takes: "TIME", help: "of the first one, such as 2027-01-05T09:30:00Z" },
      until: { takes: "TIME", help: "of the last one (default now)" },
    },
    help: "sends what an endpoint lost again",
    run: async (given, output) => (await import("../webhooks.ts")).recoverDeliveries(given, output),
  },
  {
    name: "listen",
    args: [],
    flags: {
      port: { takes: "N", help: "to listen on (default 4400; 0 picks a free one)" },
      secret: {
        takes: "whsec_…",
        multiple: true,
        help: "that signs what comes; several: several times",
      },
      status: { takes: "N", help: "to answer with, such as 503 for retries (default 204)" },
      json: { help: "a JSON document a line: the address, then what comes" },
    },
    help: "a local receiver that verifies webhooks",
    run: async (given, output) => (await import("../listen.ts")).runListen(given, output),
  },
];
