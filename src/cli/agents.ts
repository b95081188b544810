// `wadi agents`: agents of every account and their holds.
import { evaluationOperations, agentOperations as operations } from "../admin/index.ts";
import {
  account,
  type Command,
  hasFlag,
  holdReason,
  limit,
  readLimit,
  readList,
  readNumber,
  readText,
  UsageError,
} from "./command.ts";
import { drawDiff } from "./comparisons.ts";
import { evaluate, evaluation } from "./evaluation.ts";
import { readJsonFile } from "./file-input.ts";
import { call } from "./operations.ts";
import {
  drawRow,
  layOutTable,
  type OutputRow,
  printRow,
  printTable,
  quoteWhole,
} from "./output.ts";

const COLUMNS = [
  ...["id", "account", "slug", "name", "status", "current_version", "created_at"],
  ...["held", "held_since", "hold_reason"],
];

const TOOL_COLUMNS = ["name", "revision", "kind", "risk", "decision", "why", "is_off", "title"];
const EVALUATION_COLUMNS = ["id", "version", "tools", "status", "done", "total", "created_at"];
const VERSION_COLUMNS = ["version", "created_at", "model", "created_by_key_id"];

export const commands: readonly Command[] = [
  {
    name: "agents create",
    args: ["NAME"],
    flags: {
      key: { takes: "KEY_ID", help: "key that makes it, and whose account owns it" },
      prompt: { takes: "TEXT", help: "system prompt, which begins every conversation" },
      tool: { takes: "NAME", multiple: true, help: "tool that it may call; repeatable" },
      "output-schema": { takes: "FILE", help: "JSON Schema that its answers fit" },
      expose: { help: "let clients of /mcp find it as a tool" },
    },
    help: "Create an agent for a key",
    example: 'wadi agents create Noter --key 2b8d1f6e0a11 --prompt "Keep notes." --tool memory_set',
    async run(input, output) {
      const [key, system_prompt] = [readText(input, "key"), readText(input, "prompt")];
      if (!key || !system_prompt) {
        throw new UsageError("agents create takes --key KEY_ID and --prompt TEXT");
      }
      const tools = [...readList(input, "tool")];
      const output_schema = await readJsonFile(input, "output-schema");
      const request = {
        ...{ key, name: input.args[0]!, system_prompt, tools, output_schema },
        ...(hasFlag(input, "expose") && { expose: true }),
      };
      return printRow(output, await call(input, operations.create, request));
    },
  },
  {
    name: "agents list",
    flags: { account },
    help: "List agents and their holds",
    example: "wadi agents list --account acme",
    async run(input, output) {
      const found = await call(input, operations.list, {
        account: readText(input, "account"),
      });
      const lines = found.map((row) => ({ ...row, name: quoteWhole(row.name) }));
      return printTable(output, found, COLUMNS, lines);
    },
  },
  {
    name: "agents show",
    args: ["AGENT_ID"],
    flags: { version: { takes: "N", help: "number of the version (default the current one)" } },
    help: "Show a version, and what its policy does with tools",
    example: "wadi agents show 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11 --version 3",
    async run(input, output) {
      const request = { id: input.args[0]!, version: readNumber(input, "version") };
      const { tools, version, ...agent } = await call(input, operations.show, request);
      const { system_prompt, policy, budgets, model_params, ...rest } = version as OutputRow;
      const head = drawRow({
        ...agent,
        name: quoteWhole(agent.name),
        description: agent.description && quoteWhole(agent.description),
        ...{ version: rest.version, model: rest.model, version_created_at: rest.created_at },
        ...{ policy: quoteWhole(policy), budgets: quoteWhole(budgets) },
        ...{ model_params: quoteWhole(model_params), system_prompt: quoteWhole(system_prompt) },
      });
      const lines = tools.map((row) => ({ ...row, title: row.title && quoteWhole(row.title) }));
      output.print(
        { ...agent, version, tools },
        `${head}\n${layOutTable(output, lines, TOOL_COLUMNS)}`,
      );
      return 0;
    },
  },
  {
    name: "agents versions",
    args: ["AGENT_ID"],
    flags: { limit },
    help: "List an agent's newest versions",
    example: "wadi agents versions 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11 --limit 5",
    async run(input, output) {
      const request = { id: input.args[0]!, limit: readLimit(input) };
      const found = await call(input, operations.listVersions, request);
      return printTable(output, found, VERSION_COLUMNS);
    },
  },
  {
    name: "agents diff",
    args: ["AGENT_ID", "VERSION", "OTHER"],
    help: "Show in which fields two versions differ",
    example: "wadi agents diff 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11 2 3",
    async run(input, output) {
      const [id, ...typed] = input.args as [string, string, string];
      const [from, to] = typed.map(Number) as [number, number];
      if (!Number.isInteger(from) || !Number.isInteger(to)) {
        throw new UsageError("VERSION and OTHER are whole numbers");
      }
      const found = await call(input, operations.diff, { id, from, to });
      output.print(found, drawDiff(found));
      return 0;
    },
  },
  evaluate,
  {
    name: "agents evaluations",
    args: ["AGENT_ID"],
    flags: { limit },
    help: "List an agent's newest evaluations",
    example: "wadi agents evaluations 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11 --limit 5",
    async run(input, output) {
      const request = { id: input.args[0]!, limit: readLimit(input) };
      const found = await call(input, evaluationOperations.list, request);
      return printTable(output, found, EVALUATION_COLUMNS);
    },
  },
  evaluation,
  {
    name: "agents hold",
    args: ["AGENT_ID"],
    flags: { reason: holdReason },
    help: "Keep new runs of an agent from starting",
    example: 'wadi agents hold 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11 --reason "Runs in circles"',
    async run(input, output) {
      const [id] = input.args as [string];
      const reason = readText(input, "reason");
      return printRow(output, await call(input, operations.hold, { id, reason }));
    },
  },
  {
    name: "agents release",
    args: ["AGENT_ID"],
    help: "End a hold and start the runs that wait for it",
    example: "wadi agents release 0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11",
    isUnsuggested: true,
    async run(input, output) {
      const [id] = input.args as [string];
      const { was_held, ...released } = await call(input, operations.release, { id });
      if (!was_held) output.say("it was not held");
      return printRow(output, released);
    },
  },
];
