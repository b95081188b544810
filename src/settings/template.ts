// Writes a new wadi.toml from the table: every setting with its meaning, bounds and default.
import { formatDuration } from "../platform/duration.ts";
import type { Field } from "./fields.ts";
import { Table } from "./table.ts";
import { writeValue } from "./toml.ts";

const COLUMNS_MAX = 92;

const HEAD = `# The settings of \`wadi serve\`. Words stand behind "# ", settings behind "#", each
# with its default or an example: take the "#" away to change one. A setting outside of the
# models can also be said by an environment variable: WADI_SERVER__PORT=9000 is \`port\` of
# [server]. \`wadi check\` looks whether all of it holds.
`;

const SHORT_HEAD = `
# ---- A model of yours ---------------------------------------------------------------------
# Take the "#" from the lines of this block and put in the address of your server and the name
# of its model: that serves. \`wadi models probe URL --write\` writes such a block by itself.
`;

const FULL_HEAD = `
# ---- Every setting of a model -------------------------------------------------------------
`;

/** Writes a file of comments; it stays valid with every setting uncommented. */
export function writeTemplate(table: Field = Table): string {
  const fields = Object.entries(table.properties!);
  const tables = fields.filter(([, field]) => field.properties);
  const models = fields.find(([name]) => name === "models")![1].items!;
  return [
    HEAD,
    ...tables.map(([name, field]) => `\n${writeTable(field, `[${name}]`, "")}`),
    SHORT_HEAD,
    writeShortModel(models),
    FULL_HEAD,
    writeModels(models),
  ].join("");
}

function writeShortModel(model: Field): string {
  const { id, upstream } = model.properties!;
  const { kind, urls } = upstream!.anyOf![0]!.properties!;
  return [
    "#[[models]]",
    writeLine("id", id!.example),
    writeLine("self_hosted", true),
    "#[models.upstream]",
    writeLine("kind", kind!.const),
    writeLine("urls", urls!.example),
    writeLine("model", id!.example),
    "",
  ].join("\n");
}

function writeModels(model: Field): string {
  const { upstream, ...own } = model.properties!;
  return upstream!
    .anyOf!.map((kind, index) => {
      const id = `${own.id!.example}-${index + 2}`;
      const shown = index === 0 ? own : { id: own.id! };
      const fields = { ...shown, id: { ...own.id!, example: id } };
      const table = writeTable({ ...model, properties: fields }, "[[models]]", "#");
      return `${table}\n${writeTable(kind, "[models.upstream]", "#")}`;
    })
    .join("\n");
}

function writeTable(field: Field, header: string, mark: string): string {
  const fields = Object.entries(field.properties!).map(([name, one]) => {
    return { name, one, inner: findTable(one) };
  });
  const settings = fields.filter(({ inner }) => !inner).map((f) => writeSetting(f.name, f.one));
  const inside = fields.flatMap(({ name, one, inner }) => {
    const words = { ...inner, description: one.description };
    return inner ? [`\n${writeTable(words, header.replace(/(?=\]+$)/, `.${name}`), "#")}`] : [];
  });
  const head = `${writeWords(field.description!)}${mark}${header}\n`;
  return [head, ...settings, ...inside].join("");
}

function findTable(field: Field): Field | undefined {
  if (field.example !== undefined) return undefined;
  const [only, ...others] = (field.anyOf ?? [field]).filter(({ type }) => type !== "null");
  return only?.properties && others.length === 0 ? only : undefined;
}

function writeSetting(name: string, field: Field): string {
  const hasDefault = field.default !== undefined && field.default !== null;
  const value = field.const ?? (hasDefault ? field.default : field.example);
  const isExample = !hasDefault && field.const === undefined && value !== undefined;
  const words = [field.description, writeBounds(field), isExample ? "For example:" : ""];
  const text = writeWords(words.filter(Boolean).join(" "));
  return value === undefined ? text : `${text}${writeLine(name, value)}\n`;
}

function writeLine(name: string, value: unknown): string {
  return `#${name} = ${writeValue(value)}`;
}

function writeBounds(field: Field): string {
  const { minimum = 0, maximum, format } = field;
  const words = field.enum ?? field.items?.enum;
  const some = field.items ? "Any" : "One";
  if (words) return `${some} of ${words.map((one) => JSON.stringify(one)).join(", ")}.`;
  if (field.anyOf) return writeBounds(field.anyOf[0]!);
  if (maximum === undefined) return "";
  const write = format === "duration" ? formatDuration : writeNumber;
  return `From ${write(minimum)} to ${write(maximum)}.`;
}

function writeNumber(number: number): string {
  return String(number).replaceAll(/\B(?=(\d{3})+$)/g, "_");
}

function writeWords(text: string): string {
  const lines: string[] = [];
  let line = "#";
  for (const word of text.split(" ")) {
    if (line.length + 1 + word.length > COLUMNS_MAX && line !== "#") {
      lines.push(line);
      line = "#";
    }
    line += ` ${word}`;
  }
  return `${[...lines, line].join("\n")}\n`;
}
