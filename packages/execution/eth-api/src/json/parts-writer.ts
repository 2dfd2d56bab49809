import { asciiToBytes, bytesToBigint, bytesToHex, encodeRlp, isZeroBytes, keccak256, rlpUint, toQuantity } from "@rnode/primitives";
import {
  addToBloom,
  BLOOM_BYTES,
  type BlockRules,
  blobBaseFee,
  decodeTransaction,
  GAS_PER_BLOB,
  type GasRefunds,
  gasRefundsOf,
  recoverSender,
} from "@rnode/protocol";
import { type BlockParts, type LogMatcher, rlpDataStart, rlpEnd } from "@rnode/storage";
import type { Profile } from "../profile/profile.ts";
import { JsonWriter } from "./json-writer.ts";
import { type BlockL1Info, l1FeeFields, l1InfoOf } from "./l1-fee-fields.ts";

/*
 * Transactions, receipts and logs of stored blocks as JSON text, from the bytes in which they are stored. The texts are those of
 * transaction-json.ts and receipt-json.ts, which show transactions and blocks that are not stored; parts-writer.test.ts compares them.
 */

const DEPOSIT = 0x7e;
const POST_EXEC = 0x7d;
const EMPTY_BLOOM_TEXT = asciiToBytes(`0x${"0".repeat(2 * BLOOM_BYTES)}`);

const key = (text: string): Uint8Array => asciiToBytes(text);
const KEYS = {
  blockNumber: key('","blockNumber":"'),
  from: key('","from":"'),
  gas: key('","gas":"'),
  hash: key('","hash":"'),
  input: key('","input":"'),
  to: key('","to":"'),
  transactionIndex: key('","transactionIndex":"'),
  value: key('","value":"'),
  type: key('","type":"'),
  nullRecipient: key('","to":null,"nonce":"'),
  nonce: key('","nonce":"'),
  gasPrice: key('","gasPrice":"'),
  maxFeePerGas: key('","maxFeePerGas":"'),
  maxPriorityFeePerGas: key('","maxPriorityFeePerGas":"'),
  maxFeePerBlobGas: key('","maxFeePerBlobGas":"'),
  blobVersionedHashes: key('","blobVersionedHashes":['),
  afterHashes: key('],"chainId":"'),
  chainId: key('","chainId":"'),
  accessList: key('","accessList":['),
  emptyAccessList: key('","accessList":[],"v":"'),
  address: key('{"address":"'),
  storageKeys: key('","storageKeys":['),
  authorizationList: key('],"authorizationList":['),
  authorizationChain: key('{"chainId":"'),
  authorizationAddress: key('","address":"'),
  yParity: key('","yParity":"'),
  afterList: key('],"v":"'),
  v: key('","v":"'),
  r: key('","r":"'),
  s: key('","s":"'),
  blockTimestamp: key('","blockTimestamp":"'),
  end: key('"}'),
  postExecGas: key('","gas":"0x0","hash":"'),
  postExecValue: key(',"value":"0x0","type":"0x7d"'),
  postExecPrice: key(',"gasPrice":"'),
  postExecZeros: key(',"to":null,"nonce":"0x0","gasPrice":"0x0","v":"0x0","r":"0x0","s":"0x0'),
  postExecRecipient: key(`","to":"0x${"0".repeat(40)}","contractAddress":null`),
  noRecipient: key('","to":null,"contractAddress":null'),
  depositTo: key('","to":null'),
  depositPrice: key('"gasPrice":"0x0","sourceHash":"'),
  mint: key('","mint":"'),
  depositSignature: key(',"v":"0x0","r":"0x0","s":"0x0"'),
  depositParity: key(',"yParity":"0x0"'),
  depositVersion: key(',"depositReceiptVersion":"'),
  status: key('{"status":"'),
  root: key('{"root":"'),
  cumulativeGasUsed: key('","cumulativeGasUsed":"'),
  logs: key('","logs":['),
  logsBloom: key('],"logsBloom":"'),
  transactionHash: key('","transactionHash":"'),
  receiptBlock: key('","blockHash":"'),
  gasUsed: key('","gasUsed":"'),
  effectiveGasPrice: key('","effectiveGasPrice":"'),
  creation: key('","to":null,"contractAddress":"'),
  noContract: key('","contractAddress":null'),
  topics: key('","topics":['),
  data: key('],"data":"'),
  logIndex: key('","logIndex":"'),
  notRemoved: key('","removed":false}'),
  removed: key('","removed":true}'),
} as const;
const COMMA = 0x2c;
const QUOTE = 0x22;
const CLOSE = 0x5d;

/** Positions of the fields in a transaction's list, by type; −1: it has none. Signatures are the last three. */
interface Layout {
  readonly chainId: number;
  readonly nonce: number;
  readonly gasPrice: number;
  readonly tip: number;
  readonly gas: number;
  readonly to: number;
  readonly value: number;
  readonly data: number;
  readonly accessList: number;
  readonly v: number;
}
const LEGACY: Layout = { chainId: -1, nonce: 0, gasPrice: 1, tip: -1, gas: 2, to: 3, value: 4, data: 5, accessList: -1, v: 6 };
const ACCESS_LIST: Layout = { chainId: 0, nonce: 1, gasPrice: 2, tip: -1, gas: 3, to: 4, value: 5, data: 6, accessList: 7, v: 8 };
const FEE_MARKET: Layout = { chainId: 0, nonce: 1, gasPrice: 3, tip: 2, gas: 4, to: 5, value: 6, data: 7, accessList: 8, v: 9 };
const LAYOUTS: readonly Layout[] = [LEGACY, ACCESS_LIST, FEE_MARKET, { ...FEE_MARKET, v: 11 }, { ...FEE_MARKET, v: 10 }];
const DEPOSIT_FIELDS = { sourceHash: 0, from: 1, to: 2, mint: 3, value: 4, gas: 5, isSystem: 6, data: 7 } as const;
const MAX_FIELDS = 14;

/** Numbers of at most so many bytes are computed with doubles. */
const SMALL_BYTES = 6;

/** Writes what one block at a time contains. */
export class PartsWriter {
  readonly json = new JsonWriter();
  readonly #shown: { readonly profile: Profile; readonly rulesOf: (parts: BlockParts) => BlockRules } | undefined;
  #parts!: BlockParts;
  /** of the block: `0x…` of its hash, number and timestamp, and base fee */
  #hash: Uint8Array = key("");
  #number: Uint8Array = key("");
  #timestamp: Uint8Array = key("");
  /** the first fields of a transaction, and those in the middle of a log */
  #transactionPlace: Uint8Array = key("");
  #logPlace: Uint8Array = key("");
  #baseFee = 0n;
  #rules: BlockRules | undefined;
  #l1Info: BlockL1Info | undefined;
  #hasL1Info = false;
  #refunds: GasRefunds | undefined;
  #hasRefunds = false;
  /** where the fields of the transaction start, and the end of the last one */
  readonly #fields = new Int32Array(MAX_FIELDS + 1);
  #type = 0;

  /** @param shown undefined: only logs are written */
  constructor(shown: { readonly profile: Profile; readonly rulesOf: (parts: BlockParts) => BlockRules } | undefined) {
    this.#shown = shown;
  }

  get #profile(): Profile {
    return this.#shown!.profile;
  }

  /** Starts with a block. Earlier output is discarded, so a failed request leaves nothing behind. */
  open(parts: BlockParts): this {
    this.json.start();
    return this.goOn(parts);
  }

  /** Continues with another block; earlier output stays. */
  goOn(parts: BlockParts): this {
    this.#parts = parts;
    const [hash, number, timestamp] = [bytesToHex(parts.hash), toQuantity(parts.number), toQuantity(parts.exactTimestamp)];
    this.#hash = asciiToBytes(hash);
    this.#number = asciiToBytes(number);
    this.#timestamp = asciiToBytes(timestamp);
    this.#transactionPlace = asciiToBytes(`{"blockHash":"${hash}","blockNumber":"${number}","from":"`);
    this.#logPlace = asciiToBytes(
      `","blockHash":"${hash}","blockNumber":"${number}","blockTimestamp":"${timestamp}","transactionHash":"`,
    );
    this.#baseFee = parts.baseFeePerGas ?? 0n;
    this.#rules = undefined;
    this.#hasL1Info = false;
    this.#hasRefunds = false;
    return this;
  }

  #blockRules(): BlockRules {
    return (this.#rules ??= this.#shown!.rulesOf(this.#parts));
  }

  #l1InfoOfBlock(): BlockL1Info | undefined {
    if (!this.#hasL1Info) {
      this.#hasL1Info = true;
      const { count } = this.#parts;
      this.#l1Info = count === 0 ? undefined : l1InfoOf(decodeTransaction(this.#parts.encodedTransaction(0)));
    }
    return this.#l1Info;
  }

  /** Decodes another transaction than the one that was sought. */
  #refundsOfBlock(): GasRefunds | undefined {
    if (!this.#hasRefunds) {
      this.#hasRefunds = true;
      const parts = this.#parts;
      const last = parts.count - 1;
      // PERF: the last transaction is only decoded where its sender is that of a post-exec transaction
      this.#refunds = isZeroBytes(parts.sender(last)) ? gasRefundsOf(decodeTransaction(parts.encodedTransaction(last))) : undefined;
    }
    return this.#refunds;
  }

  /** Finds the fields of the transaction that was sought. */
  #readFields(): void {
    const { bytes, transactionAt } = this.#parts;
    const first = bytes[transactionAt]!;
    this.#type = first >= 0xc0 ? 0 : first;
    const list = first >= 0xc0 ? transactionAt : transactionAt + 1;
    const end = rlpEnd(bytes, list);
    let count = 0;
    let at = rlpDataStart(bytes, list);
    for (; at < end && count < MAX_FIELDS; at = rlpEnd(bytes, at)) this.#fields[count++] = at;
    this.#fields[count] = at;
  }

  /** Start of a field's payload, and its end. */
  #start(field: number): number {
    return rlpDataStart(this.#parts.bytes, this.#fields[field]!);
  }

  #end(field: number): number {
    return this.#fields[field + 1]!;
  }

  #quantityField(name: Uint8Array, field: number): void {
    this.json.raw(name);
    this.json.quantity(this.#parts.bytes, this.#start(field), this.#end(field));
  }

  #hexField(name: Uint8Array, field: number): void {
    this.json.raw(name);
    this.json.hex(this.#parts.bytes, this.#start(field), this.#end(field));
  }

  #writeSender(index: number): void {
    const { json } = this;
    const parts = this.#parts;
    if (parts.hasReceipts) {
      const at = parts.senderAt(index);
      json.hex(parts.senderBytes, at, at + 20);
    } else {
      const sender = recoverSender(decodeTransaction(parts.encodedTransaction(index)));
      json.hex(sender, 0, sender.length);
    }
  }

  #writeTransactionHash(index: number): void {
    const at = this.#parts.hashAt(index);
    this.json.hex(this.#parts.hashBytes, at, at + 32);
  }

  /** The effective gas price. */
  #writeGasPrice({ gasPrice, tip }: Layout): void {
    const { json } = this;
    const { bytes } = this.#parts;
    const [from, to] = [this.#start(gasPrice), this.#end(gasPrice)];
    if (tip < 0) {
      json.quantity(bytes, from, to);
      return;
    }
    const offered = this.#baseFee + uintAt(bytes, this.#start(tip), this.#end(tip));
    const cap = uintAt(bytes, from, to);
    json.text(toQuantity(offered < cap ? offered : cap));
  }

  /** As `eth_getTransactionByHash` shows it. */
  transaction(index: number): void {
    const { json } = this;
    const parts = this.#parts;
    parts.seekTransaction(index);
    this.#readFields();
    if (this.#type === POST_EXEC) {
      this.#postExec(index);
      return;
    }
    const isDeposit = this.#type === DEPOSIT;
    const layout = isDeposit ? DEPOSIT_FIELDS : LAYOUTS[this.#type]!;
    json.raw(this.#transactionPlace);
    this.#writeSender(index);
    this.#quantityField(KEYS.gas, layout.gas);
    json.raw(KEYS.hash);
    this.#writeTransactionHash(index);
    this.#hexField(KEYS.input, layout.data);
    const hasTo = this.#end(layout.to) - this.#start(layout.to) > 0;
    if (hasTo) this.#hexField(KEYS.to, layout.to);
    json.raw(KEYS.transactionIndex);
    json.number(index);
    this.#quantityField(KEYS.value, layout.value);
    json.raw(KEYS.type);
    json.number(this.#type);
    if (isDeposit) this.#deposit(index, hasTo);
    else this.#signed(LAYOUTS[this.#type]!, hasTo);
    json.raw(KEYS.blockTimestamp);
    json.raw(this.#timestamp);
    json.raw(KEYS.end);
  }

  #signed(layout: Layout, hasTo: boolean): void {
    const { json } = this;
    const type = this.#type;
    const { bytes } = this.#parts;
    this.#quantityField(hasTo ? KEYS.nonce : KEYS.nullRecipient, layout.nonce);
    json.raw(KEYS.gasPrice);
    this.#writeGasPrice(layout);
    if (layout.tip >= 0) {
      this.#quantityField(KEYS.maxFeePerGas, layout.gasPrice);
      this.#quantityField(KEYS.maxPriorityFeePerGas, layout.tip);
    }
    if (type === 0x03) {
      this.#quantityField(KEYS.maxFeePerBlobGas, 9);
      json.raw(KEYS.blobVersionedHashes);
      this.#hashList(this.#start(10), this.#end(10));
      this.#quantityField(KEYS.afterHashes, layout.chainId);
    } else if (type !== 0) this.#quantityField(KEYS.chainId, layout.chainId);
    else this.#legacyChainId(layout);
    if (type === 0x04) {
      this.#accessList(layout);
      this.#authorizationList();
      this.#quantityField(KEYS.afterList, layout.v);
    } else if (layout.accessList >= 0) {
      if (this.#start(layout.accessList) === this.#end(layout.accessList)) this.#quantityField(KEYS.emptyAccessList, layout.v);
      else {
        this.#accessList(layout);
        this.#quantityField(KEYS.afterList, layout.v);
      }
    } else this.#quantityField(KEYS.v, layout.v);
    this.#quantityField(KEYS.r, layout.v + 1);
    this.#quantityField(KEYS.s, layout.v + 2);
    if (type === 0) return;
    json.raw(KEYS.yParity);
    json.quantity(bytes, this.#start(layout.v), this.#end(layout.v));
  }

  #legacyChainId({ v }: Layout): void {
    const value = uintAt(this.#parts.bytes, this.#start(v), this.#end(v));
    if (value < 35n) return;
    this.json.raw(KEYS.chainId);
    this.json.text(toQuantity((value - 35n) >> 1n));
  }

  /** The hashes of an RLP list's payload, with commas. */
  #hashList(from: number, to: number): void {
    const { json } = this;
    const { bytes } = this.#parts;
    for (let at = from; at < to; at += 33) {
      if (at > from) json.char(COMMA);
      json.char(QUOTE);
      json.hex(bytes, at + 1, at + 33);
      json.char(QUOTE);
    }
  }

  /** Without its closing bracket. */
  #accessList({ accessList }: Layout): void {
    const { json } = this;
    const { bytes } = this.#parts;
    json.raw(KEYS.accessList);
    const [from, to] = [this.#start(accessList), this.#end(accessList)];
    for (let entry = from; entry < to; entry = rlpEnd(bytes, entry)) {
      if (entry > from) json.char(COMMA);
      const address = rlpDataStart(bytes, entry) + 1;
      json.raw(KEYS.address);
      json.hex(bytes, address, address + 20);
      json.raw(KEYS.storageKeys);
      this.#hashList(rlpDataStart(bytes, address + 20), rlpEnd(bytes, address + 20));
      json.text("]}");
    }
  }

  #authorizationList(): void {
    const { json } = this;
    const { bytes } = this.#parts;
    json.raw(KEYS.authorizationList);
    const [from, to] = [this.#start(9), this.#end(9)];
    for (let entry = from; entry < to; entry = rlpEnd(bytes, entry)) {
      if (entry > from) json.char(COMMA);
      let at = rlpDataStart(bytes, entry);
      for (const [field, name] of AUTHORIZATION_KEYS.entries()) {
        json.raw(name);
        const end = rlpEnd(bytes, at);
        if (field === 1) json.hex(bytes, rlpDataStart(bytes, at), end);
        else json.quantity(bytes, rlpDataStart(bytes, at), end);
        at = end;
      }
      json.raw(KEYS.end);
    }
  }

  #deposit(index: number, hasTo: boolean): void {
    const { json } = this;
    const parts = this.#parts;
    const { deposit } = this.#profile.transaction;
    let nonceText: string | undefined = deposit.hasNonceBeforeRegolith ? "0x0" : undefined;
    let versionText: string | undefined;
    if (parts.hasReceipts) {
      parts.seekReceipt(index);
      const { bytes } = parts;
      const nonce = rlpEnd(bytes, parts.logsAt());
      const end = rlpEnd(bytes, parts.receiptAt);
      if (nonce < end) nonceText = toQuantity(uintAt(bytes, rlpDataStart(bytes, nonce), rlpEnd(bytes, nonce)));
      const version = nonce < end ? rlpEnd(bytes, nonce) : end;
      if (version < end) versionText = toQuantity(uintAt(bytes, rlpDataStart(bytes, version), end));
    }
    if (!hasTo && deposit.hasNullRecipient) {
      json.raw(KEYS.depositTo);
      json.char(COMMA);
      if (nonceText !== undefined) json.text(`"nonce":"${nonceText}",`);
    } else json.text(nonceText === undefined ? '",' : `","nonce":"${nonceText}",`);
    this.#hexField(KEYS.depositPrice, DEPOSIT_FIELDS.sourceHash);
    this.#quantityField(KEYS.mint, DEPOSIT_FIELDS.mint);
    json.char(QUOTE);
    if (
      this.#end(DEPOSIT_FIELDS.isSystem) > this.#start(DEPOSIT_FIELDS.isSystem) &&
      parts.bytes[this.#start(DEPOSIT_FIELDS.isSystem)] === 1
    ) {
      json.text(deposit.systemFlag === true ? ',"isSystemTx":true' : ',"isSystemTx":"0x1"');
    }
    json.raw(KEYS.depositSignature);
    if (deposit.hasYParity) json.raw(KEYS.depositParity);
    if (versionText !== undefined) {
      json.raw(KEYS.depositVersion);
      json.text(`${versionText}"`);
    }
    // The next key begins with the quote that ends a text.
    json.start(json.size - 1);
  }

  #postExec(index: number): void {
    const { json } = this;
    const { bytes, transactionAt, transactionEnd } = this.#parts;
    json.raw(this.#transactionPlace);
    this.#writeSender(index);
    json.raw(KEYS.postExecGas);
    this.#writeTransactionHash(index);
    json.raw(KEYS.input);
    json.hex(bytes, transactionAt + 1, transactionEnd);
    json.raw(KEYS.transactionIndex);
    json.number(index);
    json.char(QUOTE);
    json.raw(KEYS.postExecValue);
    if (this.#profile.transaction.postExecLooksSigned) json.raw(KEYS.postExecZeros);
    else {
      json.raw(KEYS.postExecPrice);
      json.text(toQuantity(this.#baseFee));
    }
    json.raw(KEYS.blockTimestamp);
    json.raw(this.#timestamp);
    json.raw(KEYS.end);
  }

  /** As `eth_getTransactionReceipt` shows it. Its block must have receipts. */
  receipt(index: number): void {
    const { json } = this;
    const parts = this.#parts;
    const rules = this.#blockRules();
    const l1Info = rules.op === undefined ? undefined : this.#l1InfoOfBlock();
    const refund = rules.acceptsGasRefunds ? this.#refundsOfBlock()?.get(index) : undefined;
    parts.seekReceipt(index);
    const { bytes } = parts;
    this.#readFields();
    const isDeposit = this.#type === DEPOSIT;
    const outcome = rlpEnd(bytes, rlpDataStart(bytes, parts.receiptAt));
    const gas = parts.gasAt();
    const [gasFrom, gasTo] = [rlpDataStart(bytes, gas), rlpEnd(bytes, gas)];
    const logs = gasTo;
    const [outcomeFrom, outcomeTo] = [rlpDataStart(bytes, outcome), gas];
    if (outcomeTo - outcomeFrom === 32) {
      json.raw(KEYS.root);
      json.hex(bytes, outcomeFrom, outcomeTo);
    } else {
      json.raw(KEYS.status);
      json.number(outcomeTo - outcomeFrom === 0 ? 0 : 1);
    }
    json.raw(KEYS.cumulativeGasUsed);
    json.quantity(bytes, gasFrom, gasTo);
    json.raw(KEYS.logs);
    const logsFrom = rlpDataStart(bytes, logs);
    const logsTo = rlpEnd(bytes, logs);
    this.#logs(index, logsFrom, logsTo);
    json.raw(KEYS.logsBloom);
    if (logsFrom === logsTo) json.raw(EMPTY_BLOOM_TEXT);
    else {
      const bloom = bloomOf(bytes, logsFrom, logsTo);
      json.hex(bloom, 0, BLOOM_BYTES);
    }
    json.raw(KEYS.type);
    json.number(this.#type);
    json.raw(KEYS.transactionHash);
    this.#writeTransactionHash(index);
    json.raw(KEYS.transactionIndex);
    json.number(index);
    json.raw(KEYS.receiptBlock);
    json.raw(this.#hash);
    json.raw(KEYS.blockNumber);
    json.raw(this.#number);
    json.raw(KEYS.gasUsed);
    json.text(toQuantity(uintAt(bytes, gasFrom, gasTo) - parts.gasBefore()));
    json.raw(KEYS.effectiveGasPrice);
    if (isDeposit || this.#type === POST_EXEC) json.text("0x0");
    else this.#writeGasPrice(LAYOUTS[this.#type]!);
    json.raw(KEYS.from);
    this.#writeSender(index);
    const nonce = rlpEnd(bytes, logs);
    const end = rlpEnd(bytes, parts.receiptAt);
    const version = nonce < end ? rlpEnd(bytes, nonce) : end;
    const layout = isDeposit ? DEPOSIT_FIELDS : LAYOUTS[this.#type]!;
    if (this.#type === POST_EXEC) {
      json.raw(this.#profile.receipt.postExecHasRecipient ? KEYS.postExecRecipient : KEYS.noRecipient);
    } else if (this.#end(layout.to) > this.#start(layout.to)) {
      this.#hexField(KEYS.to, layout.to);
      json.raw(KEYS.noContract);
    } else {
      json.raw(KEYS.creation);
      const nonceOfSender = isDeposit
        ? nonce < end
          ? uintAt(bytes, rlpDataStart(bytes, nonce), version)
          : 0n
        : uintAt(bytes, this.#start(LAYOUTS[this.#type]!.nonce), this.#end(LAYOUTS[this.#type]!.nonce));
      const created = keccak256(encodeRlp([parts.sender(index), rlpUint(nonceOfSender)]));
      json.hex(created, 12, 32);
      json.char(QUOTE);
    }
    if (this.#type === 0x03) {
      const hashes = BigInt((this.#end(10) - this.#start(10)) / 33);
      const price =
        rules.blobParams === undefined ? 1n : blobBaseFee(parts.header.excessBlobGas ?? 0n, rules.blobParams.baseFeeUpdateFraction);
      json.text(`,"blobGasUsed":"${toQuantity(hashes * GAS_PER_BLOB)}","blobGasPrice":"${toQuantity(price)}"`);
    }
    if (nonce < end) json.text(`,"depositNonce":"${toQuantity(uintAt(bytes, rlpDataStart(bytes, nonce), version))}"`);
    if (version < end) json.text(`,"depositReceiptVersion":"${toQuantity(uintAt(bytes, rlpDataStart(bytes, version), end))}"`);
    if (l1Info !== undefined) {
      const encoded = bytes.slice(parts.transactionAt, parts.transactionEnd);
      const fields = l1FeeFields(this.#profile, rules, l1Info, isDeposit, encoded);
      for (const name in fields) json.text(`,"${name}":"${fields[name]!}"`);
    }
    if (refund !== undefined) json.text(`,"opGasRefund":"${toQuantity(refund)}"`);
    json.char(0x7d);
  }

  /** As `transaction`, with the logs of its receipt. Its block must have receipts. */
  transactionWithLogs(index: number): void {
    const { json } = this;
    const parts = this.#parts;
    this.transaction(index);
    parts.seekReceipt(index);
    const logs = parts.logsAt();
    json.start(json.size - KEYS.end.length);
    json.raw(KEYS.logs);
    this.#logs(index, rlpDataStart(parts.bytes, logs), rlpEnd(parts.bytes, logs));
    json.text("]}");
  }

  /** All logs of the receipt that was sought, of the transaction `index`. @param from, to positions of their RLP in the bytes of the block */
  #logs(index: number, from: number, to: number): void {
    const { bytes, firstLog } = this.#parts;
    let logIndex = firstLog;
    for (let log = from; log < to; log = rlpEnd(bytes, log)) {
      if (log > from) this.json.char(COMMA);
      this.log(log, index, logIndex++, false);
    }
  }

  /** @param log where its RLP starts in the bytes of the block. @param removed whether the block has left the canonical chain */
  log(log: number, transactionIndex: number, logIndex: number, removed: boolean): void {
    const { json } = this;
    const { bytes } = this.#parts;
    const address = rlpDataStart(bytes, log) + 1;
    const topics = address + 20;
    const data = rlpEnd(bytes, topics);
    json.raw(KEYS.address);
    json.hex(bytes, address, topics);
    json.raw(KEYS.topics);
    this.#hashList(rlpDataStart(bytes, topics), data);
    json.raw(KEYS.data);
    json.hex(bytes, rlpDataStart(bytes, data), rlpEnd(bytes, data));
    json.raw(this.#logPlace);
    this.#writeTransactionHash(transactionIndex);
    json.raw(KEYS.transactionIndex);
    json.number(transactionIndex);
    json.raw(KEYS.logIndex);
    json.number(logIndex);
    json.raw(removed ? KEYS.removed : KEYS.notRemoved);
  }

  /** Writes the matching logs of the block, each after a comma unless it is the first of the text. @returns how many there are */
  logs(matcher: LogMatcher, removed = false): number {
    let count = 0;
    this.#parts.eachLog(matcher, (log, transactionIndex, logIndex) => {
      if (this.json.size > 0) this.json.char(COMMA);
      this.log(log, transactionIndex, logIndex, removed);
      count++;
    });
    return count;
  }

  /** All transactions as an array: objects, or their hashes. */
  transactions(full: boolean): void {
    const { json } = this;
    json.char(0x5b);
    for (let index = 0; index < this.#parts.count; index++) {
      if (index > 0) json.char(COMMA);
      if (full) this.transaction(index);
      else {
        json.char(QUOTE);
        this.#writeTransactionHash(index);
        json.char(QUOTE);
      }
    }
    json.char(CLOSE);
  }

  /** All receipts as an array. */
  receipts(): void {
    this.receiptsAt(Array.from({ length: this.#parts.count }, (_, index) => index));
  }

  /** The receipts of some transactions as an array. */
  receiptsAt(indices: readonly number[]): void {
    const { json } = this;
    json.char(0x5b);
    let isFirst = true;
    for (const index of indices) {
      if (!isFirst) json.char(COMMA);
      isFirst = false;
      this.receipt(index);
    }
    json.char(CLOSE);
  }
}

const AUTHORIZATION_KEYS = [KEYS.authorizationChain, KEYS.authorizationAddress, KEYS.nonce, KEYS.yParity, KEYS.r, KEYS.s];

function uintAt(bytes: Uint8Array, from: number, to: number): bigint {
  if (to - from > SMALL_BYTES) return bytesToBigint(bytes.subarray(from, to));
  let value = 0;
  for (let i = from; i < to; i++) value = value * 256 + bytes[i]!;
  return BigInt(value);
}

function bloomOf(bytes: Uint8Array, from: number, to: number): Uint8Array {
  const bloom = new Uint8Array(BLOOM_BYTES);
  for (let log = from; log < to; log = rlpEnd(bytes, log)) {
    const address = rlpDataStart(bytes, log) + 1;
    addToBloom(bloom, bytes.subarray(address, address + 20));
    const topicsEnd = rlpEnd(bytes, address + 20);
    for (let topic = rlpDataStart(bytes, address + 20); topic < topicsEnd; topic += 33) {
      addToBloom(bloom, bytes.subarray(topic + 1, topic + 33));
    }
  }
  return bloom;
}

/** Log writers that are not in use. */
const freeWriters: PartsWriter[] = [];
const MAX_FREE = 2;

/** A writer of logs, which need neither rules nor a profile. */
export const takeLogWriter = (): PartsWriter => freeWriters.pop() ?? new PartsWriter(undefined);

/** PERF: its buffer is used again; large ones cost more to get from the system than to fill. */
export function giveBackLogWriter(writer: PartsWriter): void {
  writer.json.start();
  if (freeWriters.length < MAX_FREE) freeWriters.push(writer);
}
