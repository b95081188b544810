// The Arabic table: a script of its own, which the page loads where Arabic is chosen.
import type { TextTable } from "../../languages.ts";
import { approvals } from "./approvals.ts";
import { shell } from "./shell.ts";

const texts: TextTable = { ...shell, ...approvals };
Object.assign(globalThis, { arabicTexts: texts });
