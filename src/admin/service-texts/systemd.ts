// The systemd unit of `wadi serve`: an own user, a watchdog, and walls that a JIT compiler allows.
import { dirname, join, resolve } from "node:path";
import {
  computeStopSeconds,
  type Deployment,
  listFiles,
  listFolders,
  quoteWord,
} from "./deployment.ts";

const USER = "wadi";
/** Longer than the silence after which the server's own watchdog writes a note and ends it. */
const WATCHDOG_S = 30;
const STATE = "/var/lib/";
const HOMES = /^\/(?:home|root|run\/user)(?:\/|$)/;
const TEMPORARY = /^\/(?:var\/)?tmp(?:\/|$)/;
const LOW_PORT_MAX = 1_023;

export function writeSystemdUnit(deployment: Deployment): string {
  const { settings, settingsFile, workingDirectory } = deployment;
  const variables = join(settingsFile ? dirname(settingsFile) : workingDirectory, "wadi.env");
  return `${listSteps(deployment)
    .map((step) => `#   ${step}\n`)
    .join("")}
[Unit]
Description=Wadi, a server of language models and agents
Wants=network-online.target
After=network-online.target
# A crash loop ends when its cause does.
StartLimitIntervalSec=0

[Service]
Type=notify
# After a failed takeover the old process names itself again, although it is not the main one.
NotifyAccess=all
User=${USER}
WorkingDirectory=${escapeSpecifiers(workingDirectory)}
# Variables that the settings name, such as keys of model servers: one NAME=VALUE a line.
EnvironmentFile=-${escapeSpecifiers(variables)}
ExecStart=${writeCommand(deployment)}
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=1
# Wrong usage stays wrong.
RestartPreventExitStatus=2
# A start may migrate the database.
TimeoutStartSec=30min
# Longer than server.stop_timeout.
TimeoutStopSec=${computeStopSeconds(settings)}
WatchdogSec=${WATCHDOG_S}
WatchdogSignal=SIGKILL
UMask=0077
${writeWalls(deployment).join("\n")}

[Install]
WantedBy=multi-user.target
`;
}

function listSteps(deployment: Deployment): string[] {
  const { dataDirectory, settingsFile } = deployment;
  const file = settingsFile && quoteWord(settingsFile);
  const init = ["wadi", "init", "--systemd", ...listOptions(deployment)].map(quoteWord).join(" ");
  return [
    `useradd --system --user-group --no-create-home --shell /usr/sbin/nologin ${USER}`,
    ...(file ? [`chown root:${USER} ${file} && chmod 640 ${file}`] : []),
    ...listFiles(deployment).map(
      (path) => `(let ${USER} read ${quoteWord(resolve(deployment.workingDirectory, path))})`,
    ),
    ...(nameState(dataDirectory) === null
      ? [`install -d -o ${USER} -g ${USER} -m 700 ${quoteWord(dataDirectory)}`]
      : []),
    ...resolveFolders(deployment).map(
      (path) => `install -d -o ${USER} -g ${USER} -m 700 ${quoteWord(path)}`,
    ),
    `${init} > /etc/systemd/system/wadi.service`,
    "systemctl daemon-reload && systemctl enable --now wadi",
  ];
}

function resolveFolders(deployment: Deployment): string[] {
  return listFolders(deployment).map((path) => resolve(deployment.workingDirectory, path));
}

/** Lists what the command line must name, too. */
function listOptions({ settingsFile, namesData, dataDirectory }: Deployment): string[] {
  return [
    ...(settingsFile ? ["--config", settingsFile] : []),
    ...(namesData ? ["--data", dataDirectory] : []),
  ];
}

function writeCommand(deployment: Deployment): string {
  const words = [deployment.program, "serve", ...listOptions(deployment)].map(quote).join(" ");
  // Systemd reads variables in a command.
  return escapeSpecifiers(words).replaceAll("$", "$$$$");
}

function writeWalls(deployment: Deployment): string[] {
  const { settings, settingsFile, program, workingDirectory, dataDirectory } = deployment;
  const { host, port } = settings.server;
  const ports = [port, Number(/:(\d+)$/.exec(settings.operator.listen)?.[1] ?? port)];
  const hasLowPort = ports.some((one) => one > 0 && one <= LOW_PORT_MAX);
  const startsPrograms = settings.models.some(
    ({ upstream }) => upstream.kind === "openai" && upstream.start?.command.length,
  );
  const folders = resolveFolders(deployment);
  const read = [settingsFile ?? "", ...listFiles(deployment)];
  const paths = [
    ...[program, dataDirectory, ...folders],
    ...read.map((path) => resolve(workingDirectory, path)),
  ];
  const isIn = (place: RegExp) => [workingDirectory, ...paths].some((path) => place.test(path));
  const state = nameState(dataDirectory);
  return [
    "",
    ...(state === null
      ? [`ReadWritePaths=${escapeSpecifiers(quote(dataDirectory))}`]
      : [`StateDirectory=${escapeSpecifiers(quote(state))}`, "StateDirectoryMode=0700"]),
    ...folders.map((path) => `ReadWritePaths=${escapeSpecifiers(quote(path))}`),
    "ProtectSystem=strict",
    `ProtectHome=${isIn(HOMES) ? "read-only" : "yes"}`,
    `PrivateTmp=${isIn(TEMPORARY) ? "no" : "yes"}`,
    ...(startsPrograms
      ? ["# Model servers that it starts may need graphics cards.", "PrivateDevices=no"]
      : ["PrivateDevices=yes"]),
    "NoNewPrivileges=yes",
    ...(hasLowPort
      ? [
          `# For a port below 1024 on ${host}.`,
          "AmbientCapabilities=CAP_NET_BIND_SERVICE",
          "CapabilityBoundingSet=CAP_NET_BIND_SERVICE",
        ]
      : ["CapabilityBoundingSet=", "PrivateUsers=yes"]),
    ...WALLS,
  ];
}

const WALLS = [
  "ProtectClock=yes",
  "ProtectControlGroups=yes",
  "ProtectHostname=yes",
  "ProtectKernelLogs=yes",
  "ProtectKernelModules=yes",
  "ProtectKernelTunables=yes",
  "ProtectProc=invisible",
  "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
  "RestrictNamespaces=yes",
  "RestrictRealtime=yes",
  "RestrictSUIDSGID=yes",
  "LockPersonality=yes",
  "RemoveIPC=yes",
  "SystemCallArchitectures=native",
  "SystemCallFilter=@system-service",
  "SystemCallFilter=~@privileged @resources",
  "SystemCallErrorNumber=EPERM",
  "# The JIT compiler writes machine code, which MemoryDenyWriteExecute forbids.",
];

/** Names a directory that systemd creates for the service; null elsewhere. */
function nameState(directory: string): string | null {
  return directory.startsWith(STATE) ? directory.slice(STATE.length) : null;
}

function escapeSpecifiers(text: string): string {
  return text.replaceAll("%", "%%");
}

/** Quotes a word as systemd reads it. */
function quote(word: string): string {
  if (/^[\w./:@+-]+$/.test(word)) return word;
  return `"${word.replace(/["\\]/g, "\\$&")}"`;
}
