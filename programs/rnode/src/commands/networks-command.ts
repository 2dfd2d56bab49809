import {
  compareNetworks,
  type NetworkChange,
  type RegistryContent,
  readRegistry,
  registryAt,
  registryPlace,
} from "@rnode/networks";
import { isCodedError } from "@rnode/primitives";
import { bool, type CommandIo, command, optionGroup, optionTable, systemClock, UserError } from "@rnode/program";
import { isNetworksTableOld, NETWORKS, NETWORKS_SOURCE, type Network, rollupForkTimesToJson } from "@rnode/protocol";
import { VERSION } from "../version.ts";

const table = optionTable({
  program: "rnode networks",
  summary: "Lists the named networks of this version, the day of their facts, and what a given superchain registry changes.",
  envPrefix: "RNODE_",
  groups: {
    main: optionGroup("", {
      registry: { parse: registryPlace, env: false, help: "A superchain registry to compare with: a URL, or a folder." },
      json: { parse: bool, default: false, env: false, help: "Print JSON." },
    }),
  },
});

/** `rnode networks`. The exit code is 1 if files of the registry cannot be read. */
export const networksCommand = command({ table, version: VERSION }, async ({ options: { main } }, io) => {
  const { registry, json } = main;
  const content = registry === undefined ? undefined : await contentOf(registry);
  const changes = content && compareNetworks(NETWORKS, content.networks);
  if (json) io.out(JSON.stringify(reportOf(registry, content, changes), undefined, 2));
  else if (content === undefined || changes === undefined) printTable(io);
  else printChanges(io, registry ?? "", content, changes);
  return content !== undefined && content.badFiles.length > 0 ? 1 : 0;
});

async function contentOf(registry: string): Promise<RegistryContent> {
  try {
    const content = await readRegistry(registryAt(registry));
    if (content !== undefined) return content;
  } catch (cause) {
    if (!isCodedError(cause, "registry/")) throw cause;
    throw new UserError(`--registry: ${cause.message}`, { cause });
  }
  throw new UserError(`--registry: ${registry} has no superchain/configs: give the root of a superchain registry`);
}

function sourceLine(): string {
  const { commit, day, amendedDay } = NETWORKS_SOURCE;
  const age = isNetworksTableOld(systemClock.unixMs() / 1_000) ? "; older than six months: update, or give --registry" : "";
  return `${NETWORKS.length} networks of superchain-registry ${commit.slice(0, 8)} (${day}), with facts of releases up to ${amendedDay}${age}`;
}

function printTable(io: CommandIo): void {
  io.out(sourceLine());
  const rows = NETWORKS.map((network) => {
    const [fork = "", timeSec = 0] = lastFork(network) ?? [];
    return [network.name, String(network.l2ChainId), String(network.l1ChainId), fork, utc(timeSec)];
  });
  for (const line of columns([["name", "chain", "L1", "last fork", "at"], ...rows])) io.out(line);
}

function printChanges(
  io: CommandIo,
  registry: string,
  { networks, badFiles }: RegistryContent,
  changes: readonly NetworkChange[],
): void {
  io.out(sourceLine());
  io.out(`${registry}: ${networks.length} networks, ${changes.length} of them or of the table differ`);
  for (const { name, l2ChainId, change, differences } of changes) {
    io.out(`${change} ${name} (${l2ChainId})`);
    for (const { field, here, there } of differences) io.out(`  ${field}: ${here ?? "(not set)"} -> ${there ?? "(not set)"}`);
  }
  for (const { reason } of badFiles) io.err(reason);
}

/** The last scheduled fork, as its key and time. */
function lastFork({ forkTimes }: Network): [string, number] | undefined {
  const scheduled = Object.entries(rollupForkTimesToJson(forkTimes)).filter(([, time]) => time !== undefined);
  return scheduled.at(-1) as [string, number] | undefined;
}

const utc = (timeSec: number): string => (timeSec === 0 ? "genesis" : `${new Date(timeSec * 1000).toISOString().slice(0, 19)}Z`);

/** Left-aligned columns. */
function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

function reportOf(
  registry: string | undefined,
  content: RegistryContent | undefined,
  changes: readonly NetworkChange[] | undefined,
): object {
  return {
    source: { ...NETWORKS_SOURCE, isOld: isNetworksTableOld(systemClock.unixMs() / 1_000) },
    networks: NETWORKS.map(({ name, path: place, title, l1ChainId, l2ChainId, forkTimes }) => ({
      name,
      path: place,
      title,
      l1ChainId,
      l2ChainId,
      forkTimes: rollupForkTimesToJson(forkTimes),
    })),
    ...(content && { registry: { place: registry, networks: content.networks.length, changes, badFiles: content.badFiles } }),
  };
}
