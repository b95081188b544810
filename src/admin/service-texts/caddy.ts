// The Caddyfile: certificates by itself, streams without a buffer.
import {
  type Deployment,
  listProxySettings,
  namePublicHost,
  PROXY_IDLE_S,
  placeUpstream,
} from "./deployment.ts";

/** Caddy sends event streams piece by piece and sets X-Forwarded-For by itself. */
export function writeCaddyfile({ settings }: Pick<Deployment, "settings">): string {
  const head = ["# /etc/caddy/Caddyfile", ...listProxySettings(settings)];
  return `${head.join("\n")}

${namePublicHost(settings)} {
	reverse_proxy ${placeUpstream(settings)} {
		transport http {
			# The server closes idle connections later, so that no request meets a closed one.
			keepalive ${PROXY_IDLE_S}s
		}
	}
}
`;
}
