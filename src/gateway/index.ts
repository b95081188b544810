// The gateway: what callers of the standard chat-completions format reach.
export { createChangesPage } from "./chat/changes-page.ts";
export { openChatRoutes } from "./chat/routes.ts";
export { createRunning } from "./chat/running.ts";
