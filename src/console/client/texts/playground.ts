// Sentences of the playground.
import { writeCount } from "./plural.ts";
export const playground = {
  "playground.conversation": "Conversation",
  "playground.parameters": "Parameters",
  "playground.empty":
    "Write a message. It is sent as the chosen key: its permissions, limits and budgets apply, " +
    "and the request log says that you sent it.",
  "playground.no_keys": "No account has a key in force.",
  "playground.clear": "New conversation",
  "playground.message": "Message",
  "playground.send": "send",
  "playground.send.verb": "Send",
  "playground.line": "new line",
  "playground.stop": "Stop",
  "playground.role.system": "System",
  "playground.role.user": "You",
  "playground.role.assistant": "Model",
  "playground.running": "Writing",
  "playground.stopped": "Stopped",
  "playground.first": (time: string) => `first token ${time}`,
  "playground.took": (time: string) => `took ${time}`,
  "playground.ms": (ms: number) => `${ms} ms`,
  "playground.s": (seconds: number) => `${seconds.toFixed(1)} s`,
  "playground.tokens": (read: number, written: number) =>
    `${writeCount(read)} tokens in, ${writeCount(written)} out`,
  "playground.estimated": "(estimated)",
  "playground.no_price": "no price",
  "playground.request.of": (id: string) => `Request ${id}`,
  "playground.key.end": (name: string, end: string) => `${name} · …${end}`,
  "playground.model": "Model",
  "playground.model.default": "Default model",
  "playground.model.of": (id: string) => `Default model, ${id}`,
  "playground.system": "System prompt",
  "playground.temperature": "Temperature",
  "playground.max_tokens": "Maximum tokens",
  "playground.request": "Request",
  "playground.curl": "Copy as curl",
} as const;
