import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Scope } from "@rnode/program";
import { concat, createWalletClient, defineChain, type Hex, http, keccak256, numberToHex, stringToBytes, toHex } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { devAccounts } from "../accounts.ts";
import { type Devnet, startDevnet } from "../devnet.ts";
import { ChainView } from "./chain-view.ts";
import { waitFor } from "./wait.ts";

const MNEMONIC = "legal winner thank year wave sausage worth useful legal winner thank yellow";
const DEFAULT_MNEMONIC = "test test test test test test test test test test test junk";
export const A = 901;
export const B = 902;
const EVENT = keccak256(stringToBytes("ExecutingMessage(bytes32,(address,uint256,uint256,uint256,uint256))"));
const CROSS_L2_INBOX: Hex = "0x4200000000000000000000000000000000000022";
const EMITTER: Hex = `0x${"e1".repeat(20)}`;
/** Stand-ins: the one logs its input; the other logs the identifier and the hash of a message, without a look at the access list. */
const genesisCodes: Record<Hex, Hex> = {
  [EMITTER]: "0x365f5f37602a365fa100",
  [CROSS_L2_INBOX]: `0x60a060045f3760a4357f${EVENT.slice(2)}60a05fa200`,
};
const TOPIC = numberToHex(0x2a, { size: 32 });
const common = { l2BlockTimeSec: 1, forkDelaysSec: { karst: 0, lagoon: 0 }, genesisCodes } as const;

export interface TwoChainsOptions {
  readonly folder: string;
  /** of each chain, whose rollup nodes that derive are stopped */
  readonly nodes: 2 | 3;
  /** L1 blocks: so long a chain has no users' transactions after a replaced block, on which its sequencer does not build */
  readonly seqWindowSize: number;
}

/** A log of a chain. */
export interface SentMessage {
  readonly chainId: number;
  readonly blockNumber: bigint;
  readonly logIndex: bigint;
  readonly timestamp: bigint;
  readonly payload: Hex;
}

interface ReceiptJson {
  readonly blockNumber: Hex;
  readonly blockHash: Hex;
  readonly logs: readonly { readonly logIndex: Hex }[];
}

/** Two rollups of one dependency set on one L1. */
export class TwoChains {
  readonly a: Devnet;
  readonly b: Devnet;
  readonly l1: string;
  readonly #walletA;
  readonly #walletB;

  private constructor(a: Devnet, b: Devnet) {
    this.a = a;
    this.b = b;
    this.l1 = a.info.endpoints.l1;
    this.#walletA = walletOf(a, A, DEFAULT_MNEMONIC);
    this.#walletB = walletOf(b, B, MNEMONIC);
  }

  static async start(scope: Scope, { folder, nodes, seqWindowSize }: TwoChainsOptions): Promise<TwoChains> {
    const parameters = { ...common, seqWindowSize, l1BlockTimeSec: 2, l2ChainId: A, otherChains: [B] };
    const a = await startDevnet(scope, { datadir: join(folder, "a"), basePort: 0, nodes, parameters });
    const mnemonicFile = join(folder, "mnemonic");
    const l1FunderKeyFile = join(folder, "key");
    writeFileSync(mnemonicFile, `${MNEMONIC}\n`);
    writeFileSync(l1FunderKeyFile, devAccounts(7)[6]!.privateKey);
    const { l1 } = a.info.endpoints;
    const onL1 = { l1, l1Beacon: l1, mnemonicFile, l1FunderKeyFile };
    const b = await startDevnet(scope, {
      ...onL1,
      datadir: join(folder, "b"),
      basePort: 0,
      nodes,
      parameters: { ...common, seqWindowSize, l2ChainId: B, otherChains: [A] },
    });
    for (const { programs } of [a, b]) {
      await programs.followerNode?.stop();
      await programs.verifierNode!.stop();
    }
    return new TwoChains(a, b);
  }

  devnetOf(chainId: number): Devnet {
    return chainId === A ? this.a : this.b;
  }

  viewOf(chainId: number): ChainView {
    return new ChainView(this.devnetOf(chainId));
  }

  /** Makes a log that others can execute. */
  async send(chainId: number, payload: Hex): Promise<SentMessage> {
    const receipt = await this.#mined(chainId, { to: EMITTER, data: payload });
    const block = await this.viewOf(chainId).engine<{ timestamp: Hex }>("sequencer", "eth_getBlockByHash", [
      receipt.blockHash,
      false,
    ]);
    return {
      chainId,
      payload,
      blockNumber: BigInt(receipt.blockNumber),
      logIndex: BigInt(receipt.logs[0]!.logIndex),
      timestamp: BigInt(block.timestamp),
    };
  }

  /** Executes a message on a chain, whether there is such a log or not. */
  execute(chainId: number, message: SentMessage): Promise<ReceiptJson> {
    const { blockNumber, logIndex, timestamp, payload } = message;
    const words = [BigInt(EMITTER), blockNumber, logIndex, timestamp, BigInt(message.chainId)];
    const data = concat([
      toHex(new Uint8Array(4)),
      ...words.map((value) => numberToHex(value, { size: 32 })),
      keccak256(concat([TOPIC, payload])),
    ]);
    return this.#mined(chainId, { to: CROSS_L2_INBOX, data, gas: 200_000n });
  }

  async #mined(chainId: number, tx: { readonly to: Hex; readonly data: Hex; readonly gas?: bigint }): Promise<ReceiptJson> {
    const hash = await (chainId === A ? this.#walletA : this.#walletB).sendTransaction({ ...tx, value: 0n });
    const view = this.viewOf(chainId);
    return waitFor("a receipt of a sealed block", 60_000, async () => {
      const head = await view.engine<Hex>("sequencer", "eth_blockNumber", []);
      const receipt = await view.engine<ReceiptJson | null>("sequencer", "eth_getTransactionReceipt", [hash]);
      // A receipt of a subblock has a provisional hash.
      return receipt && BigInt(receipt.blockNumber) <= BigInt(head) ? receipt : undefined;
    });
  }
}

function walletOf(devnet: Devnet, chainId: number, mnemonic: string) {
  const url = devnet.info.endpoints.sequencer.http;
  const chain = defineChain({
    id: chainId,
    name: String(chainId),
    nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
    rpcUrls: { default: { http: [url] } },
  });
  return createWalletClient({ account: mnemonicToAccount(mnemonic, { addressIndex: 8 }), chain, transport: http(url) });
}
