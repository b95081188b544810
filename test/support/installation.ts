// An installation for tests that ask nothing of it.
import type { Installation } from "../../src/admin/index.ts";

const refuse = () => Promise.reject(new Error("this test has no installation"));

export const NO_INSTALLATION: Installation = {
  commands: { program: "wadi", needsServer: false },
  readVersion: refuse,
  readDocument: refuse,
  check: refuse,
  readCrash: () => null,
};
