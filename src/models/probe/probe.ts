// Asks a model server what it is: its kind, its models, and of one of them all that settings need.

import type { TrustedEgress } from "../../net/index.ts";
import type { Clock } from "../../platform/clock.ts";
import type { ModelRequest } from "../providers/contract.ts";
import { rootOf } from "../providers/openai/request.ts";
import { createTokenCount } from "../providers/token-count.ts";
import { type CapabilityResults, explain, testCapabilities } from "./capability-tests.ts";
import { createProbeClient, isGood, type ProbeClient, type ProbeReply } from "./client.ts";
import { type Embedding, tryEmbedding } from "./embedding.ts";
import {
  detectServerKind,
  type ListedEntry,
  PROBE_PATHS,
  type ProbeAnswers,
  readModels,
  type ServerFacts,
  type ServerKind,
} from "./server-kind.ts";

/** A person waits for it, also for a model that has to be loaded first. */
const TOTAL_MS = 30_000;
/** More of them nobody reads; one behind them is asked about by its name. */
const MODELS_MAX = 200;

export interface ProbeOptions {
  /** As it was given, with or without `/v1`. */
  url: string;
  /** The name of one of its models; null: the only one, or the first. */
  model: string | null;
  api_key: string | null;
  egress: TrustedEgress;
  clock: Clock;
}

export interface ProbeReport
  extends Omit<ServerFacts, "only_model">,
    Omit<CapabilityResults, keyof ServerFacts | "why"> {
  /** Up to and with `/v1`. */
  url: string;
  /** As its makers call it. */
  kind: string;
  is_self_hosted: boolean;
  /** The first names in its list. */
  models: string[];
  /** The one that was asked about; null: it names none. */
  model: string | null;
  health_route: string | null;
  /** Counts a chat exactly; null: none was found. */
  count_route: string | null;
  /** How it is asked for embeddings, and how wide they are; null: it serves something else. */
  embeddings: { kind: "openai" | "tei"; dimensions: number | null } | null;
}

/** `says` continues the address: "does not answer". */
export type ServerProbe = { ok: true; report: ProbeReport } | { ok: false; says: string };

const NOTHING: ServerFacts = {
  version: null,
  serves: "chat",
  only_model: null,
  context_window: null,
  tools: null,
  vision: null,
  reasoning: null,
  reasoning_on: null,
  reasoning_off: null,
  structured_outputs: null,
  tool_choice_by_name: true,
  requests_max: null,
  waiting_max: null,
  notes: [],
};

const UNTRIED = { answered_ms: null, why: null, streaming: null, usage: null };

/** Only what fails outside is a value here; the address must be one of http or https. */
export async function probeServer(options: ProbeOptions): Promise<ServerProbe> {
  const asking = createProbeClient({ ...options, headers: {}, total_ms: TOTAL_MS });
  try {
    return await probe(asking, options);
  } finally {
    asking.end();
  }
}

async function probe(asking: ProbeClient, options: ProbeOptions): Promise<ServerProbe> {
  const { root, base, list } = await findList(asking, options.url);
  // Nobody there: the other questions would only wait as long again.
  if (list.status === null) return { ok: false, says: explain(list) };
  const hasKey = options.api_key !== null;
  if (isClosed(list)) return { ok: false, says: judgeStranger(list, hasKey) };
  const answers = await askAll(asking, root, list);
  const flavour = detectServerKind(answers);
  if (!flavour) return { ok: false, says: judgeStranger(list, hasKey) };
  const names = answers.models.slice(0, MODELS_MAX).map(({ id }) => id);
  const model = findModel(answers.models, options.model);
  if (options.model !== null && !model) {
    const known = names.length > 0 ? `it has ${names.slice(0, 8).join(", ")}` : "it lists none";
    return { ok: false, says: `it has no model "${options.model}": ${known}` };
  }
  const learnt = await flavour.learn({ answers, asking, root, model });
  const { only_model, ...facts }: ServerFacts = { ...NOTHING, ...learnt };
  const isChat = facts.serves === "chat" && model !== null;
  const tried: CapabilityResults = isChat
    ? await testCapabilities(asking, base, model.id, facts)
    : { ...facts, ...UNTRIED };
  const { why, ...found } = tried;
  const embedding = await findEmbedding(asking, base, { model, serves: facts.serves, why });
  const notes = [...facts.notes, ...explainTrials(why, embedding)];
  const counts = isChat && why === null && (await canCount(base, model.id, asking, options));
  const { embeddings_kind = "openai" } = flavour;
  const report: ProbeReport = {
    url: base,
    kind: flavour.name,
    is_self_hosted: flavour.is_self_hosted,
    models: names,
    model: model?.id ?? only_model,
    ...facts,
    ...found,
    serves: embedding ? "embeddings" : facts.serves,
    embeddings: embedding && { kind: embeddings_kind, dimensions: embedding.dimensions },
    notes,
    health_route: await findHealth(asking, root, flavour),
    count_route: counts ? (flavour.count_route ?? "/tokenize") : null,
  };
  return { ok: true, report };
}

interface Trial {
  model: ListedEntry | null;
  serves: ServerFacts["serves"];
  /** Why it answered no chat; null: it did, or was not asked to. */
  why: string | null;
}

/** null: it serves something else; many servers do not say that their model makes vectors only. */
async function findEmbedding(asking: ProbeClient, base: string, { model, serves, why }: Trial) {
  const isTold = serves === "embeddings";
  if (!isTold && (serves !== "chat" || why === null)) return null;
  const embedding = await tryEmbedding(asking, base, model?.id ?? null);
  return isTold || embedding.dimensions !== null ? embedding : null;
}

function explainTrials(why: string | null, embedding: Embedding | null): string[] {
  if (!embedding) return why === null ? [] : [`one token was not answered: ${why}`];
  return embedding.why === null ? [] : [`no vector was made of one word: ${embedding.why}`];
}

/** Addresses are pasted as they stand in some client; a provider's may end with another word. */
async function findList(asking: ProbeClient, url: string) {
  const bare = url.replace(/\/+$/, "").replace(/\/(chat\/completions|models)$/, "");
  const root = rootOf(bare);
  const base = `${root}/v1`;
  const list = await asking.get(`${base}/models`);
  const isElsewhere = list.status === 404 && root === bare && new URL(bare).pathname !== "/";
  if (!isElsewhere) return { root, base, list };
  const other = await asking.get(`${bare}/models`);
  return isGood(other.status) ? { root, base: bare, list: other } : { root, base, list };
}

function isClosed({ status }: ProbeReply): boolean {
  return status === 401 || status === 403;
}

async function askAll(asking: ProbeClient, root: string, list: ProbeReply): Promise<ProbeAnswers> {
  const names = Object.keys(PROBE_PATHS) as (keyof typeof PROBE_PATHS)[];
  const heard = await Promise.all(names.map((name) => asking.get(`${root}${PROBE_PATHS[name]}`)));
  const answers = Object.fromEntries(names.map((name, index) => [name, heard[index]!]));
  return { ...(answers as Omit<ProbeAnswers, "models">), models: readModels(list) };
}

function findModel(models: readonly ListedEntry[], name: string | null): ListedEntry | null {
  if (name === null) return models[0] ?? null;
  return models.find(({ id }) => id === name) ?? null;
}

/** Why what answered is taken for no model server. */
function judgeStranger(list: ProbeReply, hasKey: boolean): string {
  const { status, text } = list;
  if (isClosed(list)) {
    return hasKey ? "it refuses this key" : "it wants a key: name its variable with --api-key-env";
  }
  if (status === 503) return "it is not ready (503): it may still be loading its model";
  if (status !== null && status >= 300 && status < 400) {
    return `it sends us elsewhere (${status}): give the address that it leads to`;
  }
  if (isGood(status) && /^\s*</.test(text ?? "")) return "what answers is a page, no model server";
  if (isGood(status) && text === null) return "what answers is too large for a list of models";
  return `no model server answers there: /v1/models has ${
    isGood(status) ? "no models in it" : `status ${status}`
  }`;
}

/** Some servers have no route for it: then their list says as much. */
async function findHealth(
  asking: ProbeClient,
  root: string,
  flavour: ServerKind,
): Promise<string | null> {
  for (const route of [flavour.health_route ?? "/health", "/v1/models"]) {
    const { status } = await asking.get(`${root}${route}`);
    if (isGood(status)) return route;
  }
  return null;
}

/** Asked as the gateway will ask. */
async function canCount(base: string, model: string, asking: ProbeClient, options: ProbeOptions) {
  const { egress, clock, api_key } = options;
  const form = { model, reasoning_on: {}, reasoning_off: {}, tool_choice_by_name: true };
  const around = { api_key, headers: {}, connect_timeout_ms: TOTAL_MS, egress, clock };
  const count = createTokenCount({ ...form, ...around, urls: [base] });
  return (await count(createProbeClientFor("probe"), asking.signal)) !== null;
}

/** The smallest chat there is. */
export function createProbeClientFor(request_id: string): ModelRequest {
  return {
    request_id,
    account: "",
    trace: null,
    messages: [{ role: "user", content: "Hi" }],
    max_tokens: 1,
    tools: [],
    tool_choice: null,
    temperature: null,
    top_p: null,
    presence_penalty: null,
    frequency_penalty: null,
    seed: null,
    stop: [],
    response_format: null,
    reasoning: false,
    stream: false,
  };
}
