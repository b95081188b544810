// Stored bytes by account, and the free space of the disk.
export { DiskSpace, readFreeBytes } from "./disk-space.ts";
export { storageStore } from "./store.ts";
