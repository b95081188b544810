// Classifies failures of connections and name look-ups by the codes that Bun gives.

/**
 * `refused`: no connection could be made · `reset`: it broke · `dns`: the name has no address ·
 * `tls`: no valid certificate. With `refused`, `dns` and `tls` nothing was sent.
 */
export type FetchFailure = "refused" | "reset" | "dns" | "tls" | "aborted" | "timeout" | "other";

const BY_CODE: Record<string, FetchFailure> = {
  ECONNREFUSED: "refused",
  EHOSTUNREACH: "refused",
  ENETUNREACH: "refused",
  ENETDOWN: "refused",
  EADDRNOTAVAIL: "refused",
  EACCES: "refused",
  EPERM: "refused",
  EMFILE: "refused",
  ENFILE: "refused",
  ECONNRESET: "reset",
  EPIPE: "reset",
  ENOTFOUND: "dns",
  EAI_AGAIN: "dns",
  ETIMEDOUT: "timeout",
  EPROTO: "tls",
};

const BY_NAME: Record<string, FetchFailure> = { AbortError: "aborted", TimeoutError: "timeout" };

/** OpenSSL's codes of invalid chains, such as DEPTH_ZERO_SELF_SIGNED_CERT. */
const CERTIFICATE_CODE =
  /^(ERR_(TLS|SSL)_|UNABLE_TO_VERIFY|PATH_LENGTH|HOSTNAME|INVALID_(CA|PURPOSE)$)|CERT|ISSUER|CRL/;

/** Classifies an error of `fetch`, a body or `Bun.dns.lookup`; a custom abort reason is `other`. */
export function explainFetchFailure(error: unknown): FetchFailure {
  if (!(error instanceof Error)) return "other";
  const named = BY_NAME[error.name];
  if (named !== undefined) return named;
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  if (code.startsWith("DNS_")) return "dns";
  return BY_CODE[code] ?? (CERTIFICATE_CODE.test(code) ? "tls" : "other");
}
