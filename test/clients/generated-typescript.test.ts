// A client with types that `openapi-typescript` generates: it is type-checked, and sends requests
// to a server.
import { afterAll, beforeAll, expect, mock, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KEY, startApp, type TestApp } from "../support/app.ts";

/** Written from the types alone; each `never` is a missing variant. */
const PROGRAM = `
import type { components, operations, paths, webhooks } from "./api";

type Body<Path extends keyof paths> = paths[Path] extends {
  post: { requestBody?: { content: { "application/json": infer B } } };
} ? B : never;
type Schema<Name extends keyof components["schemas"]> = components["schemas"][Name];

declare const process: { argv: string[] };
const [base, key] = process.argv.slice(2);
async function ask<T>(method: string, path: string, body?: object): Promise<T> {
  const headers = { authorization: \`Bearer \${key}\` };
  const reply = await fetch(base + path, { method, headers, body: body && JSON.stringify(body) });
  if (!reply.ok) {
    const { error } = (await reply.json()) as Schema<"AgentError">;
    throw new Error(error.message);
  }
  return (await reply.json()) as T;
}

function tell(step: Schema<"RunStep">): string {
  switch (step.kind) {
    case "assistant":
      return \`says \${step.data.content}\`;
    case "tool_call":
      return \`calls \${step.data.name} (\${step.data.decision})\`;
    case "tool_result":
      return \`\${step.data.name} came to \${step.data.outcome}\`;
    case "approval":
      return step.data.event;
    case "system":
      return step.data.message;
    default:
      return step satisfies never;
  }
}

function follow(event: Schema<"RunEvent">): string {
  switch (event.type) {
    case "run.status":
      return event.status;
    case "step.completed":
      return tell(event.step);
    case "approval.requested":
    case "approval.decided":
      return event.approval.tool;
    case "message.delta":
      return event.text ?? event.tool_call?.arguments ?? "";
    case "message.snapshot":
      return event.text;
    case "run.completed":
    case "run.failed":
      return event.run.id;
    default:
      return event satisfies never;
  }
}

export type Told = webhooks["run.completed"]["post"]["requestBody"]["content"]["application/json"];
const readTold = ({ type, data }: Told): string => \`\${type satisfies "run.completed"} \${data.run?.id}\`;

const chat: Body<"/v1/chat/completions"> = {
  messages: [
    { role: "system", content: "Be brief." },
    { role: "user", content: [{ type: "text", text: "Hello" }] },
  ],
};
const reply = await ask<Schema<"ChatReply">>("POST", "/v1/chat/completions", chat);

const agent = await ask<Schema<"AgentDetail">>("POST", "/v1/agents", {
  name: "Clerk",
  system_prompt: "Be brief.",
  tools: ["calculator"],
} satisfies Body<"/v1/agents">);
const started = await ask<Schema<"Run">>("POST", \`/v1/agents/\${agent.id}/runs\`, {
  input: { message: '!tool calculator {"expression":"6*7"}' },
} satisfies Body<"/v1/agents/{id}/runs">);

const frames = await fetch(\`\${base}/v1/runs/\${started.id}/events\`, {
  headers: { authorization: \`Bearer \${key}\` },
});
const events = (await frames.text())
  .split("\\n")
  .filter((line) => line.startsWith("data: {"))
  .map((line) => JSON.parse(line.slice(6)) as Schema<"RunEvent">);

const ended: NonNullable<Schema<"Run">["status"]> = "succeeded";
type Query = NonNullable<operations["listRuns"]["parameters"]["query"]>;
const query: Query = { status: ended, limit: 5 };
const page = await ask<Schema<"RunPage">>(
  "GET",
  \`/v1/runs?\${new URLSearchParams(Object.entries(query).map(([name, one]) => [name, String(one)]))}\`,
);
const steps = await ask<Schema<"RunStepList">>("GET", \`/v1/runs/\${started.id}/steps\`);
console.log(
  JSON.stringify({
    said: reply.choices[0]!.message.content,
    runs: page.data.map(({ status }) => status),
    steps: steps.data.map(tell),
    events: events.map(follow).length,
    reads: readTold.length,
  }),
);
`;

/** The types refuse invalid fields. */
const MISTAKES = [
  'const status: components["schemas"]["Run"]["status"] = "done";',
  'const kind: components["schemas"]["RunStep"]["kind"] = "thought";',
  'const message: components["schemas"]["ChatMessage"] = { role: "developer", content: "x" };',
];

let app: TestApp;
let directory: string;
beforeAll(async () => {
  app = await startApp({ listens: true });
  directory = mkdtempSync(join(tmpdir(), "wadi-client-"));
  // The generator needs the API of an older compiler than this program's checker.
  mock.module("typescript", async () => ({ default: (await import("typescript-5")).default }));
  const { default: generate, astToString } = await import("openapi-typescript");
  const document = await (await app.get("/openapi.json", { key: null })).text();
  writeFileSync(join(directory, "api.d.ts"), astToString(await generate(document)));
});
afterAll(async () => {
  await app.stop();
  rmSync(directory, { recursive: true });
});

const OPTIONS = [
  ...["--ignoreConfig", "--noEmit", "--strict", "--skipLibCheck", "--types", ""],
  ...["--target", "esnext", "--module", "esnext", "--moduleResolution", "bundler"],
  ...["--lib", "esnext,dom,dom.iterable"],
];

/** The errors of programs beside the generated types. */
async function check(programs: Record<string, string>): Promise<string[]> {
  const files = Object.keys(programs).map((name) => join(directory, `${name}.ts`));
  for (const [n, text] of Object.values(programs).entries()) writeFileSync(files[n]!, text);
  const tsc = join(import.meta.dir, "../../node_modules/typescript/bin/tsc");
  const checked = Bun.spawn([process.execPath, tsc, ...OPTIONS, ...files], {
    stdout: "pipe",
    env: { ...process.env, BUN_BE_BUN: "1" },
  });
  const out = await new Response(checked.stdout).text();
  await checked.exited;
  return out.split("\n").filter((line) => line.includes("error TS"));
}

test("its types know every status, kind and role, and no other", async () => {
  const mistakes = `import type { components } from "./api";\n${MISTAKES.join("\n")}\n`;
  const errors = await check({ program: PROGRAM, mistakes });
  const lines = errors.map((line) => /(\w+)\.ts\((\d+),/.exec(line)?.slice(1));
  expect(lines).toEqual(["2", "3", "4"].map((line) => ["mistakes", line]));
});

test("it chats, and reads runs, steps and events by their types", async () => {
  writeFileSync(join(directory, "program.ts"), PROGRAM);
  const run = Bun.spawn([process.execPath, join(directory, "program.ts"), app.url, KEY], {
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, BUN_BE_BUN: "1" },
  });
  const [out, problem] = await Promise.all([
    new Response(run.stdout).text(),
    new Response(run.stderr).text(),
  ]);
  expect([await run.exited, problem]).toEqual([0, ""]);
  const { said, runs, steps, events } = JSON.parse(out);
  expect([said, runs]).toEqual(["You said: Hello", ["succeeded"]]);
  expect(steps).toEqual([
    expect.stringMatching(/^says /),
    "calls calculator (auto)",
    "calculator came to ok",
    expect.stringContaining("42"),
  ]);
  expect(events).toBeGreaterThan(steps.length);
});
