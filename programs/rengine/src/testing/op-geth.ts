import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createRpcClient, type RpcClient } from "@rnode/jsonrpc";
import { type Hex, hexToBytes } from "@rnode/primitives";
import { freePort, until } from "@rnode/program/testing";

const JWT_SECRET: Hex = `0x${"5e".repeat(32)}`;

export interface OpGeth {
  readonly rpc: RpcClient;
  readonly engine: RpcClient;
  /** all that it has logged */
  log(): string;
  /** as an operator does; its folder remains */
  stop(): Promise<void>;
}

/** Forks of Ethereum, which op-geth does not derive from those of the OP Stack. */
const ETHEREUM_FORKS = {
  ...Object.fromEntries(
    [
      ...[
        "homestead",
        "eip150",
        "eip155",
        "eip158",
        "byzantium",
        "constantinople",
        "petersburg",
        "istanbul",
        "muirGlacier",
        "berlin",
      ],
      ...["london", "arrowGlacier", "grayGlacier", "mergeNetsplit"],
    ].map((name) => [`${name}Block`, 0]),
  ),
  terminalTotalDifficulty: 0,
  shanghaiTime: 0,
  cancunTime: 0,
  pragueTime: 0,
};

/** The genesis of an OP Stack chain with all forks in op-geth's words. */
export const opGethGenesis = (genesis: { readonly config: object }): object => ({
  difficulty: "0x0",
  ...genesis,
  config: { ...ETHEREUM_FORKS, ...genesis.config },
});

/** Starts op-geth without discovery. @param folder of an earlier start, or a new one */
export async function startOpGeth(binary: string, folder: string, genesis: object, args: readonly string[]): Promise<OpGeth> {
  const datadir = join(folder, "geth");
  mkdirSync(folder, { recursive: true });
  const [genesisPath, secretPath] = [join(folder, "genesis.json"), join(folder, "jwt.hex")];
  writeFileSync(genesisPath, JSON.stringify(genesis));
  writeFileSync(secretPath, JWT_SECRET);
  execFileSync(binary, ["init", "--datadir", datadir, genesisPath], { stdio: "ignore" });
  const [http, engine, port] = await Promise.all([freePort(), freePort(), freePort()]);
  const child = spawn(
    binary,
    [
      ...[
        "--datadir",
        datadir,
        "--nodiscover",
        "--nat",
        "none",
        "--port",
        `${port}`,
        "--ipcdisable",
        "--authrpc.jwtsecret",
        secretPath,
      ],
      ...["--http", "--http.api", "eth,net,admin,debug", "--http.port", `${http}`, "--authrpc.port", `${engine}`, ...args],
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  let log = "";
  child.stderr.on("data", (data: Buffer) => {
    log += data.toString();
  });
  const ended = once(child, "close");
  const clientOf = (rpcPort: number, jwtSecret?: Uint8Array): RpcClient =>
    createRpcClient({ url: `http://127.0.0.1:${rpcPort}`, timeoutMs: 60_000, ...(jwtSecret !== undefined && { jwtSecret }) });
  const [rpc, engineRpc] = [clientOf(http), clientOf(engine, hexToBytes(JWT_SECRET))];
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null) return;
    await Promise.all([rpc.close(), engineRpc.close()]);
    child.kill("SIGINT");
    await ended;
  };
  try {
    await until("op-geth answers", async () => {
      if (child.exitCode !== null) throw new Error(`op-geth ended: ${log.slice(-2_000)}`);
      return await rpc.call("eth_chainId");
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { rpc, engine: engineRpc, log: () => log, stop };
}
