// Says in one word why a fetch or a look-up of a name failed, from the codes that Bun gives.

/**
 * `refused`: no connection could be made · `reset`: it broke · `dns`: the name has no address ·
 * `tls`: no valid certificate. After `refused`, `dns` and `tls` nothing of the request was sent.
 */
export type FetchFailure = "refused" | "reset" | "dns" | "tls" | "aborted" | "timeout" | "other";

const byCode: Record<string, FetchFailure> = {
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

const byName: Record<string, FetchFailure> = { AbortError: "aborted", TimeoutError: "timeout" };

// OpenSSL's own words for a chain that does not hold, such as DEPTH_ZERO_SELF_SIGNED_CERT.
const certificateCode =
  /^(ERR_(TLS|SSL)_|UNABLE_TO_VERIFY|PATH_LENGTH|HOSTNAME|INVALID_(CA|PURPOSE)$)|CERT|ISSUER|CRL/;

/**
 * Sorts what `fetch`, a read of its body or `Bun.dns.lookup` threw; a custom abort reason is
 * `other`.
 */
export function explainFetchFailure(error: unknown): FetchFailure {
  if (!(error instanceof Error)) return "other";
  const named = byName[error.name];
  if (named !== undefined) return named;
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  if (code.startsWith("DNS_")) return "dns";
  return byCode[code] ?? (certificateCode.test(code) ? "tls" : "other");
}
