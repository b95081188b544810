// The Dockerfile: a user without rights, a volume for the data, the program as entry point.
import { basename } from "node:path";
import { computeStopSeconds, type Deployment } from "./deployment.ts";

const DATA = "/var/lib/wadi";
const USER_ID = 10_001;
const DEFAULT_PORT = 8_080;

export function writeDockerfile({ settings, program, settingsFile }: Deployment): string {
  const opened = settings.server.port || DEFAULT_PORT;
  const names = [program, ...(settingsFile ? [settingsFile] : [])].map((path) => basename(path));
  const stop_s = computeStopSeconds(settings);
  const run = `--init --stop-timeout ${stop_s} -p 127.0.0.1:${opened}:${opened} -v wadi:${DATA}`;
  const config = names[1] ? `COPY --chown=${USER_ID} ["${names[1]}", "/etc/wadi/wadi.toml"]\n` : "";
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
WORKDIR /etc/wadi
VOLUME ${DATA}
EXPOSE ${opened}
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/wadi"]
CMD ["serve"]
`;
}
