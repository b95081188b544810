// The installation that a database is: its identity, and whether it is paused.
export { type InstallationRow, installationStore } from "./store.ts";
