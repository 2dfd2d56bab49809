import { errorText } from "@rnode/observe";
import { systemClock } from "@rnode/program";
import {
  BaseError,
  ContractFunctionRevertedError,
  createPublicClient,
  createWalletClient,
  getAbiItem,
  type Hex,
  http,
  type PublicClient,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import type { DevnetInfo } from "../files.ts";
import { l2ViemChain } from "../viem-chains.ts";
import { L2_TO_L2_MESSENGER, MESSENGER_ABI, type MinedLog, relayRequest } from "./sent-message.ts";

const INTERVAL_MS = 500;
const SENT_MESSAGE = getAbiItem({ abi: MESSENGER_ABI, name: "SentMessage" });
/** Blocks whose logs are read at once. */
const BLOCKS_AT_ONCE = 1_000n;
/** A call that fails may succeed later, as a target can change; then it is for its sender to relay it. */
const MAX_FAILURES = 20;
/** A transaction that is in no block after this time is sent again: the pool has dropped it. */
const RESEND_MS = 30_000;

interface Chain {
  readonly id: number;
  readonly reader: PublicClient;
  readonly wallet: ReturnType<typeof walletOf>;
  /** the first block that was not read for messages */
  nextBlock: bigint;
}

interface Sent {
  readonly from: Chain;
  readonly to: Chain;
  readonly log: MinedLog;
  readonly nonce: bigint;
  failures: number;
  /** of the relaying transaction, and when it was sent */
  transaction: { readonly hash: Hex; readonly atMs: number } | undefined;
}

/**
 * Relays the messages that contracts send by L2ToL2CrossDomainMessenger, from each chain of the set to each other, as soon as the destination's
 * pool takes them. The transactions come from the challenger's accounts, which send no others on L2.
 */
export class Relayer {
  /** messages relayed by this process */
  relayed = 0;
  readonly #chains: readonly Chain[];
  readonly #log: (line: string) => void;
  readonly #stop = new AbortController();
  readonly #waiting: Sent[] = [];
  #isFailing = false;
  readonly #done: Promise<void>;

  constructor(infos: readonly DevnetInfo[], log: (line: string) => void) {
    this.#chains = infos.map((info) => ({
      id: info.l2ChainId,
      reader: createPublicClient({ chain: l2ViemChain(info), transport: http() }) as PublicClient,
      wallet: walletOf(info),
      nextBlock: 0n,
    }));
    this.#log = log;
    this.#done = this.#run();
  }

  /** messages that were sent, and are not relayed */
  get waiting(): number {
    return this.#waiting.length;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        for (const chain of this.#chains) await this.#read(chain);
        for (const sent of [...this.#waiting]) {
          if (signal.aborted) return;
          if (await this.#isOver(sent)) this.#waiting.splice(this.#waiting.indexOf(sent), 1);
        }
        this.#isFailing = false;
      } catch (error) {
        if (!this.#isFailing && !signal.aborted) this.#log(`messages cannot be relayed now: ${errorText(error)}`);
        this.#isFailing = true;
      }
      await systemClock.sleep(INTERVAL_MS, signal);
    }
  }

  async #read(from: Chain): Promise<void> {
    const head = await from.reader.getBlockNumber({ cacheTime: 0 });
    if (head + 1n < from.nextBlock) from.nextBlock = head + 1n; // the chain has left some
    while (from.nextBlock <= head) {
      const last = from.nextBlock + BLOCKS_AT_ONCE - 1n;
      const toBlock = last < head ? last : head;
      const logs = await from.reader.getLogs({
        address: L2_TO_L2_MESSENGER,
        event: SENT_MESSAGE,
        fromBlock: from.nextBlock,
        toBlock,
        strict: true,
      });
      for (const log of logs) {
        const to = this.#chains.find(({ id }) => BigInt(id) === log.args.destination);
        if (to !== undefined)
          this.#waiting.push({ from, to, log, nonce: log.args.messageNonce, failures: 0, transaction: undefined });
      }
      from.nextBlock = toBlock + 1n;
    }
  }

  /** Relays it if that is possible now. @returns whether nothing is left to do */
  async #isOver(sent: Sent): Promise<boolean> {
    const { from, to, log } = sent;
    const block = await from.reader.getBlock({ blockNumber: log.blockNumber }).catch(() => undefined);
    if (block?.hash !== log.blockHash) {
      if (from.nextBlock > log.blockNumber) from.nextBlock = log.blockNumber; // another block is there, which is read again
      return true;
    }
    const name = `message ${sent.nonce} from ${from.id} to ${to.id}`;
    if (sent.transaction !== undefined) {
      const receipt = await to.reader.getTransactionReceipt(sent.transaction).catch(() => undefined);
      if (receipt?.status === "success") {
        this.relayed++;
        this.#log(`${name} relayed`);
        return true;
      }
      if (receipt === undefined && systemClock.monotonicMs() - sent.transaction.atMs < RESEND_MS) return false;
      sent.transaction = undefined;
    }
    const { args, accessList } = relayRequest(log, { chainId: from.id, timestamp: block.timestamp });
    const call = { address: L2_TO_L2_MESSENGER, abi: MESSENGER_ABI, functionName: "relayMessage", args, accessList } as const;
    try {
      await to.reader.simulateContract({ ...call, account: to.wallet.account });
      sent.transaction = { hash: await to.wallet.writeContract(call), atMs: systemClock.monotonicMs() };
    } catch (error) {
      const revert = error instanceof BaseError ? error.walk((cause) => cause instanceof ContractFunctionRevertedError) : null;
      if (!(revert instanceof ContractFunctionRevertedError)) return false; // the pool does not take it yet
      if (revert.data?.errorName === "MessageAlreadyRelayed") return true;
      if (++sent.failures < MAX_FAILURES) return false;
      this.#log(`${name} is not relayed: ${revert.shortMessage}`);
      return true;
    }
    return false;
  }
}

const walletOf = (info: DevnetInfo) =>
  createWalletClient({
    account: privateKeyToAccount(info.accounts[info.roles.challenger]!.privateKey),
    chain: l2ViemChain(info),
    transport: http(),
  });
