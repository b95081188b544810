// The Worker's side of the tasks; each loads its code at its first use.
import { implementTask } from "../../compute/index.ts";
import { ARGUMENTS, CALCULATION, PAGE, SCHEMA } from "./compute-tasks.ts";

const loadParameters = () => import("./json-schema/parameters.ts");

export const toolComputations = [
  implementTask(CALCULATION, async (text) => {
    const { calculate } = await import("./calculator/calculate.ts");
    return calculate(text);
  }),
  implementTask(PAGE, async (input) => {
    const { readPage } = await import("./page/page-text.ts");
    return readPage(input);
  }),
  implementTask(SCHEMA, async (parameters) => {
    const { findSchemaProblem } = await loadParameters();
    return findSchemaProblem(parameters);
  }),
  implementTask(ARGUMENTS, async ({ parameters, text, faultsMax, root }) => {
    const { findFaults } = await loadParameters();
    return findFaults(parameters, JSON.parse(text), faultsMax, root);
  }),
];
