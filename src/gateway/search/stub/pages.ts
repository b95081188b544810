// What the stub's search finds where no folder is named: short pages about this service itself.

export interface OwnPage {
  path: string;
  title: string;
  text: string;
}

export const PAGES: readonly OwnPage[] = [
  {
    path: "wadi",
    title: "What Wadi is",
    text: `Wadi is one executable that serves language models. It stands in front of model servers
such as vLLM, SGLang, llama.cpp, Ollama and TGI, or of a provider, and adds accounts, keys, limits
and a ledger of what was used. It needs no other program: SQLite is inside.`,
  },
  {
    path: "chat",
    title: "Chat completions",
    text: `POST /v1/chat/completions takes messages in the standard format and answers with one JSON
reply, or with a stream of server-sent events. max_tokens sets the output budget, temperature and
top_p how freely the model chooses, stop up to four texts that end the reply. Fields that are not
listed are ignored.`,
  },
  {
    path: "streaming",
    title: "Streaming replies",
    text: `With stream true the reply comes piece by piece as server-sent events and ends with
data: [DONE]. While a model starts, a comment line is sent every 15 seconds to keep the connection
open. stream_options.include_usage asks for a last chunk with the tokens that were used. A failure
inside a stream arrives as one frame with an error object.`,
  },
  {
    path: "models",
    title: "Models and the alias svc",
    text: `GET /v1/models lists the models that a key may call, with their context window and
capabilities. The permanent alias svc stands for the default model. A key may carry a list of
models, and a model of another provider needs a permission of its own.`,
  },
  {
    path: "tools",
    title: "Tools and function calls",
    text: `A chat request may describe tools, each a function with a name and a JSON schema of its
arguments. The model answers with tool_calls; the caller runs them and sends each result back in a
message of the role tool. tool_choice can forbid, require or name a call.`,
  },
  {
    path: "think",
    title: "Deep thinking",
    text: `With think true the model answers a question several times, and the answer that most of
its attempts agree on is returned. usage counts all attempts. It needs the scope think and cannot be
combined with tools. reasoning true lets a model reason before it answers; what it reasons is not
returned.`,
  },
  {
    path: "embeddings",
    title: "Embeddings",
    text: `POST /v1/embeddings turns 1 to 64 texts into vectors of 1024 dimensions and unit length
with the model bge-m3, as floats or as base64. A request holds at most 32,000 characters, and each
text is cut at 4096 tokens. Texts of a like meaning have vectors that lie close together.`,
  },
  {
    path: "search",
    title: "Web search",
    text: `POST /v1/search takes a query of up to 400 characters and returns hits with a title, a
link and a snippet of plain text; max_results asks for 1 to 20 of them. Behind it stands SearXNG,
the search API of Brave, or a folder of Markdown files on the server's own disk.`,
  },
  {
    path: "errors",
    title: "Errors and when to retry",
    text: `Every error is a JSON object with a code, on which programs should branch, and a message
for people. rate_limit_exceeded, capacity_exceeded, upstream_error, upstream_timeout, model_offline
and service_unavailable may be tried again: after Retry-After where it is sent, otherwise with
growing pauses, and not where x-should-retry is false.`,
  },
  {
    path: "limits",
    title: "Rate limits and quotas",
    text: `Each account has 120 requests in any 60 seconds on each route, whichever of its keys
sends them; beyond them the route stays closed for a minute. Embeddings have a quota of 20 and web
search one of 10 requests a minute. A chat request may have 256 KB.`,
  },
  {
    path: "keys",
    title: "API keys, accounts and scopes",
    text: `Every request carries an API key as a bearer token. Keys belong to accounts. The scopes
reasoning, think, embeddings and search open what is beyond plain chat. wadi keys create makes a new
key, and wadi keys revoke ends one at once.`,
  },
];
