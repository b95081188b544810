// The tests' writer with fail points enabled, as in a test build.
import "./fail-points.ts";
import "./database-writer.ts";
