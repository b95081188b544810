// Counters of limits that several processes share, for the time without Valkey.
import type { Migration } from "./migration.ts";

export const sharedCounters: Migration = {
  number: 42,
  name: "shared counters",
  kind: "expansion",
  statements: ({ integer, text, strict }) => [
    // One row. The term rises whenever another place begins to count, or stops.
    `CREATE TABLE counter_place (
      id ${integer} PRIMARY KEY CHECK (id = 1),
      term ${integer} NOT NULL,
      mode ${text} NOT NULL,
      server ${text},
      epoch ${integer}
    )${strict}`,
    `CREATE TABLE counter_reports (
      epoch ${integer} PRIMARY KEY,
      term ${integer} NOT NULL,
      server ${text}
    )${strict}`,
    // A row without requests is a closing, whose time is its end.
    `CREATE TABLE counter_takes (
      counter ${text} NOT NULL,
      at ${integer} NOT NULL,
      epoch ${integer} NOT NULL,
      requests ${integer} NOT NULL,
      PRIMARY KEY (counter, at, epoch)
    )${strict}`,
    `CREATE TABLE counter_slots (
      service ${text} NOT NULL,
      epoch ${integer} NOT NULL,
      slots ${integer} NOT NULL,
      PRIMARY KEY (service, epoch)
    )${strict}`,
  ],
};
