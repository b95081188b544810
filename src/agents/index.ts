// The agent service: agents with versions, threads, runs and what they did.
export { openAgents } from "./opening.ts";
