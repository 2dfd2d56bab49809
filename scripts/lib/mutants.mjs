// The rules of derivation, each with an edit that switches it off (or moves its limit): `scripts/mutants.mjs` makes one edit at a time
// and expects a test to fail. `from` must occur exactly once in the file. `loops: true` marks a mutant that can only be noticed by the time that
// its tests take.
//
// Not listed, because no input can show a difference: the part of span rule 6 about a span that begins between the safe head and the next
// block (it is never a whole number of block times away); the check of batches on arrival in the batch queue (they are checked again before
// they are used); the timeout of channels behind the first in the channel bank (they were opened later); emptying the frame queue when Holocene begins (L1 moves
// on only once it is empty); the access list's hash and the slot number of an unsafe block (no header has one of them without the other).

const BATCH = "packages/rollup/derivation/src/batches/batch-checks.ts";
const SPAN = "packages/rollup/derivation/src/batches/span-batch-checks.ts";
const FILL = "packages/rollup/derivation/src/batches/span-queue.ts";
const QUEUE = "packages/rollup/derivation/src/batches/batch-queue.ts";
const STAGE = "packages/rollup/derivation/src/batches/batch-stage.ts";
const WINDOW = "packages/rollup/derivation/src/batches/l1-window.ts";
const BANK = "packages/rollup/derivation/src/channels/channel-bank.ts";
const ASSEMBLER = "packages/rollup/derivation/src/channels/channel-assembler.ts";
const READER = "packages/rollup/derivation/src/channels/channel-reader.ts";
const FRAMES = "packages/rollup/derivation/src/channels/frame-queue.ts";
const RETRIEVAL = "packages/rollup/derivation/src/l1/l1-retrieval.ts";
const TRAVERSAL = "packages/rollup/derivation/src/l1/l1-traversal.ts";
const ATTRIBUTES = "packages/rollup/derivation/src/attributes/attributes.ts";
const ATTRIBUTES_STAGE = "packages/rollup/derivation/src/attributes/attributes-stage.ts";
const ALT_DA = "packages/rollup/derivation/src/l1/alt-da-stage.ts";
const CHALLENGES = "packages/rollup/derivation/src/l1/da-challenges.ts";
const ROWS = "packages/base/protocol/src/batches/span-batch-transactions.ts";
const LOGS = "packages/base/protocol/src/transactions/contract-logs.ts";
const UPDATES = "packages/base/protocol/src/rollup/system-config.ts";
const PIPELINE = "packages/rollup/derivation/src/pipeline.ts";
const SYNC = "packages/rollup/derivation/src/start/sync-start.ts";
const SEARCH = "packages/rollup/derivation/src/start/sync-start-search.ts";
const CHANNEL = "packages/base/protocol/src/batches/channel.ts";
const FRAME = "packages/base/protocol/src/batches/frame.ts";
const BLOB = "packages/base/protocol/src/batches/blob.ts";
const SAFE = "programs/rnode/src/safe/safe-chain-check.ts";
const DERIVED_FROM = "programs/rnode/src/safe/derived-from.ts";
const CONSOLIDATION = "programs/rnode/src/common/consolidation.ts";
const LAYER_SYNC = "programs/rnode/src/unsafe/execution-layer-sync.ts";
const BLOCKS = "packages/network/sync/src/blocks/block-download.ts";
const CHAIN_SYNC = "packages/network/sync/src/chain-sync.ts";
const HEADERS = "packages/network/sync/src/headers/header-download.ts";

const off = (rule, file, from, to = "") => ({ rule, file, from, to });

// biome-ignore format: a row for each rule
export const MUTANTS = [
  off("singular 0: no L1 blocks", BATCH, 'if (epoch === undefined) return { kind: "undecided", reason: "no-l1-blocks" };', 'if (epoch === undefined) return drop("epoch-too-old");'),
  off("singular 1: future", BATCH, 'if (batch.timestamp > nextTimestamp) return hasStrictOrder ? drop("timestamp-in-future") : FUTURE;'),
  off("singular 1: future drops with Holocene", BATCH, 'hasStrictOrder ? drop("timestamp-in-future") : FUTURE', "FUTURE"),
  off("singular 2: past", BATCH, 'if (batch.timestamp < nextTimestamp) return hasStrictOrder ? PAST : drop("timestamp-in-past");'),
  off("singular 2: past is skipped with Holocene", BATCH, 'hasStrictOrder ? PAST : drop("timestamp-in-past")', 'drop("timestamp-in-past")'),
  off("singular 3: parent hash", BATCH, 'if (batch.parentHash !== undefined && batch.parentHash !== l2SafeHead.hash) return drop("parent-hash-mismatch");'),
  off("singular 4: sequencing window", BATCH, 'if (batch.epoch.number + config.seqWindowSize < inclusion.number) return drop("included-too-late");'),
  off("singular 4: its last block", BATCH, "config.seqWindowSize < inclusion.number", "config.seqWindowSize <= inclusion.number"),
  off("singular 5: epoch too old", BATCH, 'if (batch.epoch.number < epoch.number) return drop("epoch-too-old");'),
  off("singular 6: next origin unknown", BATCH, 'if (origin === undefined) return { kind: "undecided", reason: "next-origin-unknown" };', 'if (origin === undefined) return drop("epoch-too-new");'),
  off("singular 7: epoch too new", BATCH, 'if (batch.epoch.number > epoch.number + 1) return drop("epoch-too-new");'),
  off("singular 8: epoch hash", BATCH, 'if (batch.epoch.hash !== origin.hash) return drop("epoch-hash-mismatch");'),
  off("singular 9: older than its origin", BATCH, 'if (block.timestamp < origin.timestamp) return drop("before-l1-origin");'),
  off("singular 10: drift with transactions", BATCH, 'if (block.transactions.length > 0) return drop("exceeds-sequencer-drift");'),
  off("singular 10: exactly the drift", BATCH, "if (block.timestamp <= origin.timestamp + maxSequencerDriftSec", "if (block.timestamp < origin.timestamp + maxSequencerDriftSec"),
  off("singular 11: drift, next origin unknown", BATCH, 'if (nextOrigin === undefined) return { kind: "undecided", reason: "next-origin-unknown" };', "if (nextOrigin === undefined) return undefined;"),
  off("singular 12: must advance", BATCH, 'return block.timestamp >= nextOrigin.timestamp ? drop("must-advance-origin") : undefined;', "return undefined;"),
  off("singular 12: exactly the next origin's time", BATCH, "block.timestamp >= nextOrigin.timestamp", "block.timestamp > nextOrigin.timestamp"),
  off("singular 13: activation block", BATCH, 'return drop("transactions-in-activation-block");', "// allowed"),
  off("singular 14: empty transaction", BATCH, 'if (transaction.length === 0) return drop("empty-transaction");'),
  off("singular 15: deposit", BATCH, 'if (isDepositTransaction(transaction)) return drop("deposit-transaction");'),
  off("singular 16: set-code before Isthmus", BATCH, 'if (transaction[0] === SET_CODE_TYPE && !acceptsSetCode) return drop("set-code-before-isthmus");'),
  off("singular 16: post-exec before Lagoon", BATCH, 'if (isPostExecTransaction(transaction) && !acceptsGasRefunds) return drop("post-exec-before-lagoon");'),

  off("span 1: no L1 blocks", SPAN, 'if (epoch === undefined) return { verdict: { kind: "undecided", reason: "no-l1-blocks" } };', 'if (epoch === undefined) return { verdict: drop("epoch-too-old") };'),
  off("span 2: next origin unknown", SPAN, 'if (startOrigin === undefined) return { verdict: { kind: "undecided", reason: "next-origin-unknown" } };', 'if (startOrigin === undefined) return { verdict: drop("epoch-too-new") };'),
  off("span 3: Delta", SPAN, 'if (!derivationFactsAt(config.forkTimes, startOrigin.timestamp).allowsSpanBatches) return { verdict: drop("span-before-delta") };', "void derivationFactsAt;"),
  off("span 4: future", SPAN, 'if (span.firstTimestamp > nextTimestamp) return { verdict: hasStrictOrder ? drop("timestamp-in-future") : FUTURE };'),
  off("span 4: future drops with Holocene", SPAN, 'hasStrictOrder ? drop("timestamp-in-future") : FUTURE', "FUTURE"),
  off("span 5: past", SPAN, 'if (span.lastTimestamp < nextTimestamp) return { verdict: hasStrictOrder ? PAST : drop("timestamp-in-past") };'),
  off("span 5: past is skipped with Holocene", SPAN, 'hasStrictOrder ? PAST : drop("timestamp-in-past")', 'drop("timestamp-in-past")'),
  off("span 6: between two blocks", SPAN, "distanceSec % config.blockTimeSec !== 0", "false"),
  off("span 7: parent missing", SPAN, 'if (parent === undefined) throw new DerivationError("derivation/l2-block-missing", { number: parentNumber });', 'if (parent === undefined) return { verdict: drop("span-parent-mismatch") };'),
  off("span 7: begins with the genesis block", SPAN, 'if (parentNumber < config.genesis.l2.number) return { verdict: drop("span-misaligned") };'),
  off("span 8: parent check", SPAN, 'if (!parent.hash.startsWith(read.parentCheck)) return { verdict: drop("span-parent-mismatch") };'),
  off("span 9: sequencing window", SPAN, 'if (span.firstEpochNumber + config.seqWindowSize < inclusion.number) return { verdict: drop("included-too-late") };'),
  off("span 9: its last block", SPAN, "config.seqWindowSize < inclusion.number", "config.seqWindowSize <= inclusion.number"),
  off("span 10: epoch too new", SPAN, 'if (span.firstEpochNumber > parent.l1Origin.number + 1) return { verdict: drop("epoch-too-new") };'),
  off("span 11: origin check", SPAN, 'if (!endOrigin.hash.startsWith(read.l1OriginCheck)) return { verdict: drop("span-origin-mismatch") };'),
  off("span 12: end origin unknown", SPAN, 'return { verdict: { kind: "undecided", reason: "end-origin-unknown" } };', 'return { verdict: drop("span-origin-missing") };'),
  off("span 13: epoch too old", SPAN, 'if (span.firstEpochNumber < parent.l1Origin.number) return { verdict: drop("epoch-too-old") };'),
  off("span 14: epoch older than the safe head's", SPAN, 'if (block.epochNumber < l2SafeHead.l1Origin.number) return drop("epoch-too-old");'),
  off("span 14: origin missing", SPAN, 'if (origin?.number !== block.epochNumber) return drop("span-origin-missing");', "if (origin === undefined) continue;"),
  off("span 14: time", SPAN, "checkTime(config, block, origin, l1Blocks[originIndex + 1], hasAdvanced) ??", "(void checkTime, void hasAdvanced, undefined) ??"),
  off("span 14: rule 12 only without a new origin", SPAN, "const hasAdvanced = block.epochNumber > previousEpoch;", "const hasAdvanced = false;"),
  off("span 14: transactions", SPAN, "checkTransactions(config, block.timestamp, block.transactions);", "(void checkTransactions, undefined);"),
  off("span 14: only blocks after the safe head", SPAN, "if (block.timestamp <= l2SafeHead.timestamp) continue;"),
  off("span 15: count of the overlap's transactions", SPAN, "safeTransactions.length === block.transactions.length &&"),
  off("span 15: the overlap's transactions", SPAN, "safeTransactions.every((transaction, i) => equalBytes(transaction, block.transactions[i]!)) &&"),
  off("span 15: the overlap's origins", SPAN, "l2BlockRefFromPayload(config, payload).l1Origin.number === block.epochNumber;", "true;"),
  off("span 15: with Holocene", STAGE, "if (parent === undefined || !this.#checksOverlap) return verdict;", "return verdict;"),
  off("span: blocks in the safe chain are left out", FILL, "while (this.#next !== undefined && this.#next.timestamp <= l2SafeHead.timestamp);", "while (false);"),
  off("span: origins of its blocks are known", FILL, "if (this.#next !== undefined && this.#origins.has(this.#next.epochNumber)) return true;", "return true;"),

  off("batch queue: data before the safe head's origin", QUEUE, "const isBehind = origin.number < l2SafeHead.l1Origin.number;", "const isBehind = false;"),
  off("batch queue: the rest of a span whose block was not built", QUEUE, "      this.#span.clear();\n    }\n    const { origin }", "    }\n    const { origin }"),
  off("batch queue: undecided stops the round", QUEUE, 'if (verdict.kind === "undecided") {', 'if (verdict.kind === "undecided" && i < 0) {'),
  off("batch queue: later batches stay after an accepted one", QUEUE, "finish(this.#batches.slice(i + 1));", "finish([]);"),
  off("batch queue: future batches stay", QUEUE, "else remaining.push(included);", ""),
  off("window: must fit the safe head", WINDOW, "if (epoch === undefined || epoch.hash === l1Origin.hash || epoch.number === l1Origin.number + 1) return undefined;", "return undefined;"),
  off("window: expires", WINDOW, "if (!isExpired) return undefined;", ""),
  off("window: expires in its last block only when that is used up", WINDOW, "(this.#origin.number === expiresAt && isOutOfData)", "this.#origin.number === expiresAt"),
  off("window: not a block later", WINDOW, "const expiresAt = epoch.number + config.seqWindowSize;", "const expiresAt = epoch.number + config.seqWindowSize + 1;"),
  off("empty batches: the first of each epoch", WINDOW, "timestamp < nextEpoch.timestamp || isFirstOfEpoch", "timestamp < nextEpoch.timestamp"),
  off("empty batches: not beyond the next epoch's time", WINDOW, "timestamp < nextEpoch.timestamp || isFirstOfEpoch", "true"),

  off("batch stage: data up to the safe head's origin", STAGE, "Math.max(l2SafeHead.l1Origin.number,", "Math.max(l2SafeHead.l1Origin.number - 1,"),
  off("batch stage: two origins", STAGE, 'if (blocks < 2) throw', "if (blocks < 0) throw"),
  off("batch stage: what was read before a start", STAGE, "Math.max(l2SafeHead.l1Origin.number, readUpTo)", "l2SafeHead.l1Origin.number"),
  off("batch stage: what was read before in the L1 block that a start is from", STAGE, "known?.isReached === false", "known?.isReached === undefined"),
  off("batch stage: the rest of a span whose block was not built", STAGE, "      this.#span.clear();\n    }\n    if (this.#arriving", "    }\n    if (this.#arriving"),
  off("batch stage: a wrong span ends its channel", STAGE, 'if (verdict.kind === "drop") this.flush();', ""),
  off("batch stage: a wrong batch ends its channel", STAGE, 'case "drop":\n        this.flush();', 'case "drop":'),
  off("batch stage: deposits only ends the channel", PIPELINE, "batches.flush();", ""),
  off("batch stage: deposits only keeps no transactions", PIPELINE, "attributes: { ...rejected.attributes, transactions: deposits }", "attributes: rejected.attributes"),

  off("channel bank: the first channel times out", BANK, 'if (this.#isTimedOut(first)) {', "if (false as boolean) {"),
  off("channel bank: frames of a timed-out channel", BANK, "if (this.#isTimedOut(channel)) {\n      this.#observer", "if (false as boolean) {\n      this.#observer"),
  off("channel bank: in order before Canyon", BANK, "this.#position.rules.readsChannelsOutOfOrder ? this.#channels.values() : [first]", "this.#channels.values()"),
  off("channel bank: out of order from Canyon on", BANK, "this.#position.rules.readsChannelsOutOfOrder ? this.#channels.values() : [first]", "[first]"),
  off("channel bank: pruned", BANK, "if (total <= this.#position.rules.maxChannelBankBytes) return;", "if (total >= 0) return;"),
  off("channel bank: exactly its limit", BANK, "total <= this.#position.rules.maxChannelBankBytes", "total < this.#position.rules.maxChannelBankBytes"),
  off("assembler: times out", ASSEMBLER, 'if (this.#channel?.isTimedOut(origin.number, rules.channelTimeoutL1Blocks)) this.#close("timed-out");', "void origin;"),
  off("assembler: a first frame replaces", ASSEMBLER, "if (frame.number === 0) {", "if (frame.number === 0 && this.#channel === undefined) {"),
  off("assembler: too large", ASSEMBLER, "if (channel.sizeBytes > rules.maxRlpBytesPerChannel) {", "if (channel.sizeBytes < 0 && rules) {"),
  off("channel: another id", CHANNEL, 'if (!equalBytes(frame.channelId, this.id)) return { kind: "dropped", reason: "wrong-channel" };'),
  off("channel: second last frame", CHANNEL, 'if (frame.isLast && this.#end !== undefined) return { kind: "dropped", reason: "second-last" };'),
  off("channel: duplicate", CHANNEL, 'if (this.#frames.has(frame.number)) return { kind: "dropped", reason: "duplicate" };'),
  off("channel: in order with Holocene", CHANNEL, 'if (this.#inOrder && frame.number > 0 && frame.number !== this.#highest + 1) return { kind: "dropped", reason: "out-of-order" };', "void this.#inOrder;"),
  off("channel: beyond the end", CHANNEL, 'if (this.#end !== undefined && frame.number >= this.#end) return { kind: "dropped", reason: "after-last" };'),
  off("channel: the end deletes higher frames", CHANNEL, "if (number >= frame.number) this.#frames.delete(number);"),
  off("channel: the quirk of sizes", CHANNEL, "this.#sizeBytes -= frameSize(stored);", "if (number >= frame.number) this.#sizeBytes -= frameSize(stored);"),
  off("channel: timeout's last block", CHANNEL, "this.openBlockNumber + timeoutL1Blocks < l1BlockNumber", "this.openBlockNumber + timeoutL1Blocks <= l1BlockNumber"),

  off("reader: compression by the first byte", READER, "if (!isZlib && !(first === CHANNEL_VERSION_BROTLI && rules.allowsBrotli)) {", "if (first === undefined) {"),
  off("reader: brotli before Fjord", READER, "first === CHANNEL_VERSION_BROTLI && rules.allowsBrotli", "first === CHANNEL_VERSION_BROTLI"),
  off("reader: span batches before Delta", READER, "if (!rules.allowsSpanBatches) {", "if (false as boolean) {"),
  off("reader: lists", READER, "return isList ?", "return (false as boolean) ?"),
  off("reader: limit of bytes", READER, 'this.#decompressor.decompress("zlib", content, rules.maxRlpBytesPerChannel)', 'this.#decompressor.decompress("zlib", content, 1e9)'),
  off("reader: limit of bytes, brotli", READER, "content.subarray(1), rules.maxRlpBytesPerChannel)", "content.subarray(1), 1e9)"),

  off("frame queue: out of order", FRAMES, '? undefined : { drops: "second", reason: "out-of-order" };', "? undefined : undefined;"),
  off("frame queue: after the last", FRAMES, 'if (first.isLast) return { drops: "second", reason: "after-last" };'),
  off("frame queue: another channel not from its first frame", FRAMES, 'if (second.number !== 0) return { drops: "second", reason: "not-first" };'),
  off("frame queue: an unfinished channel", FRAMES, 'return first.isLast ? undefined : { drops: "first", reason: "channel-replaced" };', "return undefined;"),
  off("frame queue: tests the new pair", FRAMES, 'if (fault.drops === "first" && i > 0) i--;'),
  off("frame queue: only with Holocene", FRAMES, "if (rules.hasStrictOrder) {", "if (rules) {"),
  off("frame: version", FRAME, 'if (version !== DERIVATION_VERSION) throw new CodedError<FrameErrorCode>("frame/unknown-version", { version });'),
  off("frame: no frames", FRAME, 'if (frames.length === 0) throw new CodedError<FrameErrorCode>("frame/no-frames");'),
  off("frame: is_last", FRAME, 'if (isLast > 1) throw new CodedError<FrameErrorCode>("frame/bad-is-last", { offset, isLast });'),
  off("frame: length", FRAME, 'if (length > MAX_FRAME_DATA_BYTES) throw new CodedError<FrameErrorCode>("frame/too-long", { offset, length });'),
  off("frame: exactly the longest", FRAME, "if (length > MAX_FRAME_DATA_BYTES)", "if (length >= MAX_FRAME_DATA_BYTES)"),
  off("blob: field elements", BLOB, 'if (byte >= 0x40) throw new CodedError<BlobErrorCode>("blob/field-element-too-large", { element: at >> 5 });'),
  off("blob: version", BLOB, 'if (version !== ENCODING_VERSION) throw new CodedError<BlobErrorCode>("blob/unknown-version", { version });'),
  off("blob: length", BLOB, 'if (length > MAX_BLOB_DATA_BYTES) throw new CodedError<BlobErrorCode>("blob/length-too-large", { length });'),
  off("blob: rest of the round", BLOB, 'if (stream[at] !== 0) throw new CodedError<BlobErrorCode>("blob/data-after-end", { position: at - PREFIX_BYTES });'),
  off("blob: rest of the blob", BLOB, 'if (blob[at] !== 0) throw new CodedError<BlobErrorCode>("blob/data-after-end", { element: at >> 5 });'),

  off("retrieval: transaction types", RETRIEVAL, "if (!BATCHER_TRANSACTION_TYPES.includes(transaction.type)) return false;"),
  off("retrieval: inbox", RETRIEVAL, "!equalBytes(transaction.to, this.#config.batchInboxAddress)", "(void this.#config, false)"),
  off("retrieval: sender", RETRIEVAL, "return equalBytes(recoverSender(transaction), this.#position.systemConfig.batcherAddress);", "return recoverSender(transaction).length > 0;"),
  off("retrieval: blobs only from Ecotone", RETRIEVAL, "transaction.type === BLOB_TRANSACTION && this.#position.rules.readsBlobs", "transaction.type === BLOB_TRANSACTION"),
  off("retrieval: missing blobs reset", RETRIEVAL, "if (blobs === undefined) {", "if (blobs === undefined && block.number < 0) {"),
  off("traversal: parent hash", TRAVERSAL, "if (next.parentHash !== origin.hash) {", "if (false as boolean) {"),
  off("traversal: config updates of the block itself", TRAVERSAL, "this.#moveTo(next, updated.systemConfig);", "this.#moveTo(next, systemConfig);"),

  off("attributes: older than the origin", ATTRIBUTES, "if (timestamp < origin.timestamp) {", "if (false as boolean) {"),
  off("attributes: epoch hash of the same epoch", ATTRIBUTES, "if (epoch.hash !== parent.l1Origin.hash) return mismatch(epoch.hash);"),
  off("attributes: parent of a new epoch", ATTRIBUTES, "if (origin.parentHash !== parent.l1Origin.hash) return", 'if (origin.parentHash === "0x") return'),
  off("attributes: deposits", ATTRIBUTES, "  l1Info,\n  ...deposits,\n  ...upgrades,\n", "  l1Info,\n  ...(void deposits, []),\n  ...upgrades,\n"),
  off("attributes: order of deposits and upgrades", ATTRIBUTES, "  ...deposits,\n  ...upgrades,\n", "  ...upgrades,\n  ...deposits,\n"),
  off("attributes: sequence number of a new epoch", ATTRIBUTES, "systemConfig, sequenceNumber: 0 }", "systemConfig, sequenceNumber: parent.sequenceNumber + 1 }"),
  off("attributes: config updates of a new epoch", ATTRIBUTES, "applySystemConfigUpdates(rollup, parentConfig, receipts, origin.timestamp)", "{ systemConfig: (void applySystemConfigUpdates, parentConfig) }"),
  off("logs: a malformed one is skipped alone", LOGS, "skipped.push({ logIndex, reason: error.code });", "throw error;"),
  off("logs: a malformed one keeps its index", LOGS, "const logIndex = nextIndex++;", "const logIndex = read.length;\n      nextIndex++;"),
  off("logs: of transactions that succeeded", LOGS, "status !== 1 || "),
  off("logs: of the contract", LOGS, "!equalBytes(log.address, address) || "),
  off("config updates: number of topics", UPDATES, " || topics.length !== 3"),
  off("config updates: version", UPDATES, 'if (!isZeroBytes(version)) throw new CodedError<SystemConfigErrorCode>("system-config/unknown-version");'),
  off("config updates: padding", UPDATES, "if (!isZeroBytes(word.subarray(0, 32 - length))) {", "if (false as boolean) {"),
  off("config updates: exactly one zero in the EIP-1559 parameters", UPDATES, "if (isZeroBytes(params.subarray(0, 4)) !== isZeroBytes(params.subarray(4))) {", "if (false as boolean) {"),
  off("config updates: two zeros in the EIP-1559 parameters", UPDATES, "isZeroBytes(params.subarray(0, 4)) !== isZeroBytes(params.subarray(4))", "isZeroBytes(params.subarray(0, 4)) || isZeroBytes(params.subarray(4))"),
  off("span batch: a rebuilt transaction is one of its type", ROWS, "readTransaction(encoded);", "void readTransaction;"),
  off("frame queue: numbers have 16 bits", FRAMES, " % (MAX_FRAME_NUMBER + 1)", " + 0 * MAX_FRAME_NUMBER"),
  off("alt-DA: the events up to an expiry are read before any data", ALT_DA, "Math.max(this.#readAheadTo, this.#challengeOrigin)", "-1"),
  off("alt-DA: blocks read ahead are L1's", ALT_DA, "if (known.hash !== origin.hash) return reorganised(known, origin.hash);", "void reorganised;"),
  off("alt-DA: finality does not run ahead of derivation", ALT_DA, "Math.min(l1Finalized.number, this.#commitmentOrigin)", "l1Finalized.number"),
  off("alt-DA: a challenge stays while its commitment waits", CHALLENGES, " && !waiting.has(key)"),
  off("alt-DA: finality waits for all data of an L1 block", CHALLENGES, "next === undefined || number < next.inclusion.number", "next === undefined || number > 0"),
  off("attributes stage: the batch fits the safe head", ATTRIBUTES_STAGE, "if (parentHash !== l2SafeHead.hash || timestamp !== l2SafeHead.timestamp + this.#config.rollup.blockTimeSec) {", "if (false as boolean) {"),
  off("reset: back by the channel timeout", PIPELINE, "return l2Block.l1Origin.number + timeout <= l2SafeHead.l1Origin.number;", "return timeout > 0;"),

  off("sync start: genesis of L2", SYNC, "if (block.hash !== genesis.l2.hash) {", "if (false as boolean) {"),
  off("sync start: genesis of L1", SYNC, "if (l1Block !== undefined && l1Block.hash !== genesis.l1.hash) {", "if (false as boolean) {"),
  off("sync start: finalized block", SYNC, "if (block.hash === finalized.hash) return;", "if (block.hash.length > 0) return;"),
  off("sync start: too deep", SYNC, "if (block.l1Origin.number + MAX_REORG_WINDOWS * lookback < heads.unsafe.l1Origin.number) {", "if (false as boolean) {"),
  off("sync start: conflicting origin", SYNC, "      unsafe = undefined;\n      highestCanonical = undefined;", "      highestCanonical = undefined;"),
  off("sync start: a window back", SYNC, "block.l1Origin.number + lookback < highestCanonical.l1Origin.number;", "true;"),
  off("sync start: at the first block of an origin", SYNC, "block.sequenceNumber === 0 &&", ""),
  off("sync start: sequence numbers", SYNC, 'if (parent.sequenceNumber + 1 !== block.sequenceNumber) throw inconsistent("sequence number");'),
  off("sync start: origin numbers", SYNC, 'if (parent.l1Origin.number + 1 !== block.l1Origin.number) throw inconsistent("L1 origin number");'),
  off("sync start: parent of the origin", SYNC, 'if (isCanonical && l1Block.parentHash !== parent.l1Origin.hash) throw inconsistent("L1 origin of the parent");', "void isCanonical;"),
  off("sync start: lost labels", SYNC, "if (lostLabels || unsafe.number < safe.number || unsafe.number < finalized.number)", "if (unsafe.number < safe.number || unsafe.number < finalized.number)"),
  off("sync start, search: blocks of replaced origins", SEARCH, "const unsafe = isReplacedAfter ? canonical : head;", "const unsafe = head;"),
  off("sync start, search: a window back", SEARCH, "const newest = canonical.l1Origin.number - window - 1;", "const newest = canonical.l1Origin.number;"),
  off("sync start, search: too deep", SEARCH, "if (isReplacedAfter && isTooDeep(canonical)) return atFinalized(unsafe, { isTooDeep: true });"),
  off("sync start, search: not beyond the safe head", SEARCH, "Math.min(canonical.number, safe.number)", "canonical.number"),
  off("sync start: a rewound engine", SYNC, "if (lostLabels || unsafe.number < safe.number || unsafe.number < finalized.number)", "if (lostLabels)"),

  off("safe chain: known L1 block is asked", SAFE, "if (known !== undefined && !(await this.isCanonical(known.l1Block)))", "if (false as boolean)"),
  off("safe chain: records of other blocks", SAFE, "return (await this.deps.l2.blockByNumber(known.safeHead.number))?.ref.hash === known.safeHead.hash ? known : undefined;", "return known;"),
  off("safe chain: L1 origin is gone", SAFE, "return (await this.isCanonical(l1Origin)) ? undefined :", "return (true as boolean) ? undefined :"),
  off("safe chain: no batch any more", SAFE, 'if (this.filledInAtSec === derivedTimestampSec) return "it came from a batch, and L1 has none for it";'),
  off("safe chain: users' transactions", SAFE, "if (!some.envelope.executionPayload.transactions.every(isDepositTransaction)) return some.ref.number;"),
  off("safe chain: users' transactions above former safe", SAFE, "if (some.ref.number >= last) return undefined;", "if (some.ref.number >= last + 1) return undefined;"),
  off("safe chain: further back first", SAFE, "if (this.startsFurtherBack === 0 && this.canStartFurtherBack) return undefined;"),
  off("safe chain: so many starts further back", SAFE, "const MAX_STARTS_FURTHER_BACK = 3;", "const MAX_STARTS_FURTHER_BACK = 2;"),
  off("safe chain: former safe blocks of a start before", SAFE, "Math.max(highestFormerSafe.number, before)", "highestFormerSafe.number"),
  off("safe chain: beyond what was contradicted", SAFE, "if (safe.number >= this.contradictedNumber) this.startsFurtherBack = 0;"),
  off("safe chain: finalized blocks", SAFE, 'if (number <= finalized.number) return critical(contradiction(block.ref, "finalized", mismatch));'),
  off("safe chain: unsafe blocks", SAFE, "if (number > this.highestFormerSafeNumber) return undefined;"),
  off("safe chain: L1 block that is read", SAFE, "if (!(await this.isCanonical(derived.derivedFrom)))", "if (false as boolean)"),
  off("safe chain: batches before the window's end", SAFE, 'if (isLate && (verdict.kind === "drop" || verdict.kind === "future"))', 'if (verdict.kind === "drop" || verdict.kind === "future")'),
  off("safe chain: another chain", SAFE, "if (this.otherChain === undefined || this.unfitL1Blocks.size < UNFIT_L1_BLOCKS_BEFORE_REWIND) return;", "if (this.unfitL1Blocks.size < UNFIT_L1_BLOCKS_BEFORE_REWIND) return;"),
  off(
    "safe chain: unfit L1 blocks before a rewind",
    SAFE,
    "const UNFIT_L1_BLOCKS_BEFORE_REWIND = 5;",
    "const UNFIT_L1_BLOCKS_BEFORE_REWIND = 4;",
  ),
  off("safe chain: an accepted batch confirms", SAFE, "        this.isConfirmed = true;\n        this.unconfirmed = undefined;\n        return;", "        return;"),
  off("safe chain: derived from the genesis on", SAFE, "if (base.number <= this.deps.config.genesis.l2.number) this.isConfirmed = true;"),
  off("safe chain: derived again after a reset", DERIVED_FROM, "this.tip = base.number;", "void base;"),

  off("sync: a head that fork choice names is synced to", CHAIN_SYNC, 'if (result.kind === "updated" && result.status.status === "SYNCING") this.#pursue(hash, { state, version });', 'if (result.kind === "updated" && result.status.status === "SYNCING") void version;'),
  off("sync: who is on another branch is no liar", HEADERS, 'next.peer.blame("useless",', 'next.peer.blame("lied",'),
  off("execution-layer sync: a block behind the head becomes safe and finalized", LAYER_SYNC, "{ head: hash, safe: safe.hash, finalized: finalized.hash }", "{ head: hash, safe: this.engineHeads!.safe.hash, finalized: this.engineHeads!.finalized.hash }"),
  off("sync: a header is the one that the header above it names", HEADERS, "if (!equalBytes(next.headers[0]!.hash, wanted.hash))", "if (next.headers.length === 0)"),
  off("sync: what waits is of the target's chain", BLOCKS, "if (waiting === undefined || !equalBytes(waiting.hash, hash!)) block = received(hash!);", "if (waiting === undefined) block = received(hash!);"),
  off("sync: what is executed is stored while peers stall", BLOCKS, "const PAUSE_MS = 2_000;", "const PAUSE_MS = 2_000_000_000;"),

  ...["parentHash", "blockNumber", "timestamp", "prevRandao", "transactionCount", "transaction", "gasLimit", "withdrawals", "withdrawalsRoot", "parentBeaconBlockRoot", "feeRecipient", "extraData", "blobGasUsed", "excessBlobGas", "requestsHash", "ommersHash", "difficulty", "nonce"].map(
    (field) => ({ rule: `consolidation: ${field}`, file: CONSOLIDATION, from: `) return "${field}";`, to: `) void "${field}";` }),
  ),
];
