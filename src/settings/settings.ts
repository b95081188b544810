// The types of the settings, derived from the table.
import type { Static, TArray, TObject, TRecord, TSchema, TString, TUnion } from "@sinclair/typebox";
import type { ServerCertificate } from "./certificate.ts";
import type { Duration } from "./fields.ts";
import type { Model, OpenaiUpstream, Start, StubUpstream } from "./model-table.ts";
import type { Table } from "./table.ts";

/** Value of a schema: with its defaults, durations named `…_ms`, frozen. */
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

export type OpenaiUpstreamSettings = Value<typeof OpenaiUpstream> & Keyed;

export type StartSettings = Value<typeof Start>;

export type UpstreamSettings = OpenaiUpstreamSettings | Value<typeof StubUpstream>;

/** One model; prices are whole micro-SAR per million tokens, null where unknown. */
export type ModelSettings = Omit<Value<typeof Model>, "upstream"> & {
  readonly upstream: UpstreamSettings;
};

interface Keyed {
  readonly api_key: string | null;
}

export const SERVICES = ["embeddings", "search"] as const;
export type ServiceName = (typeof SERVICES)[number];

/** `auto` has been resolved. */
export type EmbeddingsSettings = Omit<Value<typeof Table>["embeddings"], "kind"> &
  Keyed & { readonly kind: "off" | "openai" | "tei" | "stub" };
export type SearchSettings = Omit<Value<typeof Table>["search"], "kind"> &
  Keyed & { readonly kind: "off" | "searxng" | "brave" | "stub" };

/** `headers` are those of `headers_file`. */
export type TelemetrySettings = Value<typeof Table>["telemetry"] & {
  readonly headers: Readonly<Record<string, string>>;
};

/** `secret_access_key` is what its variable or file holds; null without a bucket. */
export type BackupSettings = Value<typeof Table>["backup"] & {
  readonly secret_access_key: string | null;
};

/**
 * `server.database` holds what database_env named, `valkey` what valkey_env did, `metrics_token`
 * what metrics_token_env did, `certificate` what the files of tls hold;
 * `service.default_model` is always a model.
 */
export type Settings = Omit<
  Value<typeof Table>,
  "models" | "server" | "telemetry" | "backup" | "embeddings" | "search"
> & {
  readonly backup: BackupSettings;
  readonly telemetry: TelemetrySettings;
  readonly models: readonly ModelSettings[];
  readonly embeddings: EmbeddingsSettings;
  readonly search: SearchSettings;
  readonly server: Value<typeof Table>["server"] & {
    readonly metrics_token: string | null;
    readonly certificate: ServerCertificate | null;
  };
};

/** Lists both permanent names of the default model; the second is not shown to callers. */
export function listAliases(alias: string): string[] {
  return [alias, `${alias}-v0`];
}
