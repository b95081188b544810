// Writes the reference of settings as Markdown: one row for each setting.
import type { TObject, TSchema } from "@sinclair/typebox";
import { Model, OpenaiUpstream, Start, StubUpstream } from "./model-table.ts";
import { Table } from "./table.ts";

export function writeSettingsReference(): string {
  const sections = Object.entries(Table.properties).filter(([name]) => name !== "models");
  const models = [
    ...listRows(Model, "models."),
    ...listRows(OpenaiUpstream, "models.upstream."),
    ...listRows(Start, "models.upstream.start."),
    ...listRows(StubUpstream, "models.upstream.").filter((row) => !row.includes(".kind`")),
  ];
  return [
    ...sections.map(([name, section]) => {
      return writeSection(name, section.description, listRows(section as TObject, `${name}.`));
    }),
    writeSection("models", Table.properties.models.description, models),
  ].join("\n");
}

function writeSection(name: string, description: string | undefined, rows: string[]): string {
  const head = "| setting | meaning | default |\n|---|---|---|";
  return `## ${name}\n\n${description ?? ""}\n\n${head}\n${rows.join("\n")}\n`;
}

function listRows(schema: TObject, path: string): string[] {
  return Object.entries(schema.properties).flatMap(([name, field]: [string, TSchema]) => {
    const isNested = field.type === "object" && "properties" in field && field.properties;
    if (isNested) return listRows(field as TObject, `${path}${name}.`);
    if (name === "upstream") return [];
    const fallback = "default" in field ? `\`${JSON.stringify(field.default)}\`` : "";
    const restart = field.restart ? " Needs a restart." : "";
    return [`| \`${path}${name}\` | ${field.description}${restart} | ${fallback} |`];
  });
}
