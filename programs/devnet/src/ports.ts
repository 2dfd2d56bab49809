import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { UserError } from "@rnode/program";

/** What listens on the ports from the base port on, in this order. */
export const PORT_USES = [
  "l1",
  "sequencerHttp",
  "sequencerWs",
  "sequencerAuth",
  "sequencerNode",
  "verifierHttp",
  "verifierWs",
  "verifierAuth",
  "verifierNode",
  "batcher",
  "sequencerP2P",
  "verifierP2P",
  "followerHttp",
  "followerWs",
  "followerAuth",
  "followerNode",
  "followerP2P",
  "proposer",
  "dashboard",
  "sequencerEngineFeed",
  "sequencerNodeFeed",
  "verifierEngineFeed",
  "verifierNodeFeed",
  "followerEngineFeed",
  "followerNodeFeed",
  "batcherFeed",
  "proposerFeed",
  "daServer",
  "leader",
  "sequencerEngineP2P",
  "verifierEngineP2P",
  "followerEngineP2P",
  "sequencerSubblocks",
  "verifierSubblocks",
  "followerSubblocks",
] as const;

export type PortUse = (typeof PORT_USES)[number];
export type Ports = Readonly<Record<PortUse, number>>;

/** Below the range that systems use for outgoing connections, so that a restarted program finds its port still free. */
const FREE_RANGE = { from: 10_000, to: 32_000 } as const;
const MAX_TRIES = 200;

/**
 * Consecutive ports from `basePort` on; 0: from any base where all are free.
 * @throws an error that names the taken port and the option to change
 */
export async function choosePorts(basePort: number): Promise<Ports> {
  if (basePort === 0) return portsFrom(await freeBasePort(PORT_USES.length));
  const ports = portsFrom(basePort);
  const taken = await firstTaken(ports);
  if (taken === undefined) return ports;
  const last = basePort + PORT_USES.length - 1;
  throw new UserError(
    `port ${ports[taken]} (${taken}) is in use: the devnet needs ${basePort} to ${last}; choose others with --base-port, 0 takes free ones`,
  );
}

const portsFrom = (base: number): Ports =>
  Object.fromEntries(PORT_USES.map((use, index) => [use, base + index])) as Record<PortUse, number>;

/** The first of `count` consecutive free ports. */
export async function freeBasePort(count: number): Promise<number> {
  for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
    const base = randomInt(FREE_RANGE.from, FREE_RANGE.to);
    let free = 0;
    while (free < count && (await isFree(base + free))) free++;
    if (free === count) return base;
  }
  throw new UserError(`no ${count} consecutive free ports from ${FREE_RANGE.from} to ${FREE_RANGE.to}`);
}

async function firstTaken(ports: Ports): Promise<PortUse | undefined> {
  for (const use of PORT_USES) if (!(await isFree(ports[use]))) return use;
  return undefined;
}

export async function isFree(port: number): Promise<boolean> {
  try {
    const server = await listen(port);
    await new Promise((resolve) => server.close(resolve));
    return true;
  } catch {
    return false;
  }
}

function listen(port: number): Promise<ReturnType<typeof createServer>> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => resolve(server));
  });
}
