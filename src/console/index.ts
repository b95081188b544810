// The web console: one page for people, over the operator API.
export { bundleConsole } from "./bundle.ts";
export { type ConsoleFiles, packFiles } from "./packed-files.ts";
export { consoleRedirect, createConsoleRoutes } from "./page.ts";
