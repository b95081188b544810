// The web console: one page for people, over the operator API.
export { bundleConsole, type ConsoleFiles } from "./bundle.ts";
export { packFiles } from "./packed-files.ts";
export { consoleRedirect, createConsoleRoutes } from "./page.ts";
