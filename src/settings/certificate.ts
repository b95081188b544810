// Reads the certificate of the server and its key, and checks that they fit.
import type { Problems } from "./problem.ts";

/** Texts in PEM. */
export interface ServerCertificate {
  readonly cert: string;
  readonly key: string;
}

interface CertificateContext {
  readText(path: string): string;
  problems: Problems;
  /** Without it the files are not read. */
  wantsApiKeys: boolean;
}

const PATH = "server.tls";

/** Adds what is wrong to the problems; null without a certificate. */
export function readCertificate(
  { cert, key }: { cert: string; key: string },
  context: CertificateContext,
): ServerCertificate | null {
  const { problems, wantsApiKeys } = context;
  if (cert === "" && key === "") return null;
  if (cert === "") problems.add(`${PATH}.cert`, `is required beside ${PATH}.key`);
  else if (key === "") problems.add(`${PATH}.key`, `is required beside ${PATH}.cert`);
  if (cert === "" || key === "" || !wantsApiKeys) return null;
  const texts = { cert: readPem("cert", cert, context), key: readPem("key", key, context) };
  if (texts.cert === undefined || texts.key === undefined) return null;
  const certificate = { cert: texts.cert, key: texts.key };
  const [field, message] = findFault(certificate) ?? [];
  if (message === undefined) return certificate;
  problems.add(`${PATH}.${field}`, message);
  return null;
}

/** The last instant at which clients accept it. */
export function readExpiry({ cert }: ServerCertificate): number {
  return new (loadCrypto().X509Certificate)(cert).validToDate.getTime();
}

function readPem(name: string, file: string, { readText, problems }: CertificateContext) {
  try {
    return readText(file);
  } catch {
    problems.add(`${PATH}.${name}`, "names a file that cannot be read");
  }
}

function findFault({ cert, key }: ServerCertificate): [field: string, message: string] | undefined {
  const { X509Certificate, createPrivateKey } = loadCrypto();
  const first = attempt(() => new X509Certificate(cert));
  if (!first) return ["cert", "names a file without a certificate in PEM"];
  const secret = attempt(() => createPrivateKey(key));
  if (!secret) return ["key", "names a file without a private key in PEM, or with a passphrase"];
  if (!first.checkPrivateKey(secret)) return ["key", `is not the key of ${PATH}.cert`];
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Loaded only where a certificate is named. */
function loadCrypto(): typeof import("node:crypto") {
  return process.getBuiltinModule("node:crypto");
}
