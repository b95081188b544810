// The settings as the program reads them, derived from the table: no field is declared twice.
import type { Static, TArray, TObject, TRecord, TSchema, TString, TUnion } from "@sinclair/typebox";
import type { Model, OpenaiUpstream, Start, StubUpstream } from "./model-table.ts";
import type { Table } from "./table.ts";
import type { Duration } from "./words.ts";

/** The value of a schema: defaults filled in, durations named `…_ms`, all of it frozen. */
type Value<S extends TSchema> =
  S extends TObject<infer Fields>
    ? {
        readonly [F in keyof Fields as Fields[F] extends Duration ? `${F & string}_ms` : F]: Value<
          Fields[F]
        >;
      }
    : S extends TUnion<infer Variants>
      ? Value<Variants[number]>
      : S extends TArray<infer Item>
        ? readonly Value<Item>[]
        : S extends TRecord<TString, infer One>
          ? Readonly<Record<string, Static<One>>>
          : Static<S>;

/** A server that speaks chat completions; `api_key` is what api_key_env or api_key_file held. */
export type OpenaiUpstreamSettings = Value<typeof OpenaiUpstream> & {
  readonly api_key: string | null;
};

/** How an idle server is started; `request` and `stop` are a method, a space and a URL. */
export type StartSettings = Value<typeof Start>;

export type UpstreamSettings = OpenaiUpstreamSettings | Value<typeof StubUpstream>;

/** One model; prices are whole micro-SAR per million tokens, null where unknown. */
export type ModelSettings = Omit<Value<typeof Model>, "upstream"> & {
  readonly upstream: UpstreamSettings;
};

/** What api_key_env or api_key_file held; null: nothing was named, or it need not be at hand. */
interface Keyed {
  readonly api_key: string | null;
}

/** What is served beside chat, each by a table of its own. */
export const SERVICES = ["embeddings", "search"] as const;
export type ServiceName = (typeof SERVICES)[number];

/** `kind` is what `auto` came to where it stood there. */
export type EmbeddingsSettings = Omit<Value<typeof Table>["embeddings"], "kind"> &
  Keyed & { readonly kind: "off" | "openai" | "tei" | "stub" };
export type SearchSettings = Omit<Value<typeof Table>["search"], "kind"> &
  Keyed & { readonly kind: "off" | "searxng" | "brave" | "stub" };

/**
 * `server.database` holds what database_env named, `metrics_token` what metrics_token_env did;
 * `service.default_model` is always a model.
 */
export type Settings = Omit<Value<typeof Table>, "models" | "server" | "embeddings" | "search"> & {
  readonly models: readonly ModelSettings[];
  readonly embeddings: EmbeddingsSettings;
  readonly search: SearchSettings;
  readonly server: Value<typeof Table>["server"] & { readonly metrics_token: string | null };
};

/** Both permanent names of the default model; the one with `-v0` is accepted and not listed. */
export function listAliases(alias: string): string[] {
  return [alias, `${alias}-v0`];
}
