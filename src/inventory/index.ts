// Reads across the tables of all modules: ids by their parts, and work that waits.
export { activityStore } from "./activity/store.ts";
export { idStore, type ObjectKind } from "./ids/store.ts";
