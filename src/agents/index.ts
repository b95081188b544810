// The agent service: agents with versions, threads, runs and what they did.
export { type AgentBook, createAgentBook } from "./definitions/book.ts";
export { openAgents } from "./opening.ts";
