// The tests' writer with its fail points armed, as in a test build.
import "./fail-points.ts";
import "./database-writer.ts";
