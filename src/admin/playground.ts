// The playground: an operator chats as a key, and everything that binds the key binds this, too.
import type { Actor } from "./audit.ts";
import type { AdminDeps } from "./deps.ts";
import { AdminError, requireById } from "./errors.ts";

export interface PlaygroundChat {
  /** Id of the key. */
  key: string;
  /** Body of the chat, which the gateway checks. */
  body: unknown;
}

export function createPlayground({ access, server }: Pick<AdminDeps, "access" | "server">) {
  return {
    /** Returns the gateway's reply as it is, refusals too; `from` is the operator's request. */
    async chat({ key, body }: PlaygroundChat, { name }: Actor, from?: Request): Promise<Response> {
      const { id } = await requireById("key", key, access.keys.findById);
      if (!server || !from) {
        throw new AdminError("a chat needs a running server: name it with --server", "conflict");
      }
      return server.sendChat(from, body, { key_id: id, operator: name });
    },
  };
}
