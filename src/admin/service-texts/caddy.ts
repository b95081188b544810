// The Caddyfile: certificates by itself, streams without a buffer.
import {
  type Deployment,
  listProxySettings,
  namePublicHost,
  nameScheme,
  PROXY_IDLE_S,
  placeUpstream,
} from "./deployment.ts";

/** Caddy sends event streams piece by piece and sets X-Forwarded-For by itself. */
export function writeCaddyfile({ settings }: Pick<Deployment, "settings">): string {
  const scheme = nameScheme(settings);
  const name = namePublicHost(settings);
  const tls = scheme === "https" ? `\t\t\ttls_server_name ${name}\n` : "";
  const head = ["# /etc/caddy/Caddyfile", ...listProxySettings(settings)];
  return `${head.join("\n")}

${name} {
	reverse_proxy ${scheme}://${placeUpstream(settings)} {
		transport http {
${tls}			# The server closes idle connections later, so that no request meets a closed one.
			keepalive ${PROXY_IDLE_S}s
		}
	}
}
`;
}
