// Kills a server at random while 64 callers use a budget of tokens and one of money to their ends.
import { join } from "node:path";
import { buildWadi, type Child, launch, makeScratch, readUntil, runWadi } from "../bench/stage.ts";
import { atLeast, atMost, type Finding, measured, type Proof } from "./proof.ts";

const KILLS = 12;
const KILLS_LONG = 60;
const CALLERS = 64;
const LIFE_MS_LEAST = 300;
const LIFE_MS_MAX = 1_500;
/** What a kill charges at most: every caller's request in full. */
const PROMPT_MAX = 100;
const MAX_TOKENS_MAX = 400;
const CHARGED_BY_KILL = CALLERS * (PROMPT_MAX + MAX_TOKENS_MAX);
/** Micro-SAR, at the prices of the settings. */
const COST_BY_KILL = CALLERS * (PROMPT_MAX + 2 * MAX_TOKENS_MAX);
const TOKENS_BESIDE = 400_000;
const COST_BESIDE = 700_000;
/** One in so many callers leaves early, and so many replies break. */
const ODD = 10;
const LEAVE_MS_MAX = 40;
const ANSWER_MS_MAX = 60;

const writeSettings = (url: string) => `
[limits]
requests_per_minute = 1000000

[[models]]
id = "test-1"
self_hosted = true
capabilities = ["streaming"]
price = { prompt = "1.00", completion = "2.00" }
[models.upstream]
kind = "openai"
urls = ["${url}/v1"]
`;

type Account = "tokens" | "money";

/** What the model server has done for one account, as only it knows. */
interface Work {
  asked: number;
  tokens: number;
  cost: number;
  /** Parts of both that whole replies have reported: what can be no estimate. */
  reportedTokens: number;
  reportedCost: number;
}

interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
}

interface ModelServer {
  url: string;
  work: Record<Account, Work>;
  stop(): Promise<void>;
}

interface ChatBody {
  messages: { content: string }[];
  max_tokens: number;
  stream: boolean;
}

const draw = (bound: number) => Math.floor(Math.random() * bound);
const makeWork = (): Work => ({
  ...{ asked: 0, tokens: 0, cost: 0 },
  ...{ reportedTokens: 0, reportedCost: 0 },
});

/** A model server that counts prompts exactly and keeps to `max_tokens`. */
const startModelServer = (): ModelServer => {
  const work = { tokens: makeWork(), money: makeWork() };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      if (!pathname.endsWith("/tokenize") && !pathname.endsWith("/chat/completions")) {
        return new Response(null, { status: 404 });
      }
      const { messages, max_tokens, stream } = (await request.json()) as ChatBody;
      const [account, size] = messages.at(-1)!.content.split(" ") as [Account, string];
      const prompt = Number(size);
      if (pathname.endsWith("/tokenize")) return Response.json({ count: prompt });
      const own = work[account];
      own.asked++;
      own.tokens += prompt;
      own.cost += prompt;
      // Half of the replies are as long as they may be.
      const tokens = draw(2) === 0 ? max_tokens : 1 + draw(max_tokens);
      await Bun.sleep(draw(ANSWER_MS_MAX));
      const usage = { prompt_tokens: prompt, completion_tokens: tokens };
      if (!stream) {
        if (request.signal.aborted) return new Response();
        own.tokens += tokens;
        own.cost += 2 * tokens;
        report(own, usage);
        return Response.json({
          choices: [
            { index: 0, message: { role: "assistant", content: "Good" }, finish_reason: "stop" },
          ],
          usage,
        });
      }
      return answerStream(request.signal, own, usage, draw(ODD) === 0);
    },
  });
  const stop = () => server.stop(true);
  return { url: `http://127.0.0.1:${server.port}`, work, stop };
};

const report = (own: Work, { prompt_tokens, completion_tokens }: Usage): void => {
  own.reportedTokens += prompt_tokens + completion_tokens;
  own.reportedCost += prompt_tokens + 2 * completion_tokens;
};

/** Writes a word for each token; a broken reply ends in the middle, without usage. */
const answerStream = (signal: AbortSignal, own: Work, usage: Usage, isBroken: boolean) => {
  const { completion_tokens } = usage;
  const end = isBroken ? Math.ceil(completion_tokens / 2) : completion_tokens;
  const write = (delta: object, more: object = {}) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`;
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const encoder = new TextEncoder();
      const part = Math.min(end - sent, 20);
      if (part > 0 && !signal.aborted) {
        await Bun.sleep(1);
        sent += part;
        own.tokens += part;
        own.cost += 2 * part;
        controller.enqueue(encoder.encode(write({ content: "word ".repeat(part) })));
        return;
      }
      if (!isBroken && !signal.aborted) {
        report(own, usage);
        const choices = [{ index: 0, delta: {}, finish_reason: "stop" }];
        const last = `data: ${JSON.stringify({ choices, usage })}\n\ndata: [DONE]\n\n`;
        controller.enqueue(encoder.encode(last));
      }
      controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
};

/** All of one run. */
interface Run {
  program: string;
  at: string[];
  keys: Record<Account, string>;
  /** Address of the server; empty while it is down. */
  url: string;
  isOver: boolean;
  answered: number;
  /** Requests refused for good, by account; a budget is at its end when many are in a row. */
  exhausted: Record<Account, number>;
  strange: Set<string>;
}

const REFUSED_ENOUGH = 200;

export const budgets: Proof = {
  name: "budgets",
  about: "kill -9 while 64 callers use up budgets; none is exceeded, and nothing is free",
  async run(isLong) {
    const program = await buildWadi();
    const model = startModelServer();
    const directory = makeScratch();
    const config = join(directory, "wadi.toml");
    await Bun.write(config, writeSettings(model.url));
    const at = ["--config", config, "--data", join(directory, "data")];
    const kills = isLong ? KILLS_LONG : KILLS;
    const tokensMax = kills * CHARGED_BY_KILL + TOKENS_BESIDE;
    const costMax = kills * COST_BY_KILL + COST_BESIDE;
    const makeKey = async (account: Account, ...limit: string[]) => {
      await runWadi([program, "accounts", "create", account, ...at]);
      await runWadi([program, "accounts", "limit", account, ...limit, ...at]);
      return runWadi([program, "keys", "create", "--account", account, ...at]);
    };
    const keys = {
      tokens: await makeKey("tokens", "--tokens-month", String(tokensMax)),
      money: await makeKey("money", "--cost-month", (costMax / 1e6).toFixed(6)),
    };
    const run: Run = {
      ...{ program, at, keys, url: "", isOver: false, answered: 0 },
      ...{ exhausted: { tokens: 0, money: 0 }, strange: new Set() },
    };
    const callers = Array.from({ length: CALLERS }, () => call(run));
    for (let kill = 0; kill < kills; kill++) {
      const child = await serve(run);
      await Bun.sleep(LIFE_MS_LEAST + draw(LIFE_MS_MAX - LIFE_MS_LEAST));
      run.url = "";
      child.kill("SIGKILL");
      await child.exited;
    }
    const last = await serve(run);
    while (Math.min(...Object.values(run.exhausted)) < REFUSED_ENOUGH) await Bun.sleep(50);
    run.isOver = true;
    await Promise.all(callers);
    const found = [
      ...(await judge(run, "tokens", tokensMax, model.work.tokens)),
      ...(await judge(run, "money", costMax, model.work.money)),
    ];
    last.kill("SIGTERM");
    await last.exited;
    await model.stop();
    return [
      atLeast("servers killed under load", kills, KILLS),
      atLeast("requests answered", run.answered, kills * 50),
      atMost(`outcomes that are none of a budget (${[...run.strange]})`, run.strange.size, 0),
      ...found,
    ];
  },
};

const serve = async (run: Run): Promise<Child> => {
  const child = launch([run.program, "serve", "--port", "0", ...run.at]);
  run.url = await readUntil(child, /(http:\/\/127\.0\.0\.1:\d+)/);
  return child;
};

/** Sends chats to both accounts until the run is over, also across kills. */
const call = async (run: Run): Promise<void> => {
  while (!run.isOver) {
    if (run.url === "") await Bun.sleep(5);
    else await callOnce(run, draw(2) === 0 ? "tokens" : "money");
  }
};

const callOnce = async (run: Run, account: Account): Promise<void> => {
  const { url } = run;
  const leaving = new AbortController();
  const leaves = draw(ODD) === 0;
  const cancel = leaves ? setTimeout(() => leaving.abort(), draw(LEAVE_MS_MAX)) : undefined;
  try {
    const [prompt, max_tokens] = [1 + draw(PROMPT_MAX), 1 + draw(MAX_TOKENS_MAX)];
    const reply = await ask(run, account, prompt, max_tokens, draw(2) === 0, leaving.signal);
    await reply.text();
    note(run, account, reply);
  } catch (error) {
    // The server was killed, or this caller has left.
    if (run.url === url && !leaves) run.strange.add(String(error));
  } finally {
    clearTimeout(cancel);
  }
};

const ask = (
  { url, keys }: Run,
  account: Account,
  prompt: number,
  max_tokens: number,
  stream = false,
  signal?: AbortSignal,
) =>
  fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${keys[account]}`, "content-type": "application/json" },
    body: JSON.stringify({
      messages: [{ role: "user", content: `${account} ${prompt}` }],
      ...{ max_tokens, stream },
    }),
    signal,
  });

/** Waits that end with the month say that the budget is used up. */
const note = (run: Run, account: Account, { status, headers }: Response): void => {
  const isUsedUp = status === 403 || (status === 429 && headers.get("retry-after") !== "1");
  if (status === 201) run.answered++;
  else if (status !== 403 && status !== 429) run.strange.add(`status ${status}`);
  if (status === 403 && account === "tokens") run.strange.add("403 for tokens");
  run.exhausted[account] = isUsedUp ? run.exhausted[account] + 1 : 0;
};

interface ShownLimit {
  used: number | string;
  reserved: number | string;
}

const readLimit = async (run: Run, account: Account): Promise<[used: number, reserved: number]> => {
  const reply = await fetch(`${run.url}/v1/usage`, {
    headers: { authorization: `Bearer ${run.keys[account]}` },
  });
  const { account: own } = (await reply.json()) as { account: { limits: ShownLimit[] } };
  const { used, reserved } = own.limits[0]!;
  // Money is text in SAR.
  const read = (amount: number | string) =>
    typeof amount === "string" ? Math.round(Number(amount) * 1e6) : amount;
  return [read(used), read(reserved)];
};

/** Compares what is recorded with what the model server has done, and uses the rest. */
const judge = async (run: Run, account: Account, limit: number, work: Work): Promise<Finding[]> => {
  const name = account === "tokens" ? "tokens" : "micro-SAR";
  const isMoney = account === "money";
  const done = isMoney ? work.cost : work.tokens;
  const reported = isMoney ? work.reportedCost : work.reportedTokens;
  const [used, reserved] = await readLimit(run, account);
  const left = limit - used;
  const prompt = 1;
  const longest = account === "tokens" ? left - prompt : Math.floor((left - prompt) / 2);
  const tooLong = longest < 1 ? null : await ask(run, account, prompt, longest + 1);
  const fitting = longest < 1 ? null : await ask(run, account, prompt, longest);
  const isExact = longest < 1 || (tooLong!.status !== 201 && fitting!.status === 201);
  return [
    atMost(`${name} that the model server was made to use`, done, limit),
    atMost(`${name} recorded as used`, used, limit),
    atMost(`${name} reported by whole replies, against those recorded`, reported, used),
    measured(`${name} left, of ${limit}`, left),
    atMost(`${name} still reserved`, reserved, 0),
    atMost("of what is left, tokens refused that fit, or given that do not", isExact ? 0 : 1, 0),
  ];
};
