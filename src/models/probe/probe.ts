// Probes a model server: its kind, its models, and the facts of one that settings need.

import type { TrustedEgress } from "../../net/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { isGood } from "../providers/body.ts";
import { rootOf } from "../providers/openai/request.ts";
import { createTokenCount } from "../providers/token-count.ts";
import {
  type CapabilityResults,
  type Embedding,
  explain,
  testCapabilities,
  testEmbedding,
} from "./capability-tests.ts";
import {
  createProbeClient,
  createProbeRequest,
  type ProbeClient,
  type ProbeReply,
} from "./client.ts";
import {
  type ListedEntry,
  PROBE_PATHS,
  type ProbeAnswers,
  readModels,
  type ServerFacts,
  type ServerKind,
} from "./server-kind.ts";
import { detectServerKind } from "./server-kinds.ts";

/** Maximum time of a probe, including the loading of a model. */
const TOTAL_MS = 30_000;
/** Maximum models listed; others can be probed by name. */
const MODELS_MAX = 200;

export interface ProbeOptions {
  /** With or without `/v1`. */
  url: string;
  model: string | null;
  api_key: string | null;
  /** Further headers of each request. */
  headers?: Readonly<Record<string, string>>;
  egress: TrustedEgress;
  clock: Clock;
}

export interface ProbeReport
  extends Omit<ServerFacts, "only_model">,
    Omit<CapabilityResults, keyof ServerFacts | "reason"> {
  /** Up to and with `/v1`. */
  url: string;
  kind: string;
  is_self_hosted: boolean;
  models: string[];
  model: string | null;
  health_route: string | null;
  count_route: string | null;
  embeddings: { kind: "openai" | "tei"; dimensions: number | null } | null;
}

/** `says` is a sentence that continues the address: "does not answer". */
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

const UNTRIED = { answered_ms: null, reason: null, streaming: null, usage: null };

/** Failures outside are values; the address must be one of http or https. */
export async function probeServer(options: ProbeOptions): Promise<ServerProbe> {
  const client = createProbeClient({ headers: {}, ...options, totalMs: TOTAL_MS });
  try {
    return await probe(client, options);
  } finally {
    client.end();
  }
}

async function probe(client: ProbeClient, options: ProbeOptions): Promise<ServerProbe> {
  const { root, base, list } = await findList(client, options.url);
  // Other probes would only wait as long again.
  if (list.status === null) return { ok: false, says: explain(list) };
  const hasKey = options.api_key !== null;
  if (isClosed(list)) return { ok: false, says: explainStranger(list, hasKey) };
  const answers = await fetchAll(client, root, list);
  const kind = detectServerKind(answers);
  if (!kind) return { ok: false, says: explainStranger(list, hasKey) };
  const names = answers.models.slice(0, MODELS_MAX).map(({ id }) => id);
  const model = findModel(answers.models, options.model);
  if (options.model !== null && !model) {
    const known = names.length > 0 ? `it has ${names.slice(0, 8).join(", ")}` : "it lists none";
    return { ok: false, says: `it has no model "${options.model}": ${known}` };
  }
  const learnt = await kind.learn({ answers, client, root, model });
  const { only_model, ...facts }: ServerFacts = { ...NOTHING, ...learnt };
  const isChat = facts.serves === "chat" && model !== null;
  const tests: CapabilityResults = isChat
    ? await testCapabilities(client, base, model.id, facts)
    : { ...facts, ...UNTRIED };
  const { reason, ...found } = tests;
  const embedding = await findEmbedding(client, base, { model, serves: facts.serves, reason });
  const notes = [...facts.notes, ...noteTests(reason, embedding)];
  const counts = isChat && reason === null && (await canCount(base, model.id, client, options));
  const { embeddings_kind = "openai" } = kind;
  const report: ProbeReport = {
    url: base,
    kind: kind.name,
    is_self_hosted: kind.is_self_hosted ?? true,
    models: names,
    model: model?.id ?? only_model,
    ...facts,
    ...found,
    serves: embedding ? "embeddings" : facts.serves,
    embeddings: embedding && { kind: embeddings_kind, dimensions: embedding.dimensions },
    notes,
    health_route: await findHealth(client, root, kind),
    count_route: counts ? (kind.count_route ?? "/tokenize") : null,
  };
  return { ok: true, report };
}

interface ChatTest {
  model: ListedEntry | null;
  serves: ServerFacts["serves"];
  /** Reason without a chat; null if it was answered or not tested. */
  reason: string | null;
}

/** Tests embeddings, since many servers do not report that their model makes vectors only. */
async function findEmbedding(
  client: ProbeClient,
  base: string,
  { model, serves, reason }: ChatTest,
) {
  const isTold = serves === "embeddings";
  if (!isTold && reason === null) return null;
  const embedding = await testEmbedding(client, base, model?.id ?? null);
  return isTold || embedding.dimensions !== null ? embedding : null;
}

function noteTests(reason: string | null, embedding: Embedding | null): string[] {
  if (!embedding) return reason === null ? [] : [`one token was not answered: ${reason}`];
  return embedding.reason === null ? [] : [`no vector was made of one word: ${embedding.reason}`];
}

/** Finds the list behind a pasted address; a provider's may end with another word than `v1`. */
async function findList(client: ProbeClient, url: string) {
  const bare = url.replace(/\/+$/, "").replace(/\/(chat\/completions|models)$/, "");
  const root = rootOf(bare);
  const base = `${root}/v1`;
  const list = await client.get(`${base}/models`);
  const isElsewhere = list.status === 404 && root === bare && new URL(bare).pathname !== "/";
  if (!isElsewhere) return { root, base, list };
  const other = await client.get(`${bare}/models`);
  return isGood(other.status) ? { root, base: bare, list: other } : { root, base, list };
}

function isClosed({ status }: ProbeReply): boolean {
  return status === 401 || status === 403;
}

async function fetchAll(
  client: ProbeClient,
  root: string,
  list: ProbeReply,
): Promise<ProbeAnswers> {
  const names = Object.keys(PROBE_PATHS) as (keyof typeof PROBE_PATHS)[];
  const replies = await Promise.all(names.map((name) => client.get(`${root}${PROBE_PATHS[name]}`)));
  const answers = Object.fromEntries(names.map((name, index) => [name, replies[index]!]));
  return { ...(answers as Omit<ProbeAnswers, "models">), models: readModels(list) };
}

function findModel(models: readonly ListedEntry[], name: string | null): ListedEntry | null {
  if (name === null) return models[0] ?? null;
  return models.find(({ id }) => id === name) ?? null;
}

function explainStranger(list: ProbeReply, hasKey: boolean): string {
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

/** For servers without a health route, their list says as much. */
async function findHealth(
  client: ProbeClient,
  root: string,
  kind: ServerKind,
): Promise<string | null> {
  for (const route of [kind.health_route ?? "/health", "/v1/models"]) {
    const { status } = await client.get(`${root}${route}`);
    if (isGood(status)) return route;
  }
  return null;
}

async function canCount(base: string, model: string, client: ProbeClient, options: ProbeOptions) {
  const { egress, clock, api_key, headers = {} } = options;
  const form = { model, reasoning_on: {}, reasoning_off: {}, tool_choice_by_name: true };
  const around = { api_key, headers, connect_timeout_ms: TOTAL_MS, egress, clock };
  const count = createTokenCount({ ...form, ...around, urls: [base] });
  return (await count(createProbeRequest("probe"), client.signal)) !== null;
}
