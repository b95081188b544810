// All that comes from outside and must neither end the server nor hide what it does, in sections.

import { proveClockAndDisk } from "./outside-clock-disk.ts";
import { proveCompute } from "./outside-compute.ts";
import { proveConnections } from "./outside-connections.ts";
import { proveData } from "./outside-data.ts";
import { proveInnocents } from "./outside-innocents.ts";
import { provePaths } from "./outside-paths.ts";
import type { Finding, Proof } from "./proof.ts";

const sections: readonly ((isLong: boolean) => Promise<Finding[]>)[] = [
  proveCompute,
  proveData,
  provePaths,
  proveClockAndDisk,
  proveInnocents,
  proveConnections,
];

export const outside: Proof = {
  name: "outside",
  about: "nothing outside ends the server unsaid or holds it up, and what it lost is told",
  async run(isLong) {
    const findings: Finding[] = [];
    for (const prove of sections) findings.push(...(await prove(isLong)));
    return findings;
  },
};
