// A new process takes the place of the running one on the same data, without a refused connection.
export {
  canTakeOver,
  connectToControl,
  listenForControl,
  placeControlSocket,
} from "./control-socket.ts";
export { TakeoverRefused } from "./errors.ts";
export { createHandover, type Handover } from "./handover.ts";
export { Incumbent } from "./incumbent.ts";
export { Predecessor } from "./predecessor.ts";
