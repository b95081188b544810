// The program's settings: `wadi.toml`, environment and flags as one typed, checked, frozen object.

export { readExpiry, type ServerCertificate } from "./certificate.ts";
export { applySettings, describeChange } from "./change.ts";
export { nameUnit } from "./coherence.ts";
export { FORMATS } from "./formats.ts";
export { defaultSettings, loadSettings, readSettings } from "./loader.ts";
export { findNearest } from "./nearest.ts";
export { SettingsError } from "./problem.ts";
export { writeSettingsReference } from "./reference.ts";
export type { ServiceStandIn } from "./services.ts";
export {
  copySource,
  hashSettings,
  listSettings,
  ORIGINS,
  type SettingRow,
} from "./setting-list.ts";
export {
  type BackupSettings,
  type EmbeddingsSettings,
  listAliases,
  type ModelSettings,
  SERVICES,
  type SearchSettings,
  type ServiceName,
  type Settings,
  type StartSettings,
  type TelemetrySettings,
} from "./settings.ts";
export { writeTemplate } from "./template.ts";
export { placeTable, writeValue } from "./toml.ts";
