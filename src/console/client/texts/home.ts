// Sentences of the home page.
import { count } from "./plural.ts";

export const home = {
  "home.needs": "Needs a person",
  "home.nothing": "Nothing needs a person.",
  "home.running": "Running now",
  "home.running.none": "No run is active.",
  "home.active": (running: number, queued: number) => `${running} active, ${queued} queued`,
  "home.approvals": (number: number) => `${count(number, "approval is", "approvals are")} waiting.`,
  "home.approvals.oldest": (ago: string) => `The oldest asked ${ago} ago.`,
  "home.approvals.open": "Open approvals",
  "home.suspects": (number: number) =>
    `${count(number, "run has", "runs have")} crashed the server twice.`,
  "home.endpoints": (number: number) =>
    `Deliveries to ${count(number, "endpoint", "endpoints")} fail.`,
  "home.endpoints.waiting": (number: number) => `${number} are waiting.`,
  "home.disabled": (number: number) =>
    `${count(number, "endpoint was", "endpoints were")} disabled because deliveries failed.`,
  "home.model": (id: string, healthy: number, all: number) =>
    `${id} has ${healthy} of ${all} replicas up.`,
  "home.model.off": (id: string, state: string) => `${id} is ${state}.`,
  "home.paused": "This installation was restored and is paused.",
  "home.paused.says": "Runs wait until `wadi resume`.",
  "home.backup": "The last backup failed.",
  "home.clock": "The clock is over 7 days ahead of the data.",
  "home.disk": "The disk is nearly full.",
  "home.disk.says": (free: string) => `${free} are free.`,
  "home.crash": "A call hung, and the watchdog ended the server.",
} as const;
