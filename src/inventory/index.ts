// Across the tables of all modules: ids by their parts, work that waits, and rows of an account.
export { ACCOUNT_PARTS, type AccountDeletion, accountDeletionStore } from "./accounts/store.ts";
export { activityStore } from "./activity/store.ts";
export { idStore, NAMED_KINDS, type ObjectKind, TOP } from "./ids/store.ts";
