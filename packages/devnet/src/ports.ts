import { createServer } from "node:net";

/** What listens on the ports after the base port, in this order. */
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
] as const;

export type PortUse = (typeof PORT_USES)[number];
export type Ports = Readonly<Record<PortUse, number>>;

/**
 * Consecutive ports from `basePort`; 0: any that are free.
 * @throws an error naming the port that is taken and the option to change
 */
export async function choosePorts(basePort: number): Promise<Ports> {
  const chosen = basePort === 0 ? await freePorts(PORT_USES.length) : PORT_USES.map((_, index) => basePort + index);
  const ports = Object.fromEntries(PORT_USES.map((use, index) => [use, chosen[index]!])) as Record<PortUse, number>;
  if (basePort !== 0) {
    for (const use of PORT_USES) {
      if (await isFree(ports[use])) continue;
      const last = basePort + PORT_USES.length - 1;
      throw new Error(
        `port ${ports[use]} (${use}) is in use: the devnet needs ${basePort} to ${last}; choose others with --base-port, 0 takes free ones`,
      );
    }
  }
  return ports;
}

/** Held open together, so that they differ. */
async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => listen(0)));
  const ports = servers.map((server) => {
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    return address.port;
  });
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

async function isFree(port: number): Promise<boolean> {
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
