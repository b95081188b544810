// The settings of backups on a timer.
import { anyText, count, duration, section, text } from "./fields.ts";

const DAY_MS = 86_400_000;

export const Backup = section("Backups that a server makes by itself.", {
  every: duration("How often a backup is made, at least 1m; 0s is never.", {
    default: "0s",
    maximum: 400 * DAY_MS,
    restart: true,
  }),
  keep: { ...count(7, 10_000, "Backups of this installation that are kept."), restart: true },
  to: anyText('The folder, or "s3://BUCKET/PREFIX"; "" is `backups` in the data directory.', {
    default: "",
    unquoted: true,
    restart: true,
  }),
  endpoint: text("link", 'The address of the S3 server; "" is that of AWS.', {
    default: "",
    unquoted: true,
    restart: true,
  }),
  region: anyText('The region of the bucket; "" is us-east-1.', { default: "", restart: true }),
  access_key_id: anyText("The id of the access key of the bucket.", {
    default: "",
    unquoted: true,
    restart: true,
  }),
  secret_access_key_env: text("variable", "The environment variable that holds its secret.", {
    default: "",
    unquoted: true,
    restart: true,
  }),
  secret_access_key_file: anyText("The file that holds its secret.", {
    default: "",
    unquoted: true,
    restart: true,
  }),
});
