import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import type { Hex } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DevAccount, devAccounts, devRoles } from "../accounts.ts";
import { type Devnet, startDevnet } from "../devnet.ts";
import { devnetPaths } from "../files.ts";
import type { ProgramName } from "../program-names.ts";
import { rpcCall } from "../rpc.ts";
import type { SyncStatus } from "../status.ts";
import { freePort, SignerProcess, TestAuthority } from "../testing/signer-process.ts";
import { waitFor } from "./wait.ts";

// The keys of sequencer, batch submitter and proposer lie with three signers, which are asked over mutual TLS.
describe.skipIf(process.env.RNODE_SIGNER_E2E === undefined)("a devnet that has no keys of its own", () => {
  const datadir = mkdtempSync(join(tmpdir(), "rnode-signer-e2e-"));
  const vault = mkdtempSync(join(tmpdir(), "rnode-signer-e2e-keys-"));
  const scope = new Scope({ log: silentLogger, clock: systemClock });
  const signers = new Map<ProgramName, SignerProcess>();
  let devnet: Devnet;

  const file = (name: string, text: string): string => {
    const path = join(vault, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  beforeAll(async () => {
    const authority = new TestAuthority();
    const ca = file("ca.crt", authority.cert);
    const roles = devRoles(devAccounts());
    const holders: [ProgramName, DevAccount, string][] = [
      ["sequencerNode", roles.sequencer, "p2p.sequencer.key-file"],
      ["batcher", roles.batcher, "private-key-file"],
      ["proposer", roles.proposer, "private-key-file"],
    ];
    const changed = new Map<ProgramName, (args: readonly string[]) => string[]>();
    for (const [name, { address, privateKey }, keyOption] of holders) {
      const port = await freePort();
      const tls = { ...authority.issue("signer"), clientCa: authority.cert };
      const signer = new SignerProcess(file(`${name}.json`, JSON.stringify({ key: privateKey, port, tls })));
      signers.set(name, signer);
      await signer.start();
      const { cert, key } = authority.issue(name);
      const tlsFiles = [`--signer.tls.cert=${file(`${name}.crt`, cert)}`, `--signer.tls.key=${file(`${name}.key`, key)}`];
      const own = [`--signer.endpoint=https://127.0.0.1:${port}`, `--signer.address=${address}`, `--signer.tls.ca=${ca}`];
      const isKey = (arg: string): boolean => arg.startsWith(`--${keyOption}=`);
      changed.set(name, (args) => {
        expect(args.filter(isKey)).toHaveLength(1);
        return [...args.filter((arg) => !isKey(arg)), ...own, ...tlsFiles];
      });
    }
    const changeArgs = (name: ProgramName, args: readonly string[]) => changed.get(name)?.(args) ?? args;
    const parameters = { l1BlockTimeSec: 1, l2BlockTimeSec: 1 };
    devnet = await startDevnet(scope, { datadir, basePort: 0, nodes: 3, parameters, changeArgs });
  }, 180_000);
  afterAll(async () => {
    await scope.close();
    for (const signer of signers.values()) await signer.kill();
    rmSync(vault, { recursive: true });
    if (process.env.RNODE_E2E_KEEP === undefined) rmSync(datadir, { recursive: true, force: true });
  });

  const statusOf = (role: "sequencer" | "verifier" | "follower") =>
    rpcCall<SyncStatus>(devnet.info.endpoints[role]!.node, "rnode_syncStatus");
  /** Blocks that its signer lets out reach the follower, which checks the signature, and L1. */
  const progresses = async (blocks: number): Promise<void> => {
    const { unsafe_l2, safe_l2 } = await statusOf("follower");
    await waitFor(`${blocks} more blocks on the follower`, 90_000, async () => {
      const now = await statusOf("follower");
      const isFurther = now.unsafe_l2.number >= unsafe_l2.number + blocks && now.safe_l2.number > safe_l2.number;
      return isFurther ? true : undefined;
    });
  };

  it("makes blocks, publishes batches and proposes outputs", async () => {
    await progresses(5);
    const { l1 } = devnet.info.endpoints;
    await waitFor("an unsafe block on the follower, which comes by gossip and not from L1", 20_000, async () => {
      const { unsafe_l2, safe_l2 } = await statusOf("follower");
      return unsafe_l2.number > safe_l2.number ? true : undefined;
    });
    const oracle = devnet.info.contracts.l1.L2OutputOracle;
    const latestBlockNumber = { to: oracle, data: "0x4599c788" };
    await waitFor("an output on L1", 120_000, async () => {
      const number = Number(await rpcCall<Hex>(l1, "eth_call", [latestBlockNumber, "latest"]));
      return number > 0 ? number : undefined;
    });
  }, 240_000);

  it("waits for its signer, says so, and goes on", async () => {
    await signers.get("sequencerNode")!.kill();
    const held = await waitFor("the sequencer to stand still", 30_000, async () => {
      const before = (await statusOf("sequencer")).unsafe_l2.number;
      await new Promise((resolve) => setTimeout(resolve, 4_000));
      return (await statusOf("sequencer")).unsafe_l2.number === before ? before : undefined;
    });
    expect((await statusOf("follower")).unsafe_l2.number).toBeLessThanOrEqual(held);
    const log = readFileSync(join(devnetPaths(datadir).logs, "sequencer-rnode.log"), "utf8");
    expect(log).toMatch(/cannot be signed|does not answer/);
    await signers.get("sequencerNode")!.start();
    await progresses(5);
  }, 240_000);
});
