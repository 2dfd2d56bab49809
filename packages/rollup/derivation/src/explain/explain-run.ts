import { bytesToHex, equalBytes, type Hex, isCodedError, keccak256 } from "@rnode/primitives";
import {
  BLOB_BYTES,
  DA_COMMITMENT_VERSION,
  decodeBlob,
  decodeDaCommitment,
  decodeTransaction,
  derivationFactsAt,
  hashTransaction,
  type L1BlockRef,
  type L1Transaction,
  MAX_DA_INPUT_BYTES,
  type RollupConfig,
  recoverSender,
  type Transaction,
} from "@rnode/protocol";
import { withBlobIds } from "../l1/blob-ids.ts";
import type { BatcherData } from "../l1/l1-retrieval.ts";
import type { BlobProvider, DaInputs, Decompressor, L1Provider } from "../l1/providers.ts";
import { type ExplainedData, Explainer } from "./explain.ts";
import type { ExplainedTransaction, Explanation } from "./explain-report.ts";

/** Collects transactions of L1 blocks, and has their data explained in order. */
export class ExplainRun {
  private readonly config: RollupConfig;
  private readonly explainer: Explainer;
  private readonly daInputs: DaInputs | undefined;
  private readonly transactions: ExplainedTransaction[] = [];

  /** @param daInputs where data that is not on L1 is looked for */
  constructor(config: RollupConfig, decompressor: Decompressor, daInputs?: DaInputs) {
    this.config = config;
    this.daInputs = daInputs;
    this.explainer = new Explainer(config, decompressor);
  }

  get result(): Explanation {
    return { transactions: this.transactions, channels: [...this.explainer.channels.values()] };
  }

  /**
   * Explains the data for the batch inbox in an L1 block.
   *
   * @param batcher the valid sender; transactions of other senders are listed as dropped
   */
  async readBlock(
    block: L1BlockRef,
    transactions: readonly L1Transaction[],
    batcher: Uint8Array,
    blobs: BlobProvider,
  ): Promise<void> {
    const { readsBlobs } = derivationFactsAt(this.config.forkTimes, block.timestamp);
    const items: BatcherData[] = [];
    const counts: { readonly hash: Hex; readonly from: Hex | undefined; readonly items: number }[] = [];
    for (const { transaction, blobIds } of withBlobIds(transactions)) {
      if (transaction.to === undefined || !equalBytes(transaction.to, this.config.batchInboxAddress)) continue;
      const hash = bytesToHex(hashTransaction(transaction));
      const from = senderOf(transaction);
      if (from === undefined || !equalBytes(from, batcher)) {
        this.transactions.push(foreign(hash, from, block.number));
        continue;
      }
      const before = items.length;
      if (blobIds.length > 0 && readsBlobs) {
        const found = await blobs.blobs(block, blobIds);
        for (const blob of found ?? []) this.addBlob(items, block, hash, blob);
        if (found === undefined) this.explainer.refuse(block.number, hash, "blobs-missing");
      } else {
        await this.addCalldata(items, block, hash, transaction.data);
      }
      counts.push({ hash, from: bytesToHex(from), items: items.length - before });
    }
    const start = this.explainer.data.length;
    await this.explainer.read(block, items);
    for (const { hash, from } of counts) {
      const data = this.explainer.data.filter(
        (item, index) => item.transactionHash === hash && (index >= start || item.dropped !== undefined),
      );
      this.transactions.push({ hash, from, l1Block: block.number, data });
    }
  }

  /** Explains files as if all were in one block: each is a signed batcher transaction, its data, or a blob. */
  async readFiles(block: L1BlockRef, files: readonly Uint8Array[]): Promise<void> {
    const items: BatcherData[] = [];
    const given: { readonly hash: Hex; readonly from: Hex | undefined }[] = [];
    for (const bytes of files) {
      const transaction = asTransaction(bytes);
      const hash = bytesToHex(transaction === undefined ? keccak256(bytes) : hashTransaction(transaction));
      const sender = transaction && senderOf(transaction);
      given.push({ hash, from: sender && bytesToHex(sender) });
      if (bytes.length === BLOB_BYTES) this.addBlob(items, block, hash, bytes);
      else await this.addCalldata(items, block, hash, transaction?.data ?? bytes);
    }
    await this.explainer.read(block, items);
    for (const { hash, from } of given) {
      const data = this.explainer.data.filter(({ transactionHash }) => transactionHash === hash);
      this.transactions.push({ hash, from, l1Block: block.number, data });
    }
  }

  /** The data of a commitment is explained in the commitment's place. */
  private async addCalldata(items: BatcherData[], block: L1BlockRef, transactionHash: Hex, data: Uint8Array): Promise<void> {
    if (this.config.altDa === undefined || data[0] !== DA_COMMITMENT_VERSION) {
      items.push({ bytes: data, transactionHash });
      return;
    }
    const found = await this.inputOf(data.subarray(1));
    if (typeof found === "string") this.explainer.refuse(block.number, transactionHash, found);
    else items.push({ bytes: found, transactionHash });
  }

  /** @returns the data, or why it is not available */
  private async inputOf(bytes: Uint8Array): Promise<Uint8Array | string> {
    try {
      const commitment = decodeDaCommitment(bytes);
      const isKeccak = commitment.kind === "keccak256";
      if (isKeccak !== (this.config.altDa?.daCommitmentType === "KeccakCommitment")) return "wrong-commitment-type";
      if (this.daInputs === undefined) return "commitment-without-da-server";
      const input = await this.daInputs.get(commitment);
      if (input === undefined) return "da-input-missing";
      return isKeccak && input.length > MAX_DA_INPUT_BYTES ? "input-too-long" : input;
    } catch (error) {
      if (isCodedError(error, "da-commitment/")) return "bad-commitment";
      if (isCodedError(error, "alt-da/wrong-data")) return "da-input-wrong";
      throw error;
    }
  }

  private addBlob(items: BatcherData[], block: L1BlockRef, transactionHash: Hex, blob: Uint8Array): void {
    try {
      items.push({ bytes: decodeBlob(blob), transactionHash });
    } catch (error) {
      if (!isCodedError(error, "blob/")) throw error;
      this.explainer.refuse(block.number, transactionHash, "bad-blob");
    }
  }
}

/** Explains a range of L1 blocks. @throws {CodedError} l1/*, or an Error that names a block that L1 does not have */
export async function explainRange(
  { from, to, batcher }: { readonly from: number; readonly to: number; readonly batcher: Uint8Array },
  run: ExplainRun,
  { l1, blobs, onBlock }: { readonly l1: L1Provider; readonly blobs: BlobProvider; readonly onBlock: (number: number) => void },
): Promise<Explanation> {
  for (let number = from; number <= to; number++) {
    const block = await l1.blockByNumber(number);
    const transactions = block && (await l1.transactions(block.hash));
    if (block === undefined || transactions === undefined) throw new Error(`L1 does not have block ${number}`);
    onBlock(number);
    await run.readBlock(block, transactions, batcher, blobs);
  }
  return run.result;
}

function foreign(hash: Hex, from: Uint8Array | undefined, l1Block: number): ExplainedTransaction {
  const data: ExplainedData = { l1Block, transactionHash: hash, frames: [], dropped: "not-from-batcher" };
  return { hash, from: from && bytesToHex(from), l1Block, data: [data] };
}

function senderOf(transaction: Transaction): Uint8Array | undefined {
  try {
    return recoverSender(transaction);
  } catch (error) {
    if (!isCodedError(error, "tx/")) throw error;
    return undefined;
  }
}

function asTransaction(bytes: Uint8Array): Transaction | undefined {
  try {
    return decodeTransaction(bytes);
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return undefined;
  }
}
