// The second script: pages that no decision needs. It shares the names of the first, main.tsx.
import { OpenedAgent } from "./agents/agent.tsx";
import { Agents } from "./agents/list.tsx";
import { Keys } from "./keys/keys.tsx";
import { LostSecret } from "./keys/secret.tsx";
import { Servers } from "./mcp/list.tsx";
import { OpenedServer } from "./mcp/server.tsx";
import { Models } from "./models/models.tsx";
import { pages } from "./pages.ts";
import { Playground } from "./playground/playground.tsx";
import { Requests } from "./requests/requests.tsx";
import { laterTexts } from "./texts/later.ts";
import { addTexts } from "./texts.ts";
import { Triggers } from "./triggers/list.tsx";
import { OpenedTrigger } from "./triggers/trigger.tsx";
import { Usage } from "./usage/usage.tsx";
import { OpenedWebhook } from "./webhooks/endpoint.tsx";
import { Webhooks } from "./webhooks/list.tsx";

addTexts(laterTexts);
pages.value = [
  ...pages.value,
  { path: "/console/agents", component: Agents },
  { path: "/console/agents/:id", component: OpenedAgent },
  { path: "/console/triggers", component: Triggers },
  { path: "/console/triggers/:id", component: OpenedTrigger },
  { path: "/console/webhooks", component: Webhooks },
  { path: "/console/webhooks/:id", component: OpenedWebhook },
  { path: "/console/mcp", component: Servers },
  { path: "/console/mcp/:id", component: OpenedServer },
  { path: "/console/requests", component: Requests },
  { path: "/console/requests/:id", component: Requests },
  { path: "/console/models", component: Models },
  { path: "/console/usage", component: Usage },
  { path: "/console/playground", component: Playground },
  { path: "/console/keys", component: Keys, beside: LostSecret },
];
