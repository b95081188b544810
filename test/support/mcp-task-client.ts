// A process that runs an agent as a task of MCP: prints the task as soon as it has it, its status
// whenever that changes, and the result. Arguments: URL, key, message,
// idempotency key.
import { openTasks } from "../clients/mcp-client.ts";

const [url, key, message, name] = process.argv.slice(2) as [string, string, string, string];
async function run(): Promise<void> {
  const session = await openTasks({ url, key }, "auto");
  const execution = await session.callTool(
    "payer",
    { message },
    { metadata: { "idempotency-key": name }, task: { preference: "require" } },
  );
  if (execution.kind !== "task") throw new Error("no task was made");
  console.log(JSON.stringify({ task: execution.handle.taskId }));
  for await (const update of execution.updates()) {
    if (update.type === "task") console.log(JSON.stringify({ status: update.task.status }));
    else {
      console.log(JSON.stringify({ outcome: update.outcome }));
      break;
    }
  }
  await session.close();
}
void run();
