import { bytesToHex, equalBytes, type Hex, isCodedError } from "@rnode/primitives";
import {
  type Block,
  decodeBlock,
  decodeHeader,
  encodeBlock,
  encodeHeader,
  type Header,
  hashHeader,
  jsonBytes,
  jsonFlexibleBigint,
  jsonFlexibleNumber,
  jsonHash,
  jsonObject,
  requiredField,
} from "@rnode/protocol";
import { falseContent } from "../errors.ts";

/** The identity of a snapshot: the content of its first frame, as JSON. */
export interface Manifest {
  readonly chainId: bigint;
  readonly genesis: { readonly block: Block; readonly hash: Uint8Array };
  /** the block whose state it is */
  readonly header: Header;
  readonly hash: Uint8Array;
  /** number of the first of the blocks that are in the file; the last is that of `header` */
  readonly oldestBlock: number;
}

/** A file's totals in its last frame. */
export interface Totals {
  readonly blocks: number;
  readonly accounts: number;
  readonly slots: number;
  readonly codes: number;
}

const toBytes = (json: object): Uint8Array => new TextEncoder().encode(JSON.stringify(json));

export const encodeManifest = ({ chainId, genesis, header, hash, oldestBlock }: Manifest): Uint8Array =>
  toBytes({
    chainId: String(chainId),
    genesisHash: bytesToHex(genesis.hash),
    genesis: bytesToHex(encodeBlock(genesis.block)),
    number: header.number,
    hash: bytesToHex(hash),
    stateRoot: bytesToHex(header.stateRoot),
    header: bytesToHex(encodeHeader(header)),
    oldestBlock,
  });

export const encodeTotals = ({ blocks, accounts, slots, codes }: Totals): Uint8Array => toBytes({ blocks, accounts, slots, codes });

/** @throws {CodedError} snapshot/false-content: the content is contradictory */
export function parseManifest(content: Uint8Array): Manifest {
  return describingErrors("its manifest", () => {
    const object = jsonObject(JSON.parse(new TextDecoder().decode(content)), "manifest");
    const header = decodeHeader(requiredField(object, "", "header", jsonBytes()));
    const block = decodeBlock(requiredField(object, "", "genesis", jsonBytes()));
    const manifest: Manifest = {
      chainId: requiredField(object, "", "chainId", jsonFlexibleBigint),
      genesis: { block, hash: hashHeader(block.header) },
      header,
      hash: hashHeader(header),
      oldestBlock: requiredField(object, "", "oldestBlock", jsonFlexibleNumber),
    };
    expectSame("genesisHash", requiredField(object, "", "genesisHash", jsonHash), manifest.genesis.hash);
    expectSame("hash", requiredField(object, "", "hash", jsonHash), manifest.hash);
    expectSame("stateRoot", requiredField(object, "", "stateRoot", jsonHash), header.stateRoot);
    const isInOrder = block.header.number < manifest.oldestBlock && manifest.oldestBlock <= header.number;
    if (!isInOrder || requiredField(object, "", "number", jsonFlexibleNumber) !== header.number) {
      throw falseContent("the numbers of its blocks are not in order");
    }
    return manifest;
  });
}

/** @throws {CodedError} snapshot/false-content */
export function parseTotals(content: Uint8Array): Totals {
  return describingErrors("its end", () => {
    const object = jsonObject(JSON.parse(new TextDecoder().decode(content)), "end");
    const count = (name: keyof Totals): number => requiredField(object, "", name, jsonFlexibleNumber);
    return { blocks: count("blocks"), accounts: count("accounts"), slots: count("slots"), codes: count("codes") };
  });
}

function expectSame(what: string, said: Uint8Array, computed: Uint8Array): void {
  if (equalBytes(said, computed)) return;
  const [file, own]: Hex[] = [bytesToHex(said), bytesToHex(computed)];
  throw falseContent(`its ${what} is given as ${file}, but is ${own}`);
}

function describingErrors<T>(what: string, parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    if (isCodedError(cause, "snapshot/") || !(isCodedError(cause) || cause instanceof SyntaxError)) throw cause;
    throw falseContent(`${what} cannot be read: ${cause.message}`);
  }
}
