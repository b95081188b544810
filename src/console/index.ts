// The web console: one page for people, over the operator API.
export { bundleConsole } from "./bundle.ts";
export { createConsolePages } from "./page.ts";
