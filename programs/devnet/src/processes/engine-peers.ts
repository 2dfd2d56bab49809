import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { privateKeyToAccount } from "viem/accounts";
import { type DevnetPaths, NODE_ROLES, type NodeRole, writeSecret } from "../files.ts";
import type { Ports } from "../ports.ts";

/** The P2P settings of one rengine. */
export interface EnginePeering {
  readonly port: number;
  readonly keyPath: string;
  /** `enode://` texts of those that it dials */
  readonly neighbours: readonly string[];
}

/** How others reach the rengine with this key, which is made if it is not there. */
export function enodeOf(keyPath: string, tcpPort: number): string {
  if (!existsSync(keyPath)) {
    mkdirSync(dirname(keyPath), { recursive: true });
    writeSecret(keyPath, randomBytes(32).toString("hex"));
  }
  const { publicKey } = privateKeyToAccount(`0x${readFileSync(keyPath, "utf8").trim()}`);
  return `enode://${publicKey.slice("0x04".length)}@127.0.0.1:${tcpPort}`;
}

/** Each rengine dials the nodes before it, so no discovery is needed. */
export function peeringOf(paths: DevnetPaths, ports: Ports, role: NodeRole): EnginePeering {
  const before = NODE_ROLES.slice(0, NODE_ROLES.indexOf(role));
  return {
    port: ports[`${role}EngineP2P`],
    keyPath: paths.engineKey(role),
    neighbours: before.map((other) => enodeOf(paths.engineKey(other), ports[`${other}EngineP2P`])),
  };
}
