// Attacks the guarded way out: every address and URL of the tests' tables, and replies without end.
import { readFileSync, writeFileSync } from "node:fs";
import { readAllowEntry } from "../../src/net/allow-list.ts";
import { GuardedEgress } from "../../src/net/index.ts";
import { createSystemClock } from "../../src/platform/clock.ts";
import { guard, pretendInternet } from "../../test/net/guard.ts";
import { hostileAddresses } from "../../test/net/hostile-addresses.ts";
import { refusedUrls } from "../../test/net/hostile-urls.ts";
import { launch, readUntil } from "../bench/stage.ts";
import { atLeast, atMost, type Finding, type Proof } from "./proof.ts";

/** Maximum length of a tool's result. */
const REPLY_BYTES_MAX = 1_048_576;
const AT_ONCE = 8;
const REQUESTS = 200;
const REQUESTS_LONG = 5_000;
const GROWTH_MB_MAX = 32;

const FAIR_ORIGINS = ["https://example.com", "https://hooks.example.com"];

/** Replies that are read to the limit and hung up on. */
const BOMBS = ["gzip", "length", "close", "chunks", "one-chunk"];
/** Invalid replies of unlimited length. */
const FLOODS = ["extension", "header", "headers", "interim"];

export const egress: Proof = {
  name: "egress",
  about: "hostile addresses, URLs, redirects and replies without end against the guarded way out",
  async run(isLong) {
    const program = Bun.fileURLToPath(new URL("./bomb-server.ts", import.meta.url));
    const bombs = launch([process.execPath, program]);
    const origin = await readUntil(bombs, /(http:\/\/127\.0\.0\.1:\d+)/);
    const guarded = new GuardedEgress({
      clock: createSystemClock(),
      allow: () => [readAllowEntry("127.0.0.1:*")],
    });
    const findings = [
      ...(await attack()),
      ...(await bomb(guarded, origin, isLong ? REQUESTS_LONG : REQUESTS)),
    ];
    bombs.kill("SIGKILL");
    return findings;
  },
};

/** Finds connections that the address tables let through. */
const attack = async (): Promise<Finding[]> => {
  const url = "https://hooks.example.com/";
  const lists = hostileAddresses.flatMap((address) => [
    [address],
    ["93.184.216.34", address],
    [address, "2606:4700:4700::1111"],
  ]);
  const fields = { headers: {}, timeoutMs: 10_000, responseBytesMax: 1_000 } as const;
  let tried = 0;
  let through = 0;
  /** `sent_fairly`: connections that had to be made before the attack, to a public address. */
  const count = async (
    ask: { url: string; method: "GET" | "POST"; redirects?: 3 },
    resolve: () => Promise<readonly string[]>,
    location = "",
    sent_fairly = 0,
  ) => {
    const head = location === "" ? "200 OK" : `302 Elsewhere\r\nlocation: ${location}`;
    using internet = pretendInternet(() => `HTTP/1.1 ${head}\r\ncontent-length: 0\r\n\r\n`);
    const guarded = guard([], { clock: createSystemClock(), resolve, dial: internet.dial });
    const outcome = await guarded.request({ ...fields, ...ask });
    tried += 1;
    if (outcome.ok || internet.dialled.length > sent_fairly) through += 1;
  };
  const fair = async () => ["93.184.216.34"];
  for (const [bad] of refusedUrls) await count({ url: bad, method: "POST" }, fair);
  for (const list of lists) await count({ url, method: "POST" }, async () => list);
  // A name that is public when the first request is checked, and hostile from then on.
  for (const address of hostileAddresses) {
    let looks = 0;
    const turn = async () => [looks++ === 0 ? "93.184.216.34" : address];
    await count({ url, method: "GET", redirects: 3 }, turn, "/next", 1);
  }
  for (const [bad] of refusedUrls) {
    // A head is one byte a letter and one line. As a reference some are right, and lead to a
    // public host: `//example.com/`, or with a fragment, which no client sends.
    const place = URL.parse(bad, url);
    const isFair = place?.username === "" && FAIR_ORIGINS.includes(place.origin);
    if (isFair || !/^[!-~]+$/.test(bad)) continue;
    await count({ url, method: "GET", redirects: 3 }, fair, bad, 1);
  }
  return [
    atLeast("hostile addresses", hostileAddresses.length, 60),
    atLeast("hostile URLs", refusedUrls.length, 30),
    atLeast("attacks by URL, by answer, by a changed answer, by redirect", tried, 500),
    atMost("attacks that got through", through, 0),
  ];
};

/** Replies without end, to an idle process and to one that reads large complete ones. */
const bomb = async (
  guarded: GuardedEgress,
  origin: string,
  requests: number,
): Promise<Finding[]> => {
  let wrong = 0;
  let sent = 0;
  const ask = async (path: string, isFlood: boolean) => {
    const outcome = await guarded.request({
      ...{ url: `${origin}/${path}`, method: "POST", headers: {}, body: "{}", timeoutMs: 60_000 },
      responseBytesMax: REPLY_BYTES_MAX,
    });
    if (path !== "fits") sent += 1;
    const isRight = outcome.ok
      ? !isFlood && outcome.body.length <= REPLY_BYTES_MAX
      : isFlood && outcome.code === "other";
    if (!isRight) wrong += 1;
  };
  const askAll = async (paths: readonly string[], isFlood: boolean, count: number) => {
    for (const path of paths) {
      for (let left = count; left > 0; left -= AT_ONCE) {
        const at_once = Math.min(left, AT_ONCE);
        await Promise.all(Array.from({ length: at_once }, () => ask(path, isFlood)));
      }
    }
  };
  const askEach = async (count: number) => {
    await askAll(BOMBS, false, count);
    await askAll(FLOODS, true, count);
  };
  Bun.gc(true);
  const rest_mb = startPeak();
  await askEach(1);
  const one_mb = readPeakMb() - rest_mb;
  startPeak();
  await askAll(["fits"], false, requests * BOMBS.length);
  const fitting_mb = readPeakMb();
  startPeak();
  await askEach(requests);
  const many_mb = readPeakMb() - fitting_mb;
  const more = "peak of memory more than";
  return [
    atLeast("replies without end", sent, 1_000),
    atMost("of them not cut off", wrong, 0),
    atMost(`${more} at rest, one of each`, one_mb, GROWTH_MB_MAX, " MB"),
    atMost(`${more} with replies that fit, ${AT_ONCE} at once`, many_mb, GROWTH_MB_MAX, " MB"),
  ];
};

const readStatusMb = (name: "VmRSS" | "VmHWM"): number => {
  const status = readFileSync("/proc/self/status", "latin1");
  return (Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) * 1024) / 1e6;
};

/** Resets the kernel's peak memory of this process; returns the current memory in MB. */
const startPeak = (): number => {
  writeFileSync("/proc/self/clear_refs", "5");
  return readStatusMb("VmRSS");
};

const readPeakMb = (): number => readStatusMb("VmHWM");
