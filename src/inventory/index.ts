// Reads across the tables of all modules: ids by their parts.
export { idStore, type ObjectKind } from "./ids/store.ts";
