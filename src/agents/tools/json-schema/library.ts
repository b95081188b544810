// The parts of the JSON Schema library that are used; the executable holds them packed.
export { type Browser, entries, get, removeUriSchemePlugin, value } from "@hyperjump/browser";
export { setShouldValidateSchema } from "@hyperjump/json-schema/draft-2020-12";
export {
  addKeyword,
  buildSchemaDocument,
  type CompiledSchema,
  compile,
  defineVocabulary,
  type EvaluationPlugin,
  getKeywordId,
  getSchema,
  interpret,
  type Keyword,
  loadDialect,
  type SchemaDocument,
  Validation,
  type ValidationContext,
} from "@hyperjump/json-schema/experimental";
export {
  fromJs,
  type JsonNode,
  value as readValue,
} from "@hyperjump/json-schema/instance/experimental";
