// Pages of the console by their path: those of the first script, until the second adds its own.
import { signal } from "@preact/signals";
import type { FunctionComponent } from "preact";
import { Approvals } from "./approvals/approvals.tsx";
import { Home } from "./home/home.tsx";
import { RunPage } from "./run/run.tsx";
import { Runs } from "./runs/runs.tsx";

export interface PageRoute {
  path: string;
  component: FunctionComponent;
  /** Shown beside every page. */
  beside?: FunctionComponent;
  isForApprovers?: true;
}

const FIRST: readonly PageRoute[] = [
  { path: "/console", component: Home },
  { path: "/console/approvals", component: Approvals, isForApprovers: true },
  { path: "/console/approvals/:id", component: Approvals, isForApprovers: true },
  { path: "/console/runs", component: Runs },
  { path: "/console/runs/:id", component: RunPage },
];

export const pages = signal(FIRST);
export const areAllLoaded = (): boolean => pages.value !== FIRST;
