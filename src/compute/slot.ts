// One compute Worker, and the job that it carries out.
import type { Clock } from "../platform/clock.ts";
import { openWorker } from "../platform/descriptors.ts";
import type { ComputeOrder, ComputeReply } from "./worker.ts";

/** `timeout`: the job was cut off, and its Worker with it. `ended`: its Worker ended by itself. */
export type JobEnd = ComputeReply | "timeout" | "ended";

export interface Slot {
  /** Whose job it carries out; null: it waits for one. */
  account: string | null;
  perform(order: ComputeOrder, timeoutMs: number): Promise<JobEnd>;
  close(): void;
}

export interface SlotOptions {
  script: URL;
  clock: Clock;
  /** Called once, before its job hears of it. null: it was cut off or closed. */
  onEnd(slot: Slot, failure: Error | null): void;
}

export function openSlot({ script, clock, onEnd }: SlotOptions): Slot {
  const worker = openWorker(script);
  // An idle Worker keeps no process alive.
  worker.unref();
  let settle: (end: JobEnd) => void = () => {};
  let isOpen = true;
  const end = (jobEnd: JobEnd, failure: Error | null) => {
    if (!isOpen) return;
    isOpen = false;
    worker.terminate();
    onEnd(slot, failure);
    settle(jobEnd);
  };
  const die = (message: string) => end("ended", new Error(message));
  worker.onmessage = ({ data }: { data: ComputeReply }) => settle(data);
  worker.onerror = (event) => {
    event.preventDefault();
    die(event.message);
  };
  worker.addEventListener("close", () => die("its thread ended"));

  const slot: Slot = {
    account: null,
    perform: (order, timeoutMs) =>
      new Promise((resolve) => {
        const cancel = clock.after(timeoutMs, () => end("timeout", null));
        settle = (jobEnd) => {
          settle = () => {};
          cancel();
          resolve(jobEnd);
        };
        try {
          worker.postMessage(order);
        } catch (error) {
          // What is no plain data cannot cross.
          settle({ bug: error as Error });
        }
      }),
    close: () => end("ended", null),
  };
  return slot;
}
