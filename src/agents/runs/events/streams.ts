// Every event stream of this server: who listens to which run, how many, how long, and until when.
import { type FindCaller, KeyRevocations } from "../../../access/index.ts";
import type { Bound, Database } from "../../../database/index.ts";
import { type EventStream, watchIdle } from "../../../http/index.ts";
import type { Clock } from "../../../platform/clock.ts";
import { guardCallback } from "../../../platform/error-boundary.ts";
import { apiError } from "../../../platform/errors.ts";
import type { Log } from "../../../platform/log.ts";
import type { Service } from "../../../platform/service.ts";
import type { RunRow } from "../run.ts";
import type { runStore } from "../store/index.ts";
import { FINAL } from "../transitions.ts";
import { endFrame, statusFrame, stepFrame } from "./frames.ts";
import { createTail, type Listener, STEPS_AT_ONCE, type Tail } from "./tail.ts";

/** agents.limits.open_event_streams */
const PER_KEY_MAX = 20;
/** agents.limits.stream_lifetime */
const LIFETIME_MS = 3_600_000;
/** Who has so much unread is too slow for what is told to all: it comes again and reads alone. */
const UNREAD_BYTES_MAX = 1024 * 1024;

export interface StreamsOptions {
  runs: Bound<typeof runStore>;
  database: Pick<Database, "listen">;
  findCaller: FindCaller;
  clock: Clock;
  log: Log;
}

export interface Streams {
  /** Tells a run to a stream, in the background; refuses what is one too many. */
  open(
    key_id: string,
    run: RunRow,
    openStream: (onBug: (bug: unknown) => void) => EventStream,
  ): EventStream;
  service: Service;
}

/** A stream and what ends it. */
interface Open {
  stream: EventStream;
  isOpen(): boolean;
  pass(frames: string): void | Promise<void>;
  end(): void;
}

export function createStreams(options: StreamsOptions): Streams {
  const { runs, clock, log } = options;
  const keys = new KeyRevocations(options);
  let isStopping = false;
  const onFailure = (failure: unknown) =>
    log.error("the events of a run could not be read", { error: failure });
  const tails = createTails(options, onFailure);

  /** agents.events.stream.p4: from the first step on, at the pace of who reads. */
  const replay = async (run: RunRow, { isOpen, pass }: Open): Promise<boolean> => {
    // agents.events.stream.type_run_status_status
    await pass(statusFrame(run.status));
    for (let seq = 0; seq < run.last_seq; ) {
      const steps = await runs.listSteps(run.id, seq, STEPS_AT_ONCE);
      const known = steps.filter((step) => step.seq <= run.last_seq);
      // The run was deleted meanwhile.
      if (known.length === 0 || !isOpen()) return false;
      await pass(known.map(stepFrame).join(""));
      seq = known.at(-1)!.seq;
    }
    return true;
  };
  const follow = async (run: RunRow, open: Open, onLeave: (leave: () => void) => void) => {
    const isWhole = await replay(run, open);
    if (!isWhole || !open.isOpen()) return open.end();
    if (FINAL.has(run.status)) {
      void open.pass(endFrame(run));
      return open.end();
    }
    const tail = tails.find(run.id);
    const pass = (frames: string) => {
      if (open.stream.countUnread() > UNREAD_BYTES_MAX) open.end();
      else void open.pass(frames);
    };
    const told = { status: run.status, seq: run.last_seq };
    // One listener's bug ends no other's stream.
    const fail = (bug: unknown) => {
      onFailure(bug);
      open.end();
    };
    const listener: Listener = { told, pass: guardCallback(fail, pass), end: open.end };
    onLeave(() => tail.leave(listener));
    tail.join(listener);
  };

  return {
    open(key_id, run, openStream) {
      if (isStopping) throw apiError("service_unavailable");
      // agents.errors.too_many_streams, agents.events.stream.p5
      if (keys.count(key_id) >= PER_KEY_MAX) throw apiError("too_many_streams");
      const stream = openStream(onFailure);
      let leave = () => {};
      const open = watch(stream, clock, () => {
        forget();
        leave();
      });
      const forget = keys.add(key_id, open.end);
      // Who left while the stream was opened.
      if (stream.left.aborted) open.end();
      follow(run, open, (tailLeave) => {
        leave = tailLeave;
      }).catch((failure) => {
        onFailure(failure);
        open.end();
      });
      return stream;
    },
    service: {
      name: "event streams",
      start() {},
      // agents.events.stream.p3: the client comes again, and finds who serves then.
      stop() {
        isStopping = true;
        tails.stop();
        keys.stop();
      },
    },
  };
}

/** A tail for each run that somebody listens to. */
function createTails({ runs, database }: StreamsOptions, onFailure: (failure: unknown) => void) {
  const tails = new Map<string, Tail>();
  // One for all runs: a commit that nobody listens to costs one look into a map.
  const stop = database.listen("run", (id) => {
    if (id !== null) tails.get(id)?.look();
    else for (const tail of tails.values()) tail.look();
  });
  return {
    find(run_id: string): Tail {
      let tail = tails.get(run_id);
      if (!tail) {
        const onEmpty = () => void tails.delete(run_id);
        tail = createTail({ run_id, runs, onFailure, onEmpty });
        tails.set(run_id, tail);
      }
      return tail;
    },
    stop,
  };
}

/** Ends a stream after its hour, or when its caller leaves; comments into its silence. */
function watch(stream: EventStream, clock: Clock, onEnd: () => void): Open {
  let isOpen = true;
  // agents.events.stream.p2
  const silence = watchIdle(clock, () => stream.comment("keep-alive"));
  const end = () => {
    if (!isOpen) return;
    isOpen = false;
    silence.stop();
    cancel();
    stream.close();
    onEnd();
  };
  const cancel = clock.after(LIFETIME_MS, end);
  stream.left.addEventListener("abort", end, { once: true });
  return {
    stream,
    isOpen: () => isOpen,
    pass(frames) {
      silence.end();
      return stream.pass(frames);
    },
    end,
  };
}
