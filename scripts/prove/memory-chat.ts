// Streams for a long time to callers of whom many leave in the middle: memory stays, upstreams are let go.
import { readRssMb, spreadOf } from "../bench/measure.ts";
import { buildWadi, startLoad, startMock, startWadi } from "../bench/stage.ts";
import { atLeast, atMost, type Proof } from "./proof.ts";

const SECONDS = 60;
const SECONDS_LONG = 600;
const CALLERS = 64;
const LEAVING = 0.3;
const STREAM = { chunks: 40, pace_ms: 5 };
const SAMPLE_EVERY_MS = 250;
/** The last third's median against the middle third's; the first one warms up. */
const GROWTH_PERCENT_MAX = 10;
/** Streams that would go on for a minute, cut off all at once by the death of their callers. */
const CUT_STREAMS = 200;
const ENDLESS = { chunks: 6_000, pace_ms: 10 };
const CLOSED_MS_MAX = 200;

export const memoryChat: Proof = {
  name: "memory-chat",
  about: "chat streams, three callers in ten leave in the middle; memory is flat",
  async run(isLong) {
    const mock = await startMock();
    const wadi = await startWadi(await buildWadi(), mock);
    const load = startLoad();
    const order = { port: wadi.port, key: wadi.key, status: 201, pids: {} };
    const rss_mb: number[] = [];
    const sampling = setInterval(() => rss_mb.push(readRssMb(wadi.pid)), SAMPLE_EVERY_MS);
    const measured = await load.run({
      ...order,
      callers: CALLERS,
      stream: STREAM,
      leaving: LEAVING,
      warm_ms: 0,
      measure_ms: (isLong ? SECONDS_LONG : SECONDS) * 1000,
    });
    clearInterval(sampling);
    if (measured.complaint) throw new Error(measured.complaint);
    const { streams_left } = await mock.stats();

    const cut = { callers: CUT_STREAMS, stream: ENDLESS, warm_ms: 0, measure_ms: 60_000 };
    // Not awaited: its callers are killed.
    load.run({ ...order, ...cut }).catch(() => undefined);
    const waitForStreams = async (count: number) => {
      while ((await mock.stats()).streams_open !== count) await Bun.sleep(5);
    };
    await waitForStreams(CUT_STREAMS);
    await load.stop();
    const cut_at = performance.now();
    await waitForStreams(0);
    const closed_ms = performance.now() - cut_at;
    await Promise.all([wadi.stop(), mock.stop()]);

    const third = Math.floor(rss_mb.length / 3);
    const middle = spreadOf(rss_mb.slice(third, 2 * third)).median;
    const last = spreadOf(rss_mb.slice(2 * third)).median;
    const left_least = Math.floor(measured.replies * LEAVING * 0.8);
    return [
      atLeast("streams", measured.replies, 5_000),
      atLeast("upstream streams closed because the caller left", streams_left, left_least),
      atMost(
        "memory, last third against the middle one",
        (last / middle - 1) * 100,
        GROWTH_PERCENT_MAX,
        " %",
      ),
      atMost("memory, last third's median", last, 250, " MB"),
      atMost(
        `until ${CUT_STREAMS} upstreams were closed behind dead callers`,
        closed_ms,
        CLOSED_MS_MAX,
        " ms",
      ),
    ];
  },
};
