// Many who ask a server at once, again and again, while it is killed and started anew.
import type { RunServer } from "../bench/run-ground.ts";

export interface Crowd {
  /** null while it is down. */
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

/** A connection that was cut says nothing. */
const complainOfOurs = (failure: unknown): void => {
  if (failure instanceof Wrong) throw failure;
};
