// The Dockerfile: a user without rights, a volume for the data, the program as entry point.
import { basename, resolve } from "node:path";
import { AdminError } from "../errors.ts";
import {
  computeStopSeconds,
  type Deployment,
  listFiles,
  listFolders,
  listVariables,
  quoteWord,
} from "./deployment.ts";

const DATA = "/var/lib/wadi";
const CONFIG = "/etc/wadi";
const USER_ID = 10_001;
const DEFAULT_PORT = 8_080;

export function writeDockerfile(deployment: Deployment): string {
  const { settings, program, settingsFile } = deployment;
  const opened = settings.server.port || DEFAULT_PORT;
  const names = [program, ...(settingsFile ? [settingsFile] : [])].map((path) => basename(path));
  const stop_s = computeStopSeconds(settings);
  const mounts = listMounts(deployment);
  const run = [
    `--init --stop-timeout ${stop_s} -p 127.0.0.1:${opened}:${opened} -v wadi:${DATA}`,
    ...listVariables(deployment).map((name) => `-e ${name}`),
    ...mounts,
  ].join(" ");
  const config = names[1]
    ? `COPY --chown=${USER_ID} ${writeCopy(names[1], `${CONFIG}/wadi.toml`)}\n`
    : "";
  const rights =
    mounts.length > 0 ? `\n# User ${USER_ID} needs its rights on what is mounted.` : "";
  return `# Beside ${names.join(" and ")}:
#   docker build -t wadi . && docker run -d --name wadi ${run} wadi
#   docker exec wadi wadi keys create --account default${rights}
FROM debian:12-slim
RUN useradd --system --uid ${USER_ID} --user-group --no-create-home wadi \\
    && install -d -o wadi -g wadi -m 700 ${DATA}
COPY ${writeCopy(names[0]!, "/usr/local/bin/wadi")}
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

/** Docker reads the names as JSON. */
const writeCopy = (...names: [string, string]) =>
  `["${names.map((name) => JSON.stringify(name).slice(1, -1)).join('", "')}"]`;

/** An image must not hold secrets, nor what the server writes. */
function listMounts(deployment: Deployment): string[] {
  const mount = (path: string, mode: string) => {
    const inside = resolve(CONFIG, path);
    if (inside === CONFIG) throw new AdminError("a container needs a folder of its own for keys");
    return `-v ${quoteWord(`${resolve(deployment.workingDirectory, path)}:${inside}${mode}`)}`;
  };
  return [
    ...listFiles(deployment).map((file) => mount(file, ":ro")),
    ...listFolders(deployment).map((folder) => mount(folder, "")),
  ];
}
