// The Dockerfile: a user without rights, a volume for the data, the program as entry point.
import { basename, resolve } from "node:path";
import { computeStopSeconds, type Deployment } from "./deployment.ts";

const DATA = "/var/lib/wadi";
const CONFIG = "/etc/wadi";
const USER_ID = 10_001;
const DEFAULT_PORT = 8_080;

export function writeDockerfile(deployment: Deployment): string {
  const { settings, program, settingsFile } = deployment;
  const opened = settings.server.port || DEFAULT_PORT;
  const names = [program, ...(settingsFile ? [settingsFile] : [])].map((path) => basename(path));
  const stop_s = computeStopSeconds(settings);
  const run = [
    `--init --stop-timeout ${stop_s} -p 127.0.0.1:${opened}:${opened} -v wadi:${DATA}`,
    ...listCertificates(deployment),
  ].join(" ");
  const config = names[1] ? `COPY --chown=${USER_ID} ["${names[1]}", "${CONFIG}/wadi.toml"]\n` : "";
  return `# Beside ${names.join(" and ")}:
#   docker build -t wadi . && docker run -d --name wadi ${run} wadi
#   docker exec wadi wadi keys create --account default
FROM debian:12-slim
RUN useradd --system --uid ${USER_ID} --user-group --no-create-home wadi \\
    && install -d -o wadi -g wadi -m 700 ${DATA}
COPY ["${names[0]}", "/usr/local/bin/wadi"]
${config}# All addresses of the container; -p decides who reaches them.
ENV WADI_SERVER__HOST=0.0.0.0 \\
    WADI_SERVER__PORT=${opened} \\
    WADI_SERVER__DATA=${DATA}
USER ${USER_ID}:${USER_ID}
WORKDIR ${CONFIG}
VOLUME ${DATA}
EXPOSE ${opened}
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/wadi"]
CMD ["serve"]
`;
}

/** Mounts the files of TLS, which an image must not hold. */
function listCertificates({ settings, workingDirectory }: Deployment): string[] {
  const { cert, key } = settings.server.tls;
  return [cert, key]
    .filter((file) => file !== "")
    .map((file) => `-v ${resolve(workingDirectory, file)}:${resolve(CONFIG, file)}:ro`);
}
