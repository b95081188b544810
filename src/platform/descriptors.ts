// File descriptors: whether enough of them are free for what must not fail half-way.
import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";

/** Says whether so many files could be opened now; it opens them and closes them again. */
export function hasFreeDescriptors(count: number): boolean {
  const opened: number[] = [];
  try {
    while (opened.length < count) opened.push(openSync(devNull, "r"));
    return true;
  } catch {
    return false;
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}
