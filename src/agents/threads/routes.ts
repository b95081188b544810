// Routes of threads: list, read, and messages.
import { Type } from "@sinclair/typebox";
import { accountOf, type Caller } from "../../access/index.ts";
import {
  IdParams,
  NEXT_BEFORE,
  PageQuery,
  type Router,
  readPage,
  streamNumbered,
  Uuid,
} from "../../http/index.ts";
import { apiError } from "../../platform/errors.ts";
import { Resource, show } from "../../platform/schema.ts";
import type { RunsDeps } from "../runs/deps.ts";
import { type FoundThread, threadStore } from "./store.ts";
import { Message, type MessageRow, Thread } from "./thread.ts";

/** agents.limits.thread_messages */
const MESSAGES_MAX = 500;

const ThreadsQuery = Type.Object({
  agent_id: Type.Optional(Uuid("Only threads of this agent.")),
  ...PageQuery("At most so many."),
});

const MessagesQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({
      description: "Only the last so many; left out: every message.",
      minimum: 1,
      maximum: MESSAGES_MAX,
    }),
  ),
});

const ThreadList = Resource(
  "ThreadList",
  {
    data: Type.Array(Thread, { description: "Newest first." }),
    next_before: NEXT_BEFORE,
  },
  "A page of threads.",
);
const MessageList = Resource(
  "MessageList",
  { data: Type.Array(Message, { description: "In order." }) },
  "Messages of a thread.",
);

type ThreadsDeps = Pick<RunsDeps, "database" | "log" | "requireOwned">;

export function openThreadRoutes(router: Router, deps: ThreadsDeps): void {
  openList(router, deps);
  openReads(router, deps);
}

function openList(router: Router, { database, requireOwned }: ThreadsDeps): void {
  const threads = database.bind(threadStore);
  router.get(
    "/v1/threads",
    {
      summary: "List threads",
      scope: "agents",
      query: ThreadsQuery,
      replies: { 200: { description: "Threads, newest first.", schema: ThreadList } },
      refusals: ["agent_not_found"],
    },
    async ({ query, caller }) => {
      const account_id = accountOf(caller);
      const { agent_id = null, limit, before } = query;
      const page = await readPage({
        name: `threads of ${agent_id ?? account_id}`,
        limit,
        before,
        async read(part) {
          // agents.authentication.6: applies to ids in filters too.
          if (agent_id !== null) await requireOwned.agent(agent_id, account_id);
          return threads.list({ account_id, agent_id, ...part });
        },
        show: showThread,
      });
      return [200, page];
    },
  );
}

function openReads(router: Router, { database, log }: ThreadsDeps): void {
  const threads = database.bind(threadStore);
  /** agents.authentication.6, agents.errors.thread_not_found */
  const require = async (id: string, caller: Caller): Promise<FoundThread> => {
    const found = await threads.find(id, accountOf(caller));
    if (!found) throw apiError("thread_not_found");
    return found;
  };
  // agents.endpoints.threads.get_threads_id
  router.get(
    "/v1/threads/:id",
    {
      summary: "Read a thread",
      scope: "agents",
      params: IdParams,
      replies: { 200: { description: "The thread.", schema: Thread } },
      refusals: ["thread_not_found"],
    },
    async ({ params, caller }) => [200, showThread(await require(params.id, caller))],
  );
  // agents.endpoints.threads.get_threads_id_messages
  router.get(
    "/v1/threads/:id/messages",
    {
      summary: "Read a thread's messages",
      scope: "agents",
      params: IdParams,
      query: MessagesQuery,
      replies: { 200: { description: "Messages in order.", schema: MessageList } },
      refusals: ["thread_not_found"],
    },
    async ({ params, query, caller, request, requestId }) => {
      const { id, message_count } = await require(params.id, caller);
      const first = query.limit === undefined ? 0 : Math.max(0, message_count - query.limit);
      const rows = {
        after: first,
        until: message_count,
        list: (after: number, limit: number) => threads.listMessages(id, after, limit),
        show: (row: MessageRow) => show(Message, row),
      };
      return streamNumbered(rows, { request, requestId, log });
    },
  );
}

/** agents.limits.one_run_per_thread */
function showThread(thread: FoundThread) {
  return show(Thread, { ...thread, status: thread.active_run_id === null ? "idle" : "busy" });
}
