import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import { freePort } from "@rnode/program/testing";
import type { Hex } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DevAccount, devAccounts, devRoles } from "../accounts.ts";
import { type Devnet, startDevnet } from "../devnet.ts";
import { devnetPaths } from "../files.ts";
import type { ProgramName } from "../processes/program-names.ts";
import { rpcCall } from "../rpc.ts";
import type { SyncStatus } from "../status.ts";
import { SignerProcess, TestAuthority } from "../testing/signer-process.ts";
import { waitFor } from "./wait.ts";

// The keys of sequencer, batch submitter and proposer lie with three signers, which are asked over mutual TLS.
describe.skipIf(process.env.RNODE_SIGNER_E2E === undefined)("a devnet that has no keys of its own", () => {
  const datadir = mkdtempSync(join(tmpdir(), "rnode-signer-e2e-"));
  const vault = mkdtempSync(join(tmpdir(), "rnode-signer-e2e-keys-"));
  const scope = new Scope({ log: silentLogger, clock: systemClock });
  const signers = new Map<ProgramName, SignerProcess>();
  const authority = new TestAuthority();
  let devnet: Devnet;

  const file = (name: string, text: string): string => {
    const path = join(vault, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  /** The certificate by which a program shows itself to its signer. */
  const writeCertificate = (name: ProgramName, issuer: TestAuthority) => {
    const { cert, key } = issuer.issue(name);
    return { cert: file(`${name}.crt`, cert), key: file(`${name}.key`, key) };
  };
  beforeAll(async () => {
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
      const signer = new SignerProcess(join(vault, `${name}.json`), { key: privateKey, port, tls });
      signers.set(name, signer);
      await signer.restart();
      const { cert, key } = writeCertificate(name, authority);
      const tlsFiles = [`--signer.tls.cert=${cert}`, `--signer.tls.key=${key}`];
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
  });
  afterAll(async () => {
    await scope.close();
    for (const signer of signers.values()) await signer.kill();
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
  });

  const stranger = new TestAuthority();
  const successor = new TestAuthority();
  const clientsOf = (issuer: TestAuthority) => ({
    tls: { ...sequencerSigner().config.tls, clientCa: issuer.cert },
  });
  const sequencerSigner = (): SignerProcess => signers.get("sequencerNode")!;
  /** Each fault of the block signer, the sequencer's message, and the remedy. */
  const faults: readonly [string, () => Promise<void> | void, RegExp, () => Promise<void> | void][] = [
    ["a signer that is killed", () => sequencerSigner().kill(), /does not answer/, () => sequencerSigner().restart()],
    ["a signer that hangs", () => sequencerSigner().pause(), /does not answer/, () => sequencerSigner().resume()],
    [
      "a signer with a certificate of an unknown authority",
      () => sequencerSigner().restart({ tls: { ...stranger.issue("signer"), clientCa: authority.cert } }),
      /certificate signature failure/,
      () => sequencerSigner().restart(),
    ],
    [
      "a signer that signs as another",
      () => sequencerSigner().restart({ signsWith: devRoles(devAccounts()).batcher.privateKey }),
      /signed as 0x\w+, but --signer.address is 0x/,
      () => sequencerSigner().restart(),
    ],
    [
      "a signer that lets only rotated certificates in",
      () => sequencerSigner().restart(clientsOf(successor)),
      /perhaps it does not accept our certificate/,
      () => void writeCertificate("sequencerNode", successor),
    ],
  ];

  it.each(faults)(
    "waits for %s, says so, and goes on",
    async (_, begin, reason, end) => {
      const logFile = join(devnetPaths(datadir).logs, "sequencer-rnode.log");
      const sizeBefore = readFileSync(logFile, "utf8").length;
      await begin();
      const held = await waitFor("the sequencer to stand still", 30_000, async () => {
        const before = (await statusOf("sequencer")).unsafe_l2.number;
        await new Promise((resolve) => setTimeout(resolve, 4_000));
        return (await statusOf("sequencer")).unsafe_l2.number === before ? before : undefined;
      });
      expect((await statusOf("follower")).unsafe_l2.number).toBeLessThanOrEqual(held);
      const said = readFileSync(logFile, "utf8").slice(sizeBefore);
      expect(said.split("\n").filter((line) => line.includes("sequencing is delayed") && reason.test(line))).not.toEqual([]);
      await end();
      await progresses(5);
    },
    240_000,
  );
});
