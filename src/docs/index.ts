// The documentation: topics for the command line, and their pages for browsers.
export { createDocsPages } from "./pages.ts";
export { listTopics, type References } from "./topics.ts";
