import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import { type InteropCase, runCases } from "@rnode/program/testing";
import {
  type Abi,
  createPublicClient,
  createWalletClient,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  http,
  keccak256,
  pad,
  parseEther,
  toHex,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { type Devnet, startDevnet } from "../devnet.ts";
import { contract, loadContracts } from "../l1/contracts.ts";
import { rpcCall } from "../rpc.ts";
import { l1ViemChain } from "../viem-chains.ts";
import { ChainView } from "./chain-view.ts";
import { waitFor } from "./wait.ts";

const ALPHABET = 255;
const MAX_DEPTH = 14n;
const SPLIT_DEPTH = 7n;
/** The state that AlphabetVM starts from, with the status of an unfinished program in its first byte. */
const ALPHABET_STATE = pad("0x60", { size: 32 });
const ALPHABET_PRESTATE: Hex = `0x03${keccak256(ALPHABET_STATE).slice(4)}`;
const BOND = parseEther("0.01");
const LIMIT_MS = 180_000;
/** of a game of super roots, for each second of L2 */
const STEPS_A_SECOND = 128;
/** accounts of the devnet with no other use */
const PROPOSER = 6;
const CHALLENGER = 7;

interface Artifact {
  readonly abi: Abi;
  readonly bytecode: { readonly object: Hex };
}

/** Contracts of the published release that the devnet does not deploy. */
function published(name: string): Artifact {
  const folder = dirname(createRequire(import.meta.url).resolve("@eth-optimism/contracts-bedrock/package.json"));
  return JSON.parse(readFileSync(join(folder, "forge-artifacts", `${name}.sol`, `${name}.json`), "utf8")) as Artifact;
}

/** A proxy that notes which methods are called, and with which errors they are answered. */
async function recording(url: string, onClose: (close: () => Promise<unknown>) => void) {
  const methods = new Set<string>();
  const errors = new Set<string>();
  const relay = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const answer = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
    const text = await answer.text();
    const calls = [JSON.parse(body)].flat() as { id: unknown; method: string; params: unknown }[];
    const answers = [JSON.parse(text)].flat() as { id: unknown; error?: { code: number; message: string } }[];
    for (const { id, method, params } of calls) {
      methods.add(method);
      const error = answers.find((one) => one.id === id)?.error;
      if (error !== undefined) errors.add(`${method} ${JSON.stringify(params)}: ${error.code} ${error.message}`);
    }
    response.writeHead(answer.status, { "content-type": "application/json" }).end(text);
  };
  const server = createServer((request, response) => void relay(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onClose(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, methods, errors };
}

interface Stage {
  readonly binary: string;
  readonly onClose: (close: () => Promise<unknown>) => void;
}

/** @returns how many cases passed and failed */
export function runInterop(binary: string, print: (line: string) => void): Promise<{ passed: number; failed: number }> {
  return runCases(CASES, (onClose): Stage => ({ binary, onClose }), print);
}

async function lagoonDevnet({ onClose }: Stage): Promise<Devnet> {
  const datadir = mkdtempSync(join(tmpdir(), "devnet-challenger-"));
  onClose(async () => rmSync(datadir, { recursive: true, force: true }));
  const scope = new Scope({ log: silentLogger, clock: systemClock });
  onClose(() => scope.close());
  return startDevnet(scope, {
    datadir,
    basePort: 0,
    nodes: 2,
    parameters: { l1BlockTimeSec: 1, l2BlockTimeSec: 1, proofs: "games", forkDelaysSec: { karst: 0, lagoon: 0 } },
    changeArgs: (program, args) => {
      if (program === "verifierNode") return [...args, `--safedb.path=${join(datadir, "safe-heads")}`];
      return program === "proposer" ? [...args, "--stopped"] : args;
    },
  });
}

/** Games that everybody may play, of the published contracts, with a program whose steps are letters. */
class AlphabetGames {
  readonly #devnet: Devnet;
  readonly #l1;
  readonly #game = published("FaultDisputeGame");

  constructor(devnet: Devnet) {
    this.#devnet = devnet;
    this.#l1 = createPublicClient({ chain: l1ViemChain(devnet.info), transport: http(), pollingInterval: 250 });
  }

  get #factory() {
    const { info } = this.#devnet;
    return { address: info.contracts.l1.DisputeGameFactory!, abi: contract(loadContracts(), "DisputeGameFactory").abi };
  }

  #wallet(account: number) {
    const { info } = this.#devnet;
    return createWalletClient({
      account: privateKeyToAccount(info.accounts[account]!.privateKey),
      chain: l1ViemChain(info),
      transport: http(),
    });
  }

  async #mined(sent: Promise<Hex>) {
    const receipt = await this.#l1.waitForTransactionReceipt({ hash: await sent });
    assert.equal(receipt.status, "success");
    return receipt;
  }

  /** @param genesisRoot output root from which all games start */
  async install(genesisRoot: Hex): Promise<void> {
    const { info } = this.#devnet;
    const owner = this.#wallet(info.roles.owner);
    const deploy = async (abi: Abi, bytecode: Hex, args: readonly unknown[]): Promise<Hex> =>
      (await this.#mined(owner.deployContract({ abi, bytecode, args }))).contractAddress!;
    const bundle = loadContracts();
    const ours = (name: string, args: readonly unknown[]): Promise<Hex> => {
      const { abi, creationCode } = contract(bundle, name);
      return deploy(abi, creationCode, args);
    };
    const theirs = ({ abi, bytecode }: Artifact, args: readonly unknown[]) => deploy(abi, bytecode.object, args);
    const factory = this.#factory;
    const registryCode = await ours("AnchorStateRegistry", [factory.address]);
    const registry = await ours("Proxy", [owner.account.address]);
    const anchor = { gameType: ALPHABET, outputRoot: { root: genesisRoot, l2BlockNumber: 0n } };
    const { abi: registryAbi } = contract(bundle, "AnchorStateRegistry");
    const initialize = encodeFunctionData({ abi: registryAbi, functionName: "initialize", args: [[anchor]] });
    const proxy = { address: registry, abi: contract(bundle, "Proxy").abi };
    await this.#mined(owner.writeContract({ ...proxy, functionName: "upgradeToAndCall", args: [registryCode, initialize] }));
    const oracle = await ours("PreimageOracle", [126_000n, 86_400n]);
    const vm = await theirs(published("AlphabetVM"), [ALPHABET_PRESTATE, oracle]);
    const game = await theirs(this.#game, [
      ...[ALPHABET, ALPHABET_PRESTATE, MAX_DEPTH, SPLIT_DEPTH, 0n, 3_600n],
      ...[vm, info.contracts.l1.DelayedWETH!, registry, BigInt(info.l2ChainId)],
    ]);
    await this.#mined(owner.writeContract({ ...factory, functionName: "setImplementation", args: [ALPHABET, game] }));
    await this.#mined(owner.writeContract({ ...factory, functionName: "setInitBond", args: [ALPHABET, BOND] }));
  }

  /** Claims that an L2 block has an output root. @returns the game */
  async create(root: Hex, block: number): Promise<Hex> {
    const factory = this.#factory;
    const extraData = encodeAbiParameters([{ type: "uint256" }], [BigInt(block)]);
    const args = [ALPHABET, root, extraData];
    await this.#mined(this.#wallet(PROPOSER).writeContract({ ...factory, functionName: "create", args, value: BOND }));
    const [address] = (await this.#l1.readContract({ ...factory, functionName: "games", args })) as [Hex, bigint];
    return address;
  }

  async #read<T>(address: Hex, functionName: string, args: readonly unknown[] = []): Promise<T> {
    return (await this.#l1.readContract({ address, abi: this.#game.abi, functionName, args })) as T;
  }

  async claims(
    game: Hex,
  ): Promise<{ readonly parent: number; readonly claimant: Hex; readonly claim: Hex; readonly position: bigint }[]> {
    const count = Number(await this.#read<bigint>(game, "claimDataLen"));
    const indexes = Array.from({ length: count }, (_, index) => BigInt(index));
    return Promise.all(
      indexes.map(async (index) => {
        const [parent, , claimant, , claim, position] = await this.#read<readonly [number, Hex, Hex, bigint, Hex, bigint]>(
          game,
          "claimData",
          [index],
        );
        return { parent, claimant, claim, position };
      }),
    );
  }

  isBlockChallenged(game: Hex): Promise<boolean> {
    return this.#read(game, "l2BlockNumberChallenged");
  }

  /** Attacks a claim, as a liar. */
  async attack(game: Hex, index: number, claim: Hex): Promise<void> {
    const { claim: disputed, position } = (await this.claims(game))[index]!;
    const value = await this.#read<bigint>(game, "getRequiredBond", [position * 2n]);
    const args = [disputed, BigInt(index), claim];
    const call = { address: game, abi: this.#game.abi, functionName: "attack", args, value };
    await this.#mined(this.#wallet(PROPOSER).writeContract(call));
  }
}

/** The L2 block that a claim at this position of the upper half is about. */
function blockAt(position: bigint, claimed: number): number {
  const depth = position.toString(2).length - 1;
  const indexAtDepth = position - (1n << BigInt(depth));
  const traceIndex = ((indexAtDepth + 1n) << (SPLIT_DEPTH - BigInt(depth))) - 1n;
  return Math.min(Number(traceIndex) + 1, claimed);
}

const CASES: readonly InteropCase<Stage>[] = [
  {
    name: "op-challenger leaves an honest game of our devnet and attacks a false one",
    run: async (stage) => {
      const devnet = await lagoonDevnet(stage);
      const { info } = devnet;
      const view = new ChainView(devnet);
      const games = new AlphabetGames(devnet);
      const rootAt = async (block: number): Promise<Hex> =>
        (await view.node<{ outputRoot: Hex }>("verifier", "optimism_outputAtBlock", [toHex(block)])).outputRoot;
      await games.install(await rootAt(0));
      await waitFor("twenty safe blocks", LIMIT_MS, async () => ((await view.safeNumber("verifier")) >= 20 ? true : undefined));
      await devnet.programs.batcher.stop(); // the same block is safe at the start of all games
      const l1Head = Number(await view.l1<Hex>("eth_blockNumber"));
      const block = await waitFor("the newest safe block", LIMIT_MS, async () => {
        const { current_l1: read, safe_l2: safe } = await view.syncStatus("verifier");
        return read.number > l1Head + 2 ? safe.number : undefined;
      });
      const honest = await games.create(await rootAt(block), block);
      const false_ = await games.create(keccak256("0x00"), block);
      const early = await games.create(await rootAt(block), block + 1_000);

      const node = await recording(info.endpoints.verifier.node, stage.onClose);
      const engine = await recording(info.endpoints.verifier.http, stage.onClose);
      const l1 = await recording(info.endpoints.l1, stage.onClose);
      const challenger = startChallenger(stage, [
        `--l1-eth-rpc=${l1.url}`,
        `--l1-beacon=${l1.url}`,
        `--l2-eth-rpc=${engine.url}`,
        `--rollup-rpc=${node.url}`,
        `--game-factory-address=${info.contracts.l1.DisputeGameFactory!}`,
        "--game-types=alphabet",
        `--private-key=${info.accounts[CHALLENGER]!.privateKey}`,
      ]);
      const untilClaims = (game: Hex, count: number) =>
        waitFor(`${count} claims`, LIMIT_MS, async () => {
          const claims = await games.claims(game);
          return claims.length >= count ? claims : undefined;
        }).catch((error: unknown) => {
          throw new Error(`${String(error)}\n${challenger.log()}`);
        });
      // Each of the challenger's claims is the root that our node says, and the liar disputes it.
      for (let at = 1; at <= 5; at += 2) {
        const claims = await untilClaims(false_, at + 1);
        const { claimant, parent, claim, position } = claims[at]!;
        assert.equal(claimant.toLowerCase(), info.accounts[CHALLENGER]!.address.toLowerCase());
        assert.equal(parent, at - 1);
        assert.equal(claim, await rootAt(blockAt(position, block)));
        if (at < 5) await games.attack(false_, at, keccak256(toHex(at)));
      }
      // A claim about a block that L1 has no data of is disproven with the header from our execution client.
      await waitFor("the challenge of the block number", LIMIT_MS, () =>
        games.isBlockChallenged(early).then((is) => is || undefined),
      );
      assert.equal((await games.claims(honest)).length, 1);
      for (const method of ["optimism_outputAtBlock", "optimism_syncStatus", "optimism_safeHeadAtL1Block"])
        assert.ok(node.methods.has(method), `${method} was not called`);
      assert.ok(engine.methods.has("eth_getBlockByNumber"));
      assert.deepEqual([...node.errors, ...engine.errors], []);
    },
  },
  {
    name: "op-challenger's claims in a game of super roots are those that our node says",
    run: async (stage) => {
      const { info } = await lagoonDevnet(stage);
      const url = info.endpoints.verifier.node;
      const at = (time: number) => rpcCall<SuperRootAt>(url, "superroot_atTimestamp", [toHex(time)]);
      const from = info.genesis.l2TimeSec + 3;
      const to = from + 2;
      const { current_l1: now } = await waitFor("safe blocks and the L1 block after theirs", LIMIT_MS, async () => {
        const answer = await at(to);
        return (answer.data?.verified_required_l1.number ?? Number.POSITIVE_INFINITY) < answer.current_l1.number - 1
          ? answer
          : undefined;
      });
      const args = ["super", `--node=${url}`, `--l1-head=${now.number - 1}`, `--from=${from}`, `--to=${to}`];
      const { stdout } = await promisify(execFile)(stage.binary, args, { maxBuffer: 2 ** 24 });
      const claims = stdout.trim().split("\n") as Hex[];
      assert.equal(claims.length, (to - from) * STEPS_A_SECOND);
      for (const [index, time] of [from + 1, to].entries()) {
        const { data, optimistic_at_timestamp: optimistic } = await at(time);
        const first = index * STEPS_A_SECOND;
        assert.equal(keccak256(claims[first + STEPS_A_SECOND - 1]!), data!.super_root);
        // The steps in between are about the block that each chain adds to the last super root.
        const { output_root: root } = optimistic[info.l2ChainId]!;
        for (const claim of claims.slice(first, first + STEPS_A_SECOND - 1)) assert.ok(claim.includes(root.slice(2)), claim);
      }
    },
  },
];

interface SuperRootAt {
  readonly current_l1: { readonly number: number };
  readonly optimistic_at_timestamp: Readonly<Record<string, { readonly output_root: Hex }>>;
  readonly data?: { readonly super_root: Hex; readonly verified_required_l1: { readonly number: number } };
}

function startChallenger({ binary, onClose }: Stage, args: readonly string[]) {
  const datadir = mkdtempSync(join(tmpdir(), "op-challenger-"));
  const quick = ["--http-poll-interval=1s", "--num-confirmations=1", "--txmgr.receipt-query-interval=500ms"];
  const child = spawn(binary, [...args, ...quick, `--datadir=${datadir}`], { stdio: ["ignore", "pipe", "pipe"] });
  let log = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data: Buffer) => (log += data.toString()));
  onClose(async () => {
    child.kill();
    if (child.exitCode === null) await once(child, "exit");
    rmSync(datadir, { recursive: true, force: true });
  });
  return { log: () => log };
}
