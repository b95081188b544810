// Fills a database with as many final runs as years of use would leave.
import { Database as Connection, type SQLQueryBindings } from "bun:sqlite";

/** Every n-th run belongs to another account. */
const OTHERS_EVERY = 10;
const OTHER_ACCOUNTS = 50;
const AGENTS = 20;
/** The youngest is older than the day in which starts are counted. */
const YOUNGEST_MS = 30 * 3_600_000;
const SPAN_MS = 300 * 86_400_000;
const DAY_MS = 86_400_000;
/** Only of the youngest runs the events are still kept. */
const EVENTS_SHARE = 0.1;
const COMMIT_EVERY = 20_000;

const words = "The quick brown fox jumps over the lazy dog and goes home to sleep. ";
const QUESTION = words.repeat(2).trim();
const ANSWER = words.repeat(4).trim();
const PRICES = { prompt: "0.500000", completion: "1.500000" };

export interface Filling {
  file: string;
  /** Owns nearly all of it. */
  account_id: string;
  runs: number;
  /** Every n-th run has its ten steps; with all of them a file would take minutes. */
  steps_every: number;
}

export interface Filled {
  /** For the account, the first of those with the most runs. */
  agents: string[];
  /** A run with all its steps. */
  run_id: string;
  thread_id: string;
}

type Row = Record<string, SQLQueryBindings>;

/** Inserts rows of one table; the columns are those of its first row. */
function createInserter(connection: Connection, table: string) {
  let insert: ((row: Row) => void) | undefined;
  return (row: Row) => {
    if (!insert) {
      const columns = Object.keys(row);
      const marks = columns.map(() => "?").join(", ");
      const statement = connection.prepare(
        `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${marks})`,
      );
      insert = (values) => void statement.run(...Object.values(values));
    }
    insert(row);
  };
}

/** The file has been opened by the program before, and is not open now. */
export function fillRuns({ file, account_id, runs, steps_every }: Filling): Filled {
  using connection = new Connection(file);
  for (const pragma of ["synchronous = OFF", "cache_size = -262144", "temp_store = MEMORY"]) {
    connection.run(`PRAGMA ${pragma}`);
  }
  const tables = [
    ...["agents", "agent_versions", "threads", "messages", "runs", "steps", "run_counts"],
    ...["run_days", "outbox"],
  ] as const;
  const into = Object.fromEntries(
    tables.map((table) => [table, createInserter(connection, table)]),
  ) as Record<(typeof tables)[number], (row: Row) => void>;
  const begin = Date.now() - YOUNGEST_MS - SPAN_MS;
  const owners = [account_id, ...Array.from({ length: OTHER_ACCOUNTS }, () => makeId(begin))];
  const accounts = owners.map((id) => new Account(id, begin));
  let last: Filled = { agents: [], run_id: "", thread_id: "" };

  connection.run("BEGIN");
  for (const { id, agents } of accounts) {
    for (const agent of agents) {
      into.agents(makeAgent(agent, id, begin));
      into.agent_versions(makeVersion(agent, begin));
    }
  }
  for (let n = 0; n < runs; n++) {
    const at = begin + Math.floor((n / runs) * SPAN_MS);
    const isOther = n % OTHERS_EVERY === OTHERS_EVERY - 1;
    const account = accounts[isOther ? 1 + (n % OTHER_ACCOUNTS) : 0]!;
    const run = makeRun(account, n, at);
    into.threads(makeThread(run));
    for (const message of makeMessages(run)) into.messages(message);
    into.runs(run);
    if (n % steps_every === 0) {
      for (const step of makeSteps(run)) into.steps(step);
      if (!isOther) last = { agents: account.agents, run_id: run.id, thread_id: run.thread_id };
    }
    if (n >= runs * (1 - EVENTS_SHARE)) into.outbox(makeEvent(run));
    if (n % COMMIT_EVERY === COMMIT_EVERY - 1) connection.run("COMMIT; BEGIN");
  }
  for (const { id, started, days, last_created_at } of accounts) {
    into.run_counts({ account_id: id, started, active: 0, last_created_at });
    for (const day of days.values()) into.run_days(day);
  }
  connection.run("COMMIT");
  connection.run("PRAGMA wal_checkpoint(TRUNCATE)");
  return last;
}

const makeId = (at: number) => Bun.randomUUIDv7("hex", at);

class Account {
  readonly agents: string[];
  readonly days = new Map<string, Record<string, string | number>>();
  started = 0;
  last_created_at = 0;
  constructor(
    readonly id: string,
    at: number,
  ) {
    this.agents = Array.from({ length: AGENTS }, () => makeId(at));
  }
}

const FINALS = ["failed", "cancelled", "budget_exceeded"] as const;

/** Nine of ten went well; one in a hundred was fired by a clock. */
function makeRun(account: Account, n: number, at: number) {
  const status = n % 10 === 3 ? FINALS[((n / 10) % 3) | 0]! : "succeeded";
  // Half of them are of the first agent, few of the last.
  const agent_id = account.agents[Math.min(AGENTS - 1, Math.floor(Math.log2((n % 65_536) + 1)))]!;
  const agent = n % 2 === 0 ? account.agents[0]! : agent_id;
  const usage = { prompt: 300 + (n % 100), completion: 60 + (n % 30) };
  const run = {
    ...{ id: makeId(at), agent_id: agent, version: 1, thread_id: makeId(at), status },
    ...{ cancel_requested: status === "cancelled" ? 1 : 0 },
    ...{ trigger_kind: n % 100 === 7 ? "cron" : "manual", trigger_id: null, fire_id: null },
    input: JSON.stringify({ message: `${n} ${QUESTION}` }),
    output: JSON.stringify({ message: ANSWER }),
    error: status === "succeeded" ? null : JSON.stringify({ code: status, message: "It ended." }),
    ...{ cost_model: 250, cost_tools: 0, cost_total: 250 },
    cost_prices: JSON.stringify({ currency: "SAR", models: { mock: PRICES }, tools: {} }),
    ...{ usage_prompt_tokens: usage.prompt, usage_completion_tokens: usage.completion },
    usage_total_tokens: usage.prompt + usage.completion,
    ...{ usage_rounds: 3, usage_tool_calls: 2, external_content: 0, pending_approvals: "[]" },
    ...{ metadata: '{"order":"1234"}', started_by_key_id: account.id, recoveries: 0 },
    ...{ created_at: at, started_at: at + 2, finished_at: at + 4_000, account_id: account.id },
    ...{ number: ++account.started, epoch: 0, last_seq: 10, message_seq: 6, model: "mock" },
    budgets:
      '{"max_cost_sar":null,"max_rounds":25,"max_tool_calls":null,"max_total_tokens":null,' +
      '"max_run_seconds":null}',
    ...{ priced: 250, worked_ms: 3_900 },
  };
  account.last_created_at = at;
  addToDay(account, run.finished_at, run);
  return run;
}
type Run = ReturnType<typeof makeRun>;

function addToDay(account: Account, at: number, run: Run): void {
  const day = new Date(Math.floor(at / DAY_MS) * DAY_MS).toISOString().slice(0, 10);
  const name = `${day} ${run.agent_id}`;
  const sums = account.days.get(name) ?? {
    ...{ account_id: account.id, day, agent_id: run.agent_id, runs: 0, succeeded: 0, failed: 0 },
    ...{ budget_exceeded: 0, cancelled: 0, prompt_tokens: 0, completion_tokens: 0 },
    ...{ total_tokens: 0, tool_calls: 0, cost_sar: 0, unpriced_runs: 0 },
  };
  account.days.set(name, sums);
  const add = (field: string, more: number) => {
    sums[field] = Number(sums[field]) + more;
  };
  for (const field of ["runs", run.status]) add(field, 1);
  add("prompt_tokens", run.usage_prompt_tokens);
  add("completion_tokens", run.usage_completion_tokens);
  add("total_tokens", run.usage_total_tokens);
  add("tool_calls", run.usage_tool_calls);
  add("cost_sar", run.cost_total);
}

const makeAgent = (id: string, account_id: string, at: number): Row => ({
  ...{ id, account_id, name: `Agent ${id.slice(-6)}`, slug: `agent-${id}`, description: null },
  ...{ status: "active", current_version: 1, metadata: "{}", created_at: at, updated_at: at },
  archived_at: null,
});

const makeVersion = (agent_id: string, created_at: number): Row => ({
  ...{ agent_id, version: 1, system_prompt: "You help in a few words.", model: null },
  ...{ tools: '["calculator"]' },
  tool_revisions: '[{"name":"calculator","revision":1,"kind":"builtin","risk":"read"}]',
  policy:
    '{"approval_ttl_seconds":86400,"unattended_writes":false,"writes_after_external_content":' +
    '"require_approval","require_approval":[],"on_approval_expired":"continue",' +
    '"on_unknown_outcome":"ask"}',
  budgets:
    '{"max_cost_sar":null,"max_rounds":25,"max_tool_calls":null,"max_total_tokens":null,' +
    '"max_run_seconds":null}',
  model_params: '{"temperature":null,"top_p":null,"max_tokens":null,"reasoning":null}',
  ...{ created_at, created_by_key_id: null },
});

const makeThread = ({ thread_id, account_id, agent_id, created_at }: Run): Row => ({
  ...{ id: thread_id, account_id, agent_id, title: null, external_content: 0, created_at },
});

/** Question and answer; what lies between would only make the file long. */
const makeMessages = (run: Run): Row[] =>
  (["user", "assistant"] as const).map((role, at) => ({
    ...{ thread_id: run.thread_id, seq: at + 1, id: makeId(run.created_at), run_id: run.id, role },
    ...{ content: at === 0 ? QUESTION : ANSWER, tool_calls: null, tool_call_id: null },
    ...{ external: 0, created_at: run.created_at },
  }));

const STEP = JSON.stringify({
  ...{ content: words, tool_calls: [], finish_reason: "stop", model: "mock" },
  usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
  ...{ cost: "0.000080", duration_ms: 700 },
});

const makeSteps = (run: Run): Row[] =>
  Array.from({ length: run.last_seq }, (_, at) => ({
    ...{ run_id: run.id, seq: at + 1, id: makeId(run.created_at), kind: "assistant" },
    ...{ round: 1 + Math.floor(at / 4), created_at: run.created_at, data: STEP, status: "running" },
  }));

const makeEvent = ({ id, account_id, status, finished_at }: Run): Row => ({
  ...{ id: makeId(finished_at), account_id, created_at: finished_at },
  type: status === "succeeded" ? "run.completed" : "run.failed",
  data: JSON.stringify({ run: { id, status, output: ANSWER } }),
});
