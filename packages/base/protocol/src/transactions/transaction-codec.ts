import {
  addKeccak256,
  bigintToBytes,
  bytesToBigint,
  CodedError,
  compareBytes,
  concatBytes,
  decodeRlp,
  EMPTY_BYTES,
  encodeRlp,
  expectRlpList,
  expectRlpString,
  expectRlpUint,
  flushKeccak256,
  isCodedError,
  isZeroBytes,
  keccak256,
  padBytesLeft,
  type RlpItem,
  type RlpSpan,
  RlpWriter,
  readRlpSpan,
  recoverAddress,
  recoverAddresses,
  rlpUint,
  SECP256K1_HALF_N,
  SECP256K1_N,
  type Signature,
  signHash,
  trimBytesLeft,
  ZERO_ADDRESS,
} from "@rnode/primitives";
import { isDepositTransaction } from "./deposits.ts";
import { decodePlainFeeMarket } from "./plain-fee-market.ts";
import { decodePostExec, isPostExecTransaction } from "./post-exec.ts";
import {
  type AccessListEntry,
  type AccessListTransaction,
  type Authorization,
  type BlobTransaction,
  type DepositTransaction,
  type FeeMarketTransaction,
  isSigned,
  type LegacyTransaction,
  type SetCodeTransaction,
  type SignedTransaction,
  type Transaction,
} from "./transaction.ts";

export type TransactionErrorCode =
  | "tx/empty"
  | "tx/unknown-type"
  | "tx/malformed"
  | "tx/bad-address-length"
  | "tx/bad-signature-v"
  | "tx/unsigned"
  | "tx/bad-signature"
  | "tx/high-s";

const N_BYTES = bigintToBytes(SECP256K1_N, 32);
const HALF_N_BYTES = bigintToBytes(SECP256K1_HALF_N, 32);

// PERF: encodings and hashes never change and are needed many times (roots, pool, L1 cost, RPC). The key is the object's
// identity: a spread copy has no cached values.
const encodings = new WeakMap<Transaction, Uint8Array>();
const hashes = new WeakMap<Transaction, Uint8Array>();

/**
 * Canonical EIP-2718 encoding: an RLP list for legacy transactions, type byte ‖ RLP list for the others.
 *
 * The result is shared and must not be written to.
 * @throws {CodedError} tx/unsigned
 */
export function encodeTransaction(tx: Transaction): Uint8Array {
  let encoded = encodings.get(tx);
  if (encoded === undefined) {
    encoded = encode(tx);
    encodings.set(tx, encoded);
  }
  return encoded;
}

/** keccak256 of the encoding. The result is shared and must not be written to. @throws {CodedError} tx/unsigned */
export function hashTransaction(tx: Transaction): Uint8Array {
  let hash = hashes.get(tx);
  if (hash === undefined) {
    hash = keccak256(encodeTransaction(tx));
    hashes.set(tx, hash);
  }
  return hash;
}

/** Caches the hash of a transaction. */
export function noteTransactionHash(tx: Transaction, hash: Uint8Array): void {
  hashes.set(tx, hash);
}

function encode(tx: Transaction): Uint8Array {
  if (tx.type === 0x7d) return concatBytes(Uint8Array.of(tx.type), tx.data);
  return encodeFields(tx, tx.type === 0x7e ? depositFields(tx) : [...payloadFields(tx), ...signatureFields(tx)]);
}

function encodeFields(tx: Transaction, fields: readonly RlpItem[]): Uint8Array {
  const list = encodeRlp(fields);
  return tx.type === 0x00 ? list : concatBytes(Uint8Array.of(tx.type), list);
}

/** The fields that are signed, without the signature (and without EIP-155's extra fields). */
function payloadFields(tx: SignedTransaction): RlpItem[] {
  const to = tx.to ?? EMPTY_BYTES;
  switch (tx.type) {
    case 0x00:
      return [rlpUint(tx.nonce), rlpUint(tx.gasPrice), rlpUint(tx.gasLimit), to, rlpUint(tx.value), tx.data];
    case 0x01:
      return [
        rlpUint(tx.chainId),
        rlpUint(tx.nonce),
        rlpUint(tx.gasPrice),
        rlpUint(tx.gasLimit),
        to,
        rlpUint(tx.value),
        tx.data,
        accessListItem(tx.accessList),
      ];
    case 0x02:
      return feeMarketFields(tx, to);
    case 0x03:
      return [...feeMarketFields(tx, to), rlpUint(tx.maxFeePerBlobGas), tx.blobVersionedHashes];
    case 0x04:
      return [...feeMarketFields(tx, to), tx.authorizationList.map(authorizationItem)];
  }
}

function feeMarketFields(tx: FeeMarketTransaction | BlobTransaction | SetCodeTransaction, to: Uint8Array): RlpItem[] {
  return [
    rlpUint(tx.chainId),
    rlpUint(tx.nonce),
    rlpUint(tx.maxPriorityFeePerGas),
    rlpUint(tx.maxFeePerGas),
    rlpUint(tx.gasLimit),
    to,
    rlpUint(tx.value),
    tx.data,
    accessListItem(tx.accessList),
  ];
}

function accessListItem(accessList: readonly AccessListEntry[]): RlpItem {
  return accessList.map(({ address, storageKeys }) => [address, storageKeys]);
}

function authorizationItem(authorization: Authorization): RlpItem {
  const { chainId, address, nonce, yParity, r, s } = authorization;
  return [rlpUint(chainId), address, rlpUint(nonce), rlpUint(yParity), rlpUint(r), rlpUint(s)];
}

function signatureFields(tx: SignedTransaction): RlpItem[] {
  const { signature } = tx;
  if (signature === undefined) throw new CodedError<TransactionErrorCode>("tx/unsigned", { type: tx.type });
  return [rlpUint(signatureV(tx, signature.yParity)), trimBytesLeft(signature.r), trimBytesLeft(signature.s)];
}

function signatureV(tx: SignedTransaction, yParity: number): bigint {
  if (tx.type !== 0x00) return BigInt(yParity);
  return tx.chainId === undefined ? BigInt(27 + yParity) : tx.chainId * 2n + BigInt(35 + yParity);
}

/** Layout: sourceHash, from, to, mint, value, gas, isSystemTx, data. Spec: docs/protocol/01-execution.md#deposit-transaction */
function depositFields(tx: DepositTransaction): RlpItem[] {
  return [
    tx.sourceHash,
    tx.from,
    tx.to ?? EMPTY_BYTES,
    rlpUint(tx.mint),
    rlpUint(tx.value),
    rlpUint(tx.gasLimit),
    tx.isSystemTx ? Uint8Array.of(1) : EMPTY_BYTES,
    tx.data,
  ];
}

/**
 * Decodes one transaction that fills the whole input; accepts exactly what consensus accepts in any fork.
 *
 * The transaction keeps views into `encoded` (and `encoded` itself as its encoding), so the caller must not modify it afterwards.
 * @throws {CodedError} tx/*; the cause of tx/malformed is the rlp/* error
 */
export function decodeTransaction(encoded: Uint8Array): Transaction {
  const tx = readTransaction(encoded);
  encodings.set(tx, encoded);
  return tx;
}

/** As {@link decodeTransaction}, without caching, for callers that discard the transaction. */
export function readTransaction(encoded: Uint8Array): Transaction {
  const type = encoded[0];
  if (type === undefined) throw new CodedError<TransactionErrorCode>("tx/empty");
  try {
    const plain = type === 0x02 ? decodePlainFeeMarket(encoded) : undefined;
    return plain ?? (type >= 0xc0 ? decodeLegacy(decodeRlp(encoded)) : decodeTyped(type, encoded.subarray(1)));
  } catch (error) {
    if (isCodedError(error, "rlp/")) {
      throw new CodedError<TransactionErrorCode>("tx/malformed", { reason: error.message }, { cause: error });
    }
    throw error;
  }
}

function decodeTyped(type: number, body: Uint8Array): Transaction {
  switch (type) {
    case 0x01:
      return decodeAccessListTransaction(expectRlpList(decodeRlp(body), 11, 11));
    case 0x02: {
      const items = expectRlpList(decodeRlp(body), 12, 12);
      return { type: 0x02, ...decodeFeeMarketFields(items), to: decodeRecipient(items[5]), signature: decodeSignature(items, 9) };
    }
    case 0x03:
      return decodeBlobTransaction(expectRlpList(decodeRlp(body), 14, 14));
    case 0x04:
      return decodeSetCodeTransaction(expectRlpList(decodeRlp(body), 13, 13));
    case 0x7d:
      return decodePostExec(body);
    case 0x7e:
      return decodeDeposit(expectRlpList(decodeRlp(body), 8, 8));
    default:
      throw new CodedError<TransactionErrorCode>("tx/unknown-type", { type });
  }
}

function decodeLegacy(item: RlpItem): LegacyTransaction {
  const items = expectRlpList(item, 9, 9);
  const v = expectRlpUint(items[6], 32);
  const isProtected = v >= 35n;
  if (!isProtected && v !== 27n && v !== 28n) throw new CodedError<TransactionErrorCode>("tx/bad-signature-v", { v });
  return {
    type: 0x00,
    chainId: isProtected ? (v - 35n) >> 1n : undefined,
    nonce: expectRlpUint(items[0], 8),
    gasPrice: expectRlpUint(items[1], 32),
    gasLimit: expectRlpUint(items[2], 8),
    to: decodeRecipient(items[3]),
    value: expectRlpUint(items[4], 32),
    data: expectRlpString(items[5]),
    signature: {
      r: decodeSignatureHalf(items[7]),
      s: decodeSignatureHalf(items[8]),
      yParity: (isProtected ? v - 35n : v - 27n) & 1n ? 1 : 0,
    },
  };
}

function decodeAccessListTransaction(items: readonly RlpItem[]): AccessListTransaction {
  return {
    type: 0x01,
    chainId: expectRlpUint(items[0], 32),
    nonce: expectRlpUint(items[1], 8),
    gasPrice: expectRlpUint(items[2], 32),
    gasLimit: expectRlpUint(items[3], 8),
    to: decodeRecipient(items[4]),
    value: expectRlpUint(items[5], 32),
    data: expectRlpString(items[6]),
    accessList: decodeAccessList(items[7]),
    signature: decodeSignature(items, 8),
  };
}

function decodeFeeMarketFields(items: readonly RlpItem[]): Omit<FeeMarketTransaction, "type" | "to" | "signature"> {
  return {
    chainId: expectRlpUint(items[0], 32),
    nonce: expectRlpUint(items[1], 8),
    maxPriorityFeePerGas: expectRlpUint(items[2], 32),
    maxFeePerGas: expectRlpUint(items[3], 32),
    gasLimit: expectRlpUint(items[4], 8),
    value: expectRlpUint(items[6], 32),
    data: expectRlpString(items[7]),
    accessList: decodeAccessList(items[8]),
  };
}

function decodeBlobTransaction(items: readonly RlpItem[]): BlobTransaction {
  return {
    type: 0x03,
    ...decodeFeeMarketFields(items),
    to: expectAddress(items[5]), // blob and set-code transactions cannot create contracts
    maxFeePerBlobGas: expectRlpUint(items[9], 32),
    blobVersionedHashes: expectRlpList(items[10]).map((hash) => expectRlpString(hash, 32)),
    signature: decodeSignature(items, 11),
  };
}

function decodeSetCodeTransaction(items: readonly RlpItem[]): SetCodeTransaction {
  return {
    type: 0x04,
    ...decodeFeeMarketFields(items),
    to: expectAddress(items[5]),
    authorizationList: expectRlpList(items[9]).map(decodeAuthorization),
    signature: decodeSignature(items, 10),
  };
}

function decodeAuthorization(item: RlpItem): Authorization {
  const items = expectRlpList(item, 6, 6);
  return {
    chainId: expectRlpUint(items[0], 32),
    address: expectAddress(items[1]),
    nonce: expectRlpUint(items[2], 8),
    yParity: Number(expectRlpUint(items[3], 1)),
    r: expectRlpUint(items[4], 32),
    s: expectRlpUint(items[5], 32),
  };
}

function decodeDeposit(items: readonly RlpItem[]): DepositTransaction {
  const isSystemTx = expectRlpUint(items[6], 1);
  if (isSystemTx > 1n) throw new CodedError<TransactionErrorCode>("tx/malformed", { reason: "isSystemTx", value: isSystemTx });
  return {
    type: 0x7e,
    sourceHash: expectRlpString(items[0], 32),
    from: expectAddress(items[1]),
    to: decodeRecipient(items[2]),
    mint: expectRlpUint(items[3], 32),
    value: expectRlpUint(items[4], 32),
    gasLimit: expectRlpUint(items[5], 8),
    isSystemTx: isSystemTx === 1n,
    data: expectRlpString(items[7]),
  };
}

function decodeRecipient(item: RlpItem | undefined): Uint8Array | undefined {
  const to = expectRlpString(item);
  return to.length === 0 ? undefined : expectAddress(to);
}

function expectAddress(item: RlpItem | undefined): Uint8Array {
  const address = expectRlpString(item);
  if (address.length !== 20) throw new CodedError<TransactionErrorCode>("tx/bad-address-length", { got: address.length });
  return address;
}

function decodeAccessList(item: RlpItem | undefined): AccessListEntry[] {
  return expectRlpList(item).map((entry) => {
    const [address, storageKeys] = expectRlpList(entry, 2, 2);
    return { address: expectAddress(address), storageKeys: expectRlpList(storageKeys).map((key) => expectRlpString(key, 32)) };
  });
}

function decodeSignature(items: readonly RlpItem[], at: number): Signature {
  const yParity = expectRlpUint(items[at], 1);
  if (yParity > 1n) throw new CodedError<TransactionErrorCode>("tx/bad-signature-v", { v: yParity });
  return { yParity: yParity === 0n ? 0 : 1, r: decodeSignatureHalf(items[at + 1]), s: decodeSignatureHalf(items[at + 2]) };
}

/** An integer of at most 32 bytes without leading zeros, left-padded to 32 bytes. */
function decodeSignatureHalf(item: RlpItem | undefined): Uint8Array {
  const bytes = expectRlpString(item);
  if (bytes.length > 32)
    throw new CodedError<TransactionErrorCode>("tx/malformed", { reason: "the signature has more than 32 bytes" });
  if (bytes[0] === 0) throw new CodedError<TransactionErrorCode>("tx/malformed", { reason: "the signature has leading zeros" });
  return padBytesLeft(bytes, 32);
}

/** The 32-byte hash that the sender signs. */
export function signingHash(tx: SignedTransaction): Uint8Array {
  const fields = payloadFields(tx);
  if (tx.type === 0x00 && tx.chainId !== undefined) fields.push(rlpUint(tx.chainId), EMPTY_BYTES, EMPTY_BYTES);
  return keccak256(encodeFields(tx, fields));
}

/**
 * The 20-byte sender: recovered from the signature, a deposit's `from`, or the zero address of a post-exec transaction. Not cached;
 * PERF: 60–80 µs native.
 *
 * @param options.allowHighS before Homestead signatures with s above half the curve's order are valid
 * @throws {CodedError} tx/unsigned, tx/bad-signature, tx/high-s
 */
export function recoverSender(tx: Transaction, options: { readonly allowHighS?: boolean } = {}): Uint8Array {
  if (tx.type === 0x7e) return tx.from;
  if (tx.type === 0x7d) return ZERO_ADDRESS;
  const { signature } = tx;
  if (signature === undefined) throw new CodedError<TransactionErrorCode>("tx/unsigned", { type: tx.type });
  return recoverSigner(signingHash(tx), signature, options.allowHighS === true);
}

const signedPart = new RlpWriter();

/**
 * The sender of an encoded transaction, like `recoverSender` of the decoded one, but s must be low. PERF: does not decode the
 * fields, so it detects only errors of the signature. The caller has decoded the transaction before.
 *
 * @throws {CodedError} tx/empty, tx/unknown-type, tx/bad-signature-v, tx/bad-signature, tx/high-s, tx/malformed, rlp/*
 */
export function recoverEncodedSender(encoded: Uint8Array): Uint8Array {
  if (isUnsignedOrEmpty(encoded)) return recoverSender(decodeTransaction(encoded));
  const signature = readSigned(encoded);
  return recoverSigner(keccak256(signedPart.view()), signature, false);
}

/** `recoverEncodedSender` for several transactions; `undefined` if it would throw. PERF: saves a fifth of the time. */
export function recoverEncodedSenders(encoded: readonly Uint8Array[]): (Uint8Array | undefined)[] {
  const unsigned = new Map<number, Uint8Array>();
  const signed = encoded.map((transaction, index) =>
    ifValid(() => {
      if (isUnsignedOrEmpty(transaction)) {
        unsigned.set(index, recoverSender(decodeTransaction(transaction)));
        return undefined;
      }
      const signature = readSigned(transaction);
      assertSignature(signature, false);
      const hash = new Uint8Array(32);
      addKeccak256(signedPart.view(), hash, 0);
      return { hash, signature };
    }),
  );
  flushKeccak256();
  const senders = recoverAddresses(signed);
  for (const [index, from] of unsigned) senders[index] = from;
  return senders;
}

function ifValid<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch (error) {
    if (isCodedError(error, "tx/") || isCodedError(error, "rlp/")) return undefined;
    throw error;
  }
}

const isUnsignedOrEmpty = (encoded: Uint8Array): boolean =>
  encoded.length === 0 || isDepositTransaction(encoded) || isPostExecTransaction(encoded);

/** The signature of an encoded transaction; sets `signedPart` to the signed bytes. */
function readSigned(encoded: Uint8Array): Signature {
  const type = encoded[0]!;
  const list = readRlpSpan(encoded, type >= 0xc0 ? 0 : 1);
  // The signature is the last three items.
  let [v, r, s] = [list, list, list];
  for (let at = list.dataStart; at < list.end; ) {
    [v, r, s] = [r, s, readRlpSpan(encoded, at, list.end)];
    at = s.end;
  }
  const bytesOf = ({ dataStart, end }: RlpSpan): Uint8Array => encoded.subarray(dataStart, end);
  const vValue = bytesToBigint(bytesOf(v));
  signedPart.start();
  let yParity = vValue;
  if (type >= 0xc0) {
    if (vValue !== 27n && vValue < 35n && vValue !== 28n)
      throw new CodedError<TransactionErrorCode>("tx/bad-signature-v", { v: vValue });
    yParity = (vValue - 27n) & 1n;
    if (vValue >= 35n) {
      signedPart.uint(0);
      signedPart.uint(0);
      signedPart.uint((vValue - 35n) >> 1n);
    }
  } else if (type === 0 || type > 0x04) {
    throw new CodedError<TransactionErrorCode>("tx/unknown-type", { type });
  } else if (vValue > 1n) {
    throw new CodedError<TransactionErrorCode>("tx/bad-signature-v", { v: vValue });
  }
  signedPart.raw(encoded.subarray(list.dataStart, v.start));
  signedPart.list(0);
  if (type < 0xc0) signedPart.byte(type);
  return { r: decodeSignatureHalf(bytesOf(r)), s: decodeSignatureHalf(bytesOf(s)), yParity: yParity === 0n ? 0 : 1 };
}

/** The signer of a hash. @throws {CodedError} tx/bad-signature, tx/high-s */
export function recoverSigner(hash: Uint8Array, signature: Signature, allowHighS: boolean): Uint8Array {
  assertSignature(signature, allowHighS);
  try {
    return recoverAddress(hash, signature.r, signature.s, signature.yParity);
  } catch (cause) {
    throw new CodedError<TransactionErrorCode>("tx/bad-signature", {}, { cause });
  }
}

/** @throws {CodedError} tx/bad-signature, tx/high-s */
function assertSignature({ r, s }: Signature, allowHighS: boolean): void {
  if (isZeroBytes(r) || isZeroBytes(s) || compareBytes(r, N_BYTES) >= 0 || compareBytes(s, N_BYTES) >= 0) {
    throw new CodedError<TransactionErrorCode>("tx/bad-signature");
  }
  if (!allowHighS && compareBytes(s, HALF_N_BYTES) > 0) throw new CodedError<TransactionErrorCode>("tx/high-s");
}

const AUTHORIZATION_MAGIC = Uint8Array.of(0x05);

/** The account that signed an EIP-7702 authorization; `undefined` if its signature is invalid (the tuple is then skipped). */
export function recoverAuthority(authorization: Authorization): Uint8Array | undefined {
  const { chainId, address, nonce, yParity, r, s } = authorization;
  if (yParity > 1) return undefined;
  const hash = keccak256(AUTHORIZATION_MAGIC, encodeRlp([rlpUint(chainId), address, rlpUint(nonce)]));
  const signature: Signature = { r: bigintToBytes(r, 32), s: bigintToBytes(s, 32), yParity: yParity === 0 ? 0 : 1 };
  try {
    return recoverSigner(hash, signature, false);
  } catch (error) {
    if (isCodedError(error, "tx/")) return undefined;
    throw error;
  }
}

/** A copy of `tx` with the signature of `privateKey`. @throws {CodedError} secp256k1/bad-private-key */
export function signTransaction<T extends SignedTransaction>(tx: T, privateKey: Uint8Array): T {
  return { ...tx, signature: signHash(signingHash(tx), privateKey) };
}

/**
 * The sender's price per unit of gas, in wei; 0 for deposits and post-exec transactions. At least `baseFeeWei` only if the transaction is valid in its
 * block.
 *
 * @param baseFeeWei `undefined` before London
 */
export function effectiveGasPrice(tx: Transaction, baseFeeWei: bigint | undefined): bigint {
  switch (tx.type) {
    case 0x00:
    case 0x01:
      return tx.gasPrice;
    case 0x02:
    case 0x03:
    case 0x04: {
      const offered = (baseFeeWei ?? 0n) + tx.maxPriorityFeePerGas;
      return offered < tx.maxFeePerGas ? offered : tx.maxFeePerGas;
    }
    case 0x7d:
    case 0x7e:
      return 0n;
  }
}

/** The chain of a transaction; `undefined` for unsigned ones and unprotected legacy transactions. */
export function transactionChainId(tx: Transaction): bigint | undefined {
  return isSigned(tx) ? tx.chainId : undefined;
}

/** r and s of a signature as integers, for JSON-RPC; v as in the encoding. */
export function signatureValues(tx: SignedTransaction): { v: bigint; r: bigint; s: bigint } {
  if (tx.signature === undefined) throw new CodedError<TransactionErrorCode>("tx/unsigned", { type: tx.type });
  const { r, s, yParity } = tx.signature;
  return { v: signatureV(tx, yParity), r: bytesToBigint(r), s: bytesToBigint(s) };
}
