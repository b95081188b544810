// Pages of the sidebar, in its order.
import type { TextId } from "./texts.ts";

export interface NavigationItem {
  href: string;
  icon: string;
  text: TextId;
  /** Keys that go there. */
  key: string;
  isForApprovers?: true;
}

interface NavigationGroup {
  title: TextId | null;
  places: readonly NavigationItem[];
}

export const NAVIGATION: readonly NavigationGroup[] = [
  {
    title: null,
    places: [
      { href: "/console/", icon: "i-home", text: "page.home", key: "g h" },
      {
        ...{ href: "/console/approvals", icon: "i-inbox", text: "page.approvals", key: "g a" },
        isForApprovers: true,
      },
    ],
  },
  {
    title: "nav.agents",
    places: [
      { href: "/console/runs", icon: "i-runs", text: "page.runs", key: "g r" },
      { href: "/console/agents", icon: "i-agents", text: "page.agents", key: "g n" },
      { href: "/console/triggers", icon: "i-triggers", text: "page.triggers", key: "g t" },
      { href: "/console/webhooks", icon: "i-webhooks", text: "page.webhooks", key: "g w" },
      { href: "/console/mcp", icon: "i-tool", text: "page.mcp", key: "g s" },
    ],
  },
  {
    title: "nav.gateway",
    places: [
      { href: "/console/requests", icon: "i-requests", text: "page.requests", key: "g q" },
      { href: "/console/models", icon: "i-models", text: "page.models", key: "g m" },
      { href: "/console/usage", icon: "i-usage", text: "page.usage", key: "g u" },
      { href: "/console/playground", icon: "i-play", text: "page.playground", key: "g p" },
    ],
  },
  {
    title: "nav.access",
    places: [{ href: "/console/keys", icon: "i-keys", text: "page.keys", key: "g k" }],
  },
];
