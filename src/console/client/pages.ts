// Pages of the console by their path.
import type { FunctionComponent } from "preact";
import { OpenedAgent } from "./agents/agent.tsx";
import { Agents } from "./agents/list.tsx";
import { Approvals } from "./approvals/approvals.tsx";
import { Home } from "./home/home.tsx";
import { Keys } from "./keys/keys.tsx";
import { Models } from "./models/models.tsx";
import { Playground } from "./playground/playground.tsx";
import { Requests } from "./requests/requests.tsx";
import { RunPage } from "./run/run.tsx";
import { Runs } from "./runs/runs.tsx";
import { Triggers } from "./triggers/list.tsx";
import { OpenedTrigger } from "./triggers/trigger.tsx";
import { Usage } from "./usage/usage.tsx";
import { OpenedWebhook } from "./webhooks/endpoint.tsx";
import { Webhooks } from "./webhooks/list.tsx";

interface PageRoute {
  path: string;
  component: FunctionComponent;
  isForApprovers?: true;
}

export const PAGES: readonly PageRoute[] = [
  { path: "/console", component: Home },
  { path: "/console/approvals", component: Approvals, isForApprovers: true },
  { path: "/console/approvals/:id", component: Approvals, isForApprovers: true },
  { path: "/console/runs", component: Runs },
  { path: "/console/runs/:id", component: RunPage },
  { path: "/console/agents", component: Agents },
  { path: "/console/agents/:id", component: OpenedAgent },
  { path: "/console/triggers", component: Triggers },
  { path: "/console/triggers/:id", component: OpenedTrigger },
  { path: "/console/webhooks", component: Webhooks },
  { path: "/console/webhooks/:id", component: OpenedWebhook },
  { path: "/console/requests", component: Requests },
  { path: "/console/requests/:id", component: Requests },
  { path: "/console/models", component: Models },
  { path: "/console/usage", component: Usage },
  { path: "/console/playground", component: Playground },
  { path: "/console/keys", component: Keys },
];
