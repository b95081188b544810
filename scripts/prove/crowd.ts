// Many callers that send requests to a server while it is repeatedly killed and restarted.
import type { RunServer } from "../bench/run-fixture.ts";

export interface Crowd {
  /** The server; null while it is down. */
  server: RunServer | null;
  isOver: boolean;
}

/** A fault of the proof, or a finding: anything but a connection that was cut. */
export class Wrong extends Error {}

/** Repeats an action against the current server; a dead one is no failure. */
export const repeat = async <C extends Crowd>(
  crowd: C,
  act: (crowd: C, server: RunServer) => Promise<void>,
): Promise<void> => {
  while (!crowd.isOver) {
    const { server } = crowd;
    if (server) await act(crowd, server).catch(complainOfOurs);
    else await Bun.sleep(2);
  }
};

/** A broken connection proves nothing. */
const complainOfOurs = (failure: unknown): void => {
  if (failure instanceof Wrong) throw failure;
};
