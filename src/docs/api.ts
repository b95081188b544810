// Renders an OpenAPI document as HTML: operations by tag, their fields and errors, and schemas.

/** A document of our own, whose parts this file knows. */
export interface ApiDocument {
  info: { title: string; description?: string };
  tags?: readonly { name: string; description?: string }[];
  paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  webhooks?: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  components: Readonly<{
    schemas: Readonly<Record<string, ApiSchema>>;
    responses?: Readonly<Record<string, ApiReply>>;
    parameters?: Readonly<Record<string, Parameter>>;
  }>;
}

interface ApiReference {
  $ref: string;
}

export interface ApiSchema extends Partial<ApiReference> {
  type?: string | readonly string[];
  description?: string;
  properties?: Readonly<Record<string, ApiSchema>>;
  required?: readonly string[];
  items?: ApiSchema;
  anyOf?: readonly ApiSchema[];
  oneOf?: readonly ApiSchema[];
  enum?: readonly unknown[];
  const?: unknown;
  format?: string;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  maxItems?: number;
}

type ApiContent = Readonly<Record<string, { schema?: ApiSchema }>>;

interface ApiReply extends Partial<ApiReference> {
  description?: string;
  content?: ApiContent;
}

interface Parameter extends Partial<ApiReference> {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema?: ApiSchema;
}

interface ApiOperation {
  operationId?: string;
  summary?: string;
  description?: string;
  tags?: readonly string[];
  parameters?: readonly Parameter[];
  requestBody?: { content: ApiContent };
  responses?: Readonly<Record<string, ApiReply>>;
}

interface ApiEntry extends ApiOperation {
  verb: string;
  path: string;
}

interface FieldsAt {
  /** Path of the object, with a dot at its end. */
  prefix?: string;
  depth?: number;
  marksRequired: boolean;
}

const REQUIRED = ' <i class="must">required</i>';
/** Maximum depth of objects inside objects that have no name. */
const DEPTH_MAX = 4;

export interface ApiWriter {
  /** Renders a line of Markdown. */
  inline(markdown: string): string;
}

export function writeApi(document: ApiDocument, source: string, writer: ApiWriter): string {
  const entries = listEntries(document);
  const shared = findSharedErrors(entries);
  const page = new ApiPage(document, writer, shared !== null);
  const groups = [...Map.groupBy(entries, ({ tags }) => tags?.[0] ?? "other")];
  const contents = groups.map(
    ([tag, own]) => `<li><a href="#tag-${tag}">${tag}</a>
<ul>${own.map(writeContent).join("")}</ul></li>`,
  );
  return `<h1>${escapeText(document.info.title)}</h1>
<p>${writer.inline(document.info.description ?? "")}
As an <a href="${source}">OpenAPI 3.1.0 document</a>.</p>
<ul class="contents">${contents.join("\n")}<li><a href="#schemas">Schemas</a></li></ul>
${shared ? `<h2 id="errors">Errors of every operation</h2>\n${page.writeErrors(shared)}` : ""}
${groups.map(([tag, own]) => page.writeGroup(tag, own)).join("\n")}
<h2 id="schemas">Schemas</h2>
${page.writeSchemas()}`;
}

const escapeText = (text: string): string => Bun.escapeHTML(text);

function listEntries({ paths, webhooks = {} }: ApiDocument): ApiEntry[] {
  const list = (places: ApiDocument["paths"], nameVerb: (method: string) => string) =>
    Object.entries(places).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => {
        return { ...operation, path, verb: nameVerb(method) };
      }),
    );
  return [...list(paths, (method) => method.toUpperCase()), ...list(webhooks, () => "EVENT")];
}

const idOf = ({ operationId, verb, path }: ApiEntry): string => operationId ?? `${verb}${path}`;

function writeContent(entry: ApiEntry): string {
  const { verb, path } = entry;
  return `<li><a href="#${idOf(entry)}">${writeVerb(verb)} ${escapeText(path)}</a></li>`;
}

const writeVerb = (verb: string): string => `<b class="verb">${verb}</b>`;

const isError = (status: string): boolean => /^[45]/.test(status);

const listErrors = ({ responses = {} }: ApiOperation): [string, ApiReply][] =>
  Object.entries(responses).filter(([status]) => isError(status));

/** Returns the errors that all operations have, if they have the same ones. */
function findSharedErrors(entries: readonly ApiEntry[]): [string, ApiReply][] | null {
  const [first, ...others] = entries.map((entry) => JSON.stringify(listErrors(entry)));
  const isShared = first !== undefined && others.every((one) => one === first);
  return isShared ? listErrors(entries[0]!) : null;
}

class ApiPage {
  readonly #document: ApiDocument;
  readonly #inline: ApiWriter["inline"];
  readonly #hasSharedErrors: boolean;

  constructor(document: ApiDocument, { inline }: ApiWriter, hasSharedErrors: boolean) {
    this.#document = document;
    this.#inline = inline;
    this.#hasSharedErrors = hasSharedErrors;
  }

  writeGroup(tag: string, entries: readonly ApiEntry[]): string {
    const said = this.#document.tags?.find(({ name }) => name === tag)?.description ?? "";
    return `<h2 id="tag-${tag}">${tag}</h2>
${said && `<p>${this.#inline(said)}</p>`}
${entries.map((entry) => this.#writeEntry(entry)).join("\n")}`;
  }

  writeErrors(errors: readonly [string, ApiReply][]): string {
    const rows = errors.map(([status, reply]) => {
      const { description = "" } = this.#resolve(reply, this.#document.components.responses);
      const lines = description.split("\n").map((line) => linkCode(this.#inline(line)));
      return `<tr><th>${status}</th><td>${lines.join("<br>")}</td></tr>`;
    });
    return rows.length === 0 ? "" : `<table>${rows.join("")}</table>`;
  }

  writeSchemas(): string {
    return Object.entries(this.#document.components.schemas)
      .map(([name, schema]) => {
        const rows = this.#listFields(schema, { marksRequired: true });
        const said = schema.description ? `<p>${this.#inline(schema.description)}</p>` : "";
        const body = rows.length > 0 ? writeTable(rows) : `<p>${this.#nameType(schema)}</p>`;
        return `<section><h3 id="schema-${name}">${name}</h3>${said}${body}</section>`;
      })
      .join("\n");
  }

  #writeEntry(entry: ApiEntry): string {
    const { verb, path, summary = "", description = "", requestBody, responses = {} } = entry;
    const rows = this.#listParameters(entry);
    const replies = Object.entries(responses).filter(([status]) => !isError(status));
    const errors = this.#hasSharedErrors ? "" : this.writeErrors(listErrors(entry));
    const name = `${writeVerb(verb)} <code>${escapeText(path)}</code>`;
    return `<section class="operation"><h3 id="${idOf(entry)}">${name}</h3>
<p>${this.#inline(summary.replace(/\.?$/, "."))}</p>
${description && `<p>${this.#inline(description)}</p>`}
${rows.length > 0 ? `<h4>Parameters</h4>${writeTable(rows)}` : ""}
${requestBody ? `<h4>Body</h4>${this.#writeContents(requestBody.content, true)}` : ""}
${replies.map(([status, reply]) => this.#writeReply(status, reply)).join("")}
${errors && `<h4>Errors</h4>${errors}`}</section>`;
  }

  #listParameters({ parameters = [] }: ApiEntry): string[] {
    return parameters.map((given) => {
      const one = this.#resolve(given, this.#document.components.parameters);
      const { name, in: place, required, description = "", schema = {} } = one;
      const marks = `${required ? REQUIRED : ""} <i>${place}</i>`;
      return this.#writeRow(name, { ...schema, description }, marks);
    });
  }

  #writeReply(status: string, given: ApiReply): string {
    const reply = this.#resolve(given, this.#document.components.responses);
    const { description = "", content = {} } = reply;
    // A reply always has all of its fields.
    const fields = this.#writeContents(content, false);
    return `<h4>ApiReply ${status}</h4><p>${this.#inline(description)}</p>${fields}`;
  }

  #writeContents(content: ApiContent, marksRequired: boolean): string {
    return Object.entries(content)
      .map(([type, { schema = {} }]) => {
        const kind = type === "application/json" ? "" : ` as <code>${type}</code>`;
        const name = `<p>${this.#nameType(schema)}${kind}</p>`;
        if (schema.$ref) return name;
        const rows = this.#listFields(schema.items ?? schema, { marksRequired });
        if (rows.length === 0) return name;
        return `${schema.items || kind ? name : ""}${writeTable(rows)}`;
      })
      .join("");
  }

  /** Rows of the fields of an object; those of objects without a name follow with their path. */
  #listFields(schema: ApiSchema, at: FieldsAt): string[] {
    const { prefix = "", depth = 0, marksRequired } = at;
    const { properties = {}, required = [] } = schema;
    return Object.entries(properties).flatMap(([name, field]) => {
      const path = `${prefix}${name}`;
      const marks = marksRequired && required.includes(name) ? REQUIRED : "";
      const row = this.#writeRow(path, field, marks);
      if (depth === DEPTH_MAX) return [row];
      const inner = { depth: depth + 1, marksRequired };
      const own = this.#listFields(field, { ...inner, prefix: `${path}.` });
      const items = this.#listFields(field.items ?? {}, { ...inner, prefix: `${path}[].` });
      return [row, ...own, ...items];
    });
  }

  #writeRow(name: string, field: ApiSchema, marks: string): string {
    const says = `<small>${this.#nameType(field)}</small> ${this.#inline(field.description ?? "")}`;
    return `<tr><th><code>${escapeText(name)}</code>${marks}</th><td>${says}</td></tr>`;
  }

  #nameType(schema: ApiSchema): string {
    const { $ref, anyOf, oneOf = anyOf, enum: words, items, type } = schema;
    if ($ref !== undefined) {
      const name = $ref.slice($ref.lastIndexOf("/") + 1);
      return `<a href="#schema-${name}">${name}</a>`;
    }
    if (oneOf) return oneOf.map((one) => this.#nameType(one)).join(" or ");
    const listed = words ?? ("const" in schema ? [schema.const] : null);
    if (listed) return listed.map((one) => `<code>${escapeText(String(one))}</code>`).join(" or ");
    if (items) return `list of ${this.#nameType(items)}${writeBound("up to", schema.maxItems)}`;
    const name = [type ?? "any value"].flat().join(" or ");
    return `${schema.format ?? name}${writeBounds(schema)}`;
  }

  #resolve<T extends Partial<ApiReference>>(part: T, known: Readonly<Record<string, T>> = {}): T {
    return part.$ref === undefined ? part : (known[part.$ref.split("/").at(-1)!] ?? part);
  }
}

const writeTable = (rows: readonly string[]): string =>
  `<div class="scroll" tabindex="0"><table class="fields">${rows.join("")}</table></div>`;

const writeBound = (says: string, bound: number | undefined): string =>
  bound === undefined ? "" : `, ${says} ${bound.toLocaleString("en-US")}`;

function writeBounds({ minimum, maximum, maxLength }: ApiSchema): string {
  return (
    writeBound("from", minimum) +
    writeBound("to", maximum) +
    (maxLength === undefined ? "" : `${writeBound("up to", maxLength)} characters`)
  );
}

/** Lines of errors begin with their code. */
function linkCode(line: string): string {
  return line.replace(/^<code>(\w+)<\/code>/, '<a href="/docs/errors#$1"><code>$1</code></a>');
}
