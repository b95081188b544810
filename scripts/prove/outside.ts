// External faults that must neither end the server nor hide what it does, in sections.

import { proveClockAndDisk } from "./outside-clock-disk.ts";
import { proveCompute } from "./outside-compute.ts";
import { proveConnections } from "./outside-connections.ts";
import { proveData } from "./outside-data.ts";
import { proveNeighbours } from "./outside-neighbours.ts";
import { provePaths } from "./outside-paths.ts";
import type { Finding, Proof } from "./proof.ts";

const sections: readonly ((isLong: boolean) => Promise<Finding[]>)[] = [
  proveCompute,
  proveData,
  provePaths,
  proveClockAndDisk,
  proveNeighbours,
  proveConnections,
];

export const outside: Proof = {
  name: "outside",
  about: "no external fault ends the server silently or blocks it, and every loss is reported",
  async run(isLong) {
    const findings: Finding[] = [];
    for (const prove of sections) findings.push(...(await prove(isLong)));
    return findings;
  },
};
