// Events that wait for delivery, written in the transaction of what happened.
export { type OutboxRow, outboxStore } from "./store.ts";
