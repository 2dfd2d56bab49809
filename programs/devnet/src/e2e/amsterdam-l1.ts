import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import { GoProgram, type InteropCase, runCases } from "@rnode/program/testing";
import { createWalletClient, fromRlp, type Hex, http, type Log, numberToHex, parseAbi, parseEther } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { getL2TransactionHashes } from "viem/op-stack";
import { devAccounts } from "../accounts.ts";
import { type Devnet, startDevnet } from "../devnet.ts";
import { l1ViemChain } from "../viem-chains.ts";
import { ChainView } from "./chain-view.ts";
import { waitFor } from "./wait.ts";

/** What `programs/devnet/interop` says of itself. */
interface GoL1 {
  readonly url: string;
  readonly beacon: string;
  readonly amsterdamTimeSec: number;
}

interface Stage {
  /** @param amsterdamSec from genesis to the fork */
  readonly l1: (amsterdamSec: number) => Promise<GoProgram<GoL1, object, { readonly event: string }>>;
  /** @param carrier is asked at each start of the batch submitter */
  readonly devnet: (l1: GoL1, carrier: () => "blobs" | "calldata") => Promise<Devnet>;
}

const SLOT_SEC = 2;
/** The contracts are on L1 before the fork, on a busy machine too. */
const FORK_AFTER_SEC = 120;
const HEADER_FIELDS = { before: 21, since: 23 };
/** From where EIP-7708's logs come. */
const TRANSFER_EMITTER = "0xfffffffffffffffffffffffffffffffffffffffe";
const EPOCHS = 25;
const LIMIT_MS = 120_000;

const PORTAL = parseAbi([
  "function depositTransaction(address to, uint256 value, uint64 gasLimit, bool isCreation, bytes data) payable",
]);

/** The whole system on an L1 of go-ethereum with Amsterdam. @returns how many cases passed and failed */
export function runInterop(binary: string, print: (line: string) => void): Promise<{ passed: number; failed: number }> {
  const stageOf = (onClose: (close: () => Promise<unknown>) => void): Stage => {
    const closers: (() => unknown)[] = [];
    onClose(async () => {
      for (const close of closers.reverse()) await close();
    });
    return {
      l1: async (amsterdamSec) => {
        const funded = devAccounts().map(({ address }) => address);
        const args = [`--slot=${SLOT_SEC}`, `--amsterdam=${amsterdamSec}`, `--funded=${funded.join(",")}`];
        const l1 = await GoProgram.start<GoL1, object, { readonly event: string }>(binary, args);
        closers.push(() => l1.close());
        return l1;
      },
      devnet: async ({ url, beacon }, carrier) => {
        const datadir = mkdtempSync(join(tmpdir(), "devnet-amsterdam-"));
        if (process.env.RNODE_E2E_KEEP === undefined) closers.push(() => rmSync(datadir, { recursive: true, force: true }));
        const scope = new Scope({ log: silentLogger, clock: systemClock });
        closers.push(() => scope.close());
        return startDevnet(scope, {
          datadir,
          basePort: 0,
          nodes: 2,
          supervise: false,
          l1: url,
          l1Beacon: beacon,
          // one block of L1 may be replaced
          sequencerL1Confs: 2,
          parameters: { l2BlockTimeSec: 1 },
          changeArgs: (name, args) =>
            name === "batcher"
              ? [...args.filter((arg) => !arg.includes("availability")), `--data-availability-type=${carrier()}`]
              : args,
        });
      },
    };
  };
  return runCases(CASES, stageOf, print);
}

interface L1BlockJson {
  readonly number: Hex;
  readonly hash: Hex;
  readonly timestamp: Hex;
  readonly gasUsed: Hex;
  readonly transactions: readonly { readonly from: Hex; readonly type: Hex; readonly input: Hex }[];
}

interface ReceiptJson {
  readonly cumulativeGasUsed: Hex;
  readonly blockNumber: Hex;
  readonly logs: readonly (Log<Hex, Hex, false> & { readonly address: Hex; readonly logIndex: Hex })[];
}

/** The queries of the test cases to a devnet and its L1. */
class View extends ChainView {
  readonly #devnet: Devnet;

  constructor(devnet: Devnet) {
    super(devnet);
    this.#devnet = devnet;
  }

  l1Block(number: number | "latest", isFull = false): Promise<L1BlockJson> {
    return this.l1("eth_getBlockByNumber", [number === "latest" ? number : numberToHex(number), isFull]);
  }

  async l1Number(): Promise<number> {
    return Number((await this.l1Block("latest")).number);
  }

  async headerFields(number: number): Promise<number> {
    return fromRlp(await this.l1<Hex>("debug_getRawHeader", [numberToHex(number)])).length;
  }

  /** Deposits ether, in a transaction of L1 that brings it. @returns its logs, and the deposit's transaction on L2, by viem's rules */
  async deposit(): Promise<{ readonly logs: ReceiptJson["logs"]; readonly l2Hash: Hex }> {
    const { info } = this.#devnet;
    const account = privateKeyToAccount(info.accounts[6]!.privateKey);
    const wallet = createWalletClient({ account, chain: l1ViemChain(info), transport: http() });
    const value = parseEther("1");
    const hash = await wallet.writeContract({
      address: info.contracts.l1.OptimismPortal,
      abi: PORTAL,
      functionName: "depositTransaction",
      value,
      args: [account.address, value, 100_000n, false, "0x"],
    });
    const { logs } = await waitFor("the deposit on L1", LIMIT_MS, async () => {
      const receipt = await this.l1<ReceiptJson | null>("eth_getTransactionReceipt", [hash]);
      return receipt ?? undefined;
    });
    const [l2Hash] = getL2TransactionHashes({
      logs: logs.map((log) => ({
        ...log,
        logIndex: Number(log.logIndex),
        blockNumber: BigInt(log.blockNumber!),
      })) as unknown as Log[],
    });
    assert.ok(l2Hash !== undefined, "the portal emits a deposit");
    return { logs, l2Hash };
  }

  /** Waits until the verifier has a transaction in a safe block. */
  async untilSafe(l2Hash: Hex): Promise<void> {
    await waitFor(`${l2Hash} in a safe block of the verifier`, LIMIT_MS, async () => {
      const receipt = await this.engine<{ blockNumber: Hex; status: Hex } | null>("verifier", "eth_getTransactionReceipt", [
        l2Hash,
      ]);
      if (receipt === null || Number(receipt.blockNumber) > (await this.safeNumber("verifier"))) return undefined;
      assert.equal(receipt.status, "0x1");
      return true;
    });
  }

  /** Waits for batches in transactions of a type, in L1 blocks from a number on, and for the verifier to have read them. */
  async untilBatches(type: Hex, from: number): Promise<void> {
    const batcher = this.#devnet.info.accounts[2]!.address.toLowerCase();
    let next = from;
    let found = 0;
    const place = await waitFor(`batches of type ${type}`, LIMIT_MS, async () => {
      for (const head = await this.l1Number(); next <= head; next++) {
        const { transactions } = await this.l1Block(next, true);
        found += transactions.filter((tx) => tx.from === batcher && tx.type === type).length;
        if (found >= 2) return next;
      }
      return undefined;
    });
    await waitFor(`the verifier past L1 block ${place}`, LIMIT_MS, async () =>
      (await this.syncStatus("verifier")).current_l1.number > place ? true : undefined,
    );
  }

  /** The L1 block that the verifier's safe head begins at. */
  async safeOrigin(): Promise<number> {
    const { safe_l2: safe } = await this.node<{ safe_l2: { l1origin: { number: number } } }>("verifier", "rnode_syncStatus");
    return safe.l1origin.number;
  }

  async requireSameChain(): Promise<number> {
    const safe = await this.safeNumber("verifier");
    for (const number of [1, Math.floor(safe / 2), safe]) {
      assert.equal(await this.blockHash("verifier", number), await this.blockHash("sequencer", number));
    }
    return safe;
  }

  /** Whether some block from a number on says another amount of gas than its receipts (EIP-7778, EIP-8037). */
  async hasOtherGasUsed(from: number): Promise<boolean> {
    for (let number = from; number <= (await this.l1Number()); number++) {
      const receipts = await this.l1<readonly ReceiptJson[]>("eth_getBlockReceipts", [numberToHex(number)]);
      const last = receipts.at(-1)?.cumulativeGasUsed;
      if (last !== undefined && BigInt(last) !== BigInt((await this.l1Block(number)).gasUsed)) return true;
    }
    return false;
  }
}

const CASES: readonly InteropCase<Stage>[] = [
  {
    name: "L1 of go-ethereum crosses Amsterdam: deposits, blobs, calldata, empty slots, replaced heads",
    run: async ({ l1: startL1, devnet: start }) => {
      let carrier: "blobs" | "calldata" = "blobs";
      const l1 = await startL1(FORK_AFTER_SEC);
      const { amsterdamTimeSec } = l1.identity;
      const devnet = await start(l1.identity, () => carrier);
      const view = new View(devnet);
      const genesis = devnet.info.genesis.l1.number;
      const isBefore = Number((await view.l1Block(genesis)).timestamp) < amsterdamTimeSec;
      assert.ok(isBefore, `the contracts were not on L1 ${FORK_AFTER_SEC} s after its genesis: the machine is too busy`);
      assert.equal(await view.headerFields(genesis), HEADER_FIELDS.before);
      await view.untilSafe((await view.deposit()).l2Hash);

      const fork = await waitFor("Amsterdam", FORK_AFTER_SEC * 1000, async () => {
        const head = await view.l1Block("latest");
        return Number(head.timestamp) >= amsterdamTimeSec ? Number(head.number) : undefined;
      });
      assert.equal(await view.headerFields(fork), HEADER_FIELDS.since);
      const { logs, l2Hash } = await view.deposit();
      assert.deepEqual([logs[0]!.address, Number(logs.at(-1)!.logIndex) > 0], [TRANSFER_EMITTER, true]);
      await view.untilSafe(l2Hash);
      await view.untilBatches("0x3", fork + 1);
      await devnet.programs.batcher.stop();
      carrier = "calldata";
      await devnet.programs.batcher.start();
      await view.untilBatches("0x2", fork + 1);

      await waitFor(`safe blocks of ${EPOCHS} epochs since the fork`, LIMIT_MS, async () =>
        (await view.safeOrigin()) >= fork + EPOCHS ? true : undefined,
      );
      assert.ok((await view.requireSameChain()) > EPOCHS);
      assert.ok(await view.hasOtherGasUsed(fork), "each block says the gas of its receipts");
      const { emptySlots, siblings } = await l1.ask<{ emptySlots: number; siblings: number }>("counts");
      assert.ok(emptySlots > 0 && siblings > 0, `${emptySlots} empty slots, ${siblings} replaced heads`);
    },
  },
];
