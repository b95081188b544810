// A new process takes the place of the running one on the same data, without a refused connection.

/*
 * The messages at the control socket. For each of the new process, Predecessor has a method of that
 * name, and so has Incumbent, which answers. `Predecessor.decide` answers those of the old one.
 *
 * | message     | from, to     | meaning                                                      |
 * |-------------|--------------|--------------------------------------------------------------|
 * | `ping`      | command, old | Are you alive?                                               |
 * | `live`      | command, old | What does the model of this run write?                       |
 * | `upgrade`   | command, old | Start a program that takes over.                             |
 * | `present`   | old, both    | Do you still wait? Asked before `upgrade` and `begin`.       |
 * | `begin`     | new, old     | I take over (`Newcomer`). Reply: `Incumbency`, or a refusal. |
 * | `change`    | new, old     | I listen next. Reply: `SharedLimits`, which count in me now. |
 * | `listening` | new, old     | Close your connections and begin no work.                    |
 * | `ready`     | new, old     | I serve. End your requests, then yourself.                   |
 * | `failed`    | new, old     | I do not take over, for this reason.                         |
 * | `claim`     | old, new     | Count a request in a rate limit.                             |
 * | `take`      | old, new     | Take a slot of a shared service.                             |
 * | `release`   | old, new     | Give that slot back.                                         |
 * | `report`    | started, old | An upgrade's process has failed, perhaps before `begin`.     |
 *
 * `ping`, `live`, `upgrade` and `report` have connections of their own. The end of the connection
 * of the others takes everything back, as long as the old process still can.
 */
export type { AnswerChannel } from "./channel.ts";
export {
  canTakeOver,
  connectToControl,
  listenForControl,
  placeControlSocket,
} from "./control-socket.ts";
export { TakeoverRefused } from "./errors.ts";
export { createHandover, type Handover } from "./handover.ts";
export { Incumbent, START_MS_MAX } from "./incumbent.ts";
export { Predecessor } from "./predecessor.ts";
export { openProcesses } from "./processes.ts";
