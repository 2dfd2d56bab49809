import { CodedError, hexToBytes, isCodedError, padBytesLeft, ZERO_ADDRESS, ZERO_HASH } from "@rnode/primitives";
import { type ExactFields, positionFields } from "../params/exact-fields.ts";
import {
  fieldKey,
  type JsonParser,
  jsonAddress,
  jsonBytes,
  jsonError,
  jsonFlexibleBigint,
  jsonHash,
  jsonObject,
  optionalField,
  requiredField,
} from "../params/json-fields.ts";
import type { ChainConfig } from "./chain-config.ts";
import { parseChainConfig } from "./chain-config-json.ts";

export type GenesisErrorCode =
  /** two entries of `alloc` are the same account: `address` */
  | "genesis/duplicate-account"
  /** two entries of an account's storage are the same slot: `address`, `slot` */
  | "genesis/duplicate-slot";

/** One account of `alloc`. */
export interface GenesisAccount {
  /** 20 bytes */
  readonly address: Uint8Array;
  readonly balance: bigint;
  readonly nonce: bigint;
  readonly code: Uint8Array;
  readonly storage: readonly GenesisSlot[];
}

/** 32 bytes each; a value of zero is an empty slot. */
export interface GenesisSlot {
  readonly slot: Uint8Array;
  readonly value: Uint8Array;
}

/** Header fields of a genesis file; roots and fork-dependent fields follow from the state and the rules. */
export interface GenesisHeader {
  readonly number: number;
  readonly parentHash: Uint8Array;
  /** 8 bytes */
  readonly nonce: Uint8Array;
  /** seconds */
  readonly timestamp: number;
  readonly extraData: Uint8Array;
  readonly gasLimit: bigint;
  readonly gasUsed: bigint;
  readonly difficulty: bigint;
  readonly mixHash: Uint8Array;
  readonly beneficiary: Uint8Array;
  readonly baseFeePerGas: bigint | undefined;
  readonly blobGasUsed: bigint | undefined;
  readonly excessBlobGas: bigint | undefined;
  readonly parentBeaconBlockRoot: Uint8Array | undefined;
  /** see `Header.exact` */
  readonly exact?: ExactFields | undefined;
}

/** A genesis file without its accounts. */
export interface GenesisHead {
  /** `undefined` if the file has null, as the file of a named network without forks does */
  readonly config: ChainConfig | undefined;
  readonly header: GenesisHeader;
}

export interface Genesis extends GenesisHead {
  readonly alloc: readonly GenesisAccount[];
}

/**
 * Parses a Geth genesis file (after JSON.parse).
 *
 * @throws {CodedError} json/invalid naming key and value, chain-config/*, genesis/duplicate-account
 */
export function parseGenesis(json: unknown): Genesis {
  return { ...parseGenesisHead(json), alloc: requiredField(jsonObject(json, "genesis"), "", "alloc", parseAlloc) };
}

/**
 * Parses everything except the accounts.
 *
 * @throws {CodedError} json/invalid naming key and value, chain-config/*
 */
export function parseGenesisHead(json: unknown): GenesisHead {
  const object = jsonObject(json, "genesis");
  const optional = <T>(name: string, parse: JsonParser<T>): T | undefined => optionalField(object, "", name, parse);
  const position = positionFields(optional("number", jsonUint64) ?? 0n, optional("timestamp", jsonUint64) ?? 0n);
  return {
    config: optional("config", (config, key) => parseChainConfig(config, key, position.timestamp)),
    header: {
      ...position,
      parentHash: optional("parentHash", jsonHash) ?? ZERO_HASH,
      nonce: optional("nonce", jsonNonce) ?? new Uint8Array(8),
      extraData: optional("extraData", jsonBytes()) ?? new Uint8Array(0),
      gasLimit: requiredField(object, "", "gasLimit", jsonUint64),
      gasUsed: optional("gasUsed", jsonUint64) ?? 0n,
      difficulty: optional("difficulty", jsonFlexibleBigint) ?? 0n,
      mixHash: optional("mixHash", jsonHash) ?? optional("mixhash", jsonHash) ?? ZERO_HASH,
      beneficiary: optional("coinbase", jsonAddress) ?? ZERO_ADDRESS,
      baseFeePerGas: optional("baseFeePerGas", jsonFlexibleBigint),
      blobGasUsed: optional("blobGasUsed", jsonUint64),
      excessBlobGas: optional("excessBlobGas", jsonUint64),
      parentBeaconBlockRoot: optional("parentBeaconBlockRoot", jsonHash),
    },
  };
}

const jsonUint64: JsonParser<bigint> = (value, key) => {
  const number = jsonFlexibleBigint(value, key);
  if (number >> 64n) throw jsonError(key, value, "an integer of at most 64 bits");
  return number;
};

/** Written as a quantity ("0x0") or as eight bytes ("0x0000000000000042"). */
const jsonNonce: JsonParser<Uint8Array> = (value, key) => {
  const nonce = new Uint8Array(8);
  new DataView(nonce.buffer).setBigUint64(0, jsonUint64(value, key));
  return nonce;
};

/** An object of accounts by address, with or without `0x`. */
export const parseAlloc: JsonParser<GenesisAccount[]> = (value, path) => {
  const seen = new Set<string>();
  return Object.entries(jsonObject(value, path)).map(([name, account]) => {
    const canonical = name.replace(/^0x/, "").toLowerCase();
    if (seen.has(canonical)) throw new CodedError<GenesisErrorCode>("genesis/duplicate-account", { address: name });
    seen.add(canonical);
    return parseGenesisAccount(name, account, path);
  });
};

/** The entry `name` of the `alloc` at `path`. */
export function parseGenesisAccount(name: string, value: unknown, path: string): GenesisAccount {
  const key = fieldKey(path, name);
  const address = jsonAddress(name.startsWith("0x") ? name : `0x${name}`, key);
  return parseAccount(address, value, key);
}

function parseAccount(address: Uint8Array, value: unknown, path: string): GenesisAccount {
  const object = jsonObject(value, path);
  const storage = optionalField(object, path, "storage", jsonObject) ?? {};
  return {
    address,
    balance: optionalField(object, path, "balance", jsonFlexibleBigint) ?? 0n,
    nonce: optionalField(object, path, "nonce", jsonUint64) ?? 0n,
    code: optionalField(object, path, "code", jsonBytes()) ?? new Uint8Array(0),
    storage: Object.entries(storage).map(([slot, word]) => parseGenesisSlot(slot, word, `${path}.storage`)),
  };
}

/** The entry `slot` of the storage at `path`. */
export function parseGenesisSlot(slot: string, word: unknown, path: string): GenesisSlot {
  const key = fieldKey(path, slot);
  return { slot: parseWord(slot, key), value: parseWord(word, key) };
}

/** Hex of at most 32 bytes, with or without `0x` and with any number of digits; left-padded. */
const parseWord: JsonParser<Uint8Array> = (value, key) => {
  if (typeof value === "string") {
    const digits = value.replace(/^0x/, "");
    if (digits.length <= 64) {
      try {
        return padBytesLeft(hexToBytes(digits.length % 2 === 0 ? digits : `0${digits}`), 32);
      } catch (error) {
        if (!isCodedError(error, "bytes/")) throw error;
      }
    }
  }
  throw jsonError(key, value, "at most 32 bytes of hex");
};
