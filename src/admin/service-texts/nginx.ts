// The server block of nginx, from version 1.22 on.
import {
  type Deployment,
  listProxySettings,
  namePublicHost,
  nameScheme,
  PROXY_IDLE_S,
  placeUpstream,
} from "./deployment.ts";

export function writeNginxServer({ settings }: Pick<Deployment, "settings">): string {
  const name = namePublicHost(settings);
  const head = [
    "# A file for the http block of nginx: /etc/nginx/conf.d/wadi.conf",
    ...listProxySettings(settings),
  ];
  return `${head.join("\n")}

upstream wadi {
  server ${placeUpstream(settings)};
  keepalive 64;
  # The server closes idle connections later, so that no request meets a closed one.
  keepalive_timeout ${PROXY_IDLE_S}s;
}

server {
  listen 443 ssl;
  listen [::]:443 ssl;
  server_name ${name};
  ssl_certificate /etc/letsencrypt/live/${name}/fullchain.pem;
  ssl_certificate_key /etc/letsencrypt/live/${name}/privkey.pem;

  location / {
    proxy_pass ${nameScheme(settings)}://wadi;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_set_header Host $http_host;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    # Streams reach callers piece by piece.
    proxy_buffering off;
    # The server bounds bodies, and refuses larger ones in its own format.
    client_max_body_size 0;
    proxy_request_buffering off;
    # Models may think, or start, for long before the first byte.
    proxy_read_timeout 1h;
    proxy_send_timeout 1h;
  }
}
`;
}
