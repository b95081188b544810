// The agent service: agents and their versions, threads, runs with their steps, events and sums.
export { type Agents, openAgents } from "./opening.ts";
