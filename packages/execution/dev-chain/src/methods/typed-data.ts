import { bigintToBytes, concatBytes, hexToBytes, keccak256, padBytesLeft } from "@rnode/primitives";
import { DevError } from "../dev-error.ts";

// Hashes of typed data. Spec: EIP-712. Where it is silent, as MetaMask's `eth_signTypedData_v4`: a missing EIP712Domain type has no fields,
// a missing struct is a zero word, a null string is empty, and short hex is padded.

interface Field {
  readonly name: string;
  readonly type: string;
}
type Values = Readonly<Record<string, unknown>>;

const MAX_DEPTH = 64;
const DOMAIN = "EIP712Domain";
const utf8 = new TextEncoder();
const bad = (reason: string): DevError => new DevError("dev/bad-request", { reason: `typed data: ${reason}` });

export interface TypedData {
  /** what an account signs */
  readonly hash: Uint8Array;
  /** `undefined` if the domain names no chain */
  readonly domainChainId: bigint | undefined;
}

/** @param given an object or its JSON @throws {DevError} dev/bad-request */
export function readTypedData(given: unknown): TypedData {
  const data = typeof given === "string" ? parseJson(given) : given;
  if (!isObject(data)) throw bad("expected an object");
  const { types, primaryType, domain = {}, message = {} } = data;
  if (!isObject(types) || typeof primaryType !== "string" || !isObject(domain) || !isObject(message))
    throw bad("expected types, primaryType, domain and message");
  const hasher = new StructHasher(types);
  const parts = [hasher.hash(DOMAIN, domain, 0)];
  if (primaryType !== DOMAIN) parts.push(hasher.hash(primaryType, message, 0));
  const { chainId } = domain;
  return {
    hash: keccak256(concatBytes(Uint8Array.of(0x19, 0x01), ...parts)),
    domainChainId: chainId === undefined || chainId === null ? undefined : integer(chainId),
  };
}

class StructHasher {
  readonly #types: ReadonlyMap<string, readonly Field[]>;
  readonly #typeHashes = new Map<string, Uint8Array>();

  constructor(given: Values) {
    const types = new Map<string, readonly Field[]>([[DOMAIN, []]]);
    for (const [name, fields] of Object.entries(given)) types.set(name, readFields(name, fields));
    this.#types = types;
  }

  hash(name: string, values: Values, depth: number): Uint8Array {
    if (depth > MAX_DEPTH) throw bad("nested too deeply");
    const fields = this.#types.get(name);
    if (fields === undefined) throw bad(`type ${name} is not among the types`);
    const words = fields.map(({ name: field, type }) => {
      const value = Object.hasOwn(values, field) ? values[field] : undefined;
      return this.#word(`${name}.${field}`, type, value, depth + 1);
    });
    return keccak256(concatBytes(this.#typeHash(name), ...words));
  }

  /** @param at the field, for errors */
  #word(at: string, type: string, value: unknown, depth: number): Uint8Array {
    if (this.#types.has(type)) {
      if (value === undefined || value === null) return new Uint8Array(32);
      if (!isObject(value)) throw bad(`${at}: expected an object of ${type}`);
      return this.hash(type, value, depth);
    }
    if (value === undefined) throw bad(`${at} of type ${type} is missing`);
    const array = /^(.*)\[(\d*)\]$/.exec(type);
    if (array === null) return atom(at, type, value);
    if (depth > MAX_DEPTH) throw bad("nested too deeply");
    if (!Array.isArray(value)) throw bad(`${at}: expected a list of ${array[1]}`);
    if (array[2] !== "" && value.length !== Number(array[2])) throw bad(`${at}: expected ${array[2]} items of ${array[1]}`);
    return keccak256(concatBytes(...value.map((item: unknown) => this.#word(at, array[1]!, item, depth + 1))));
  }

  #typeHash(name: string): Uint8Array {
    let hash = this.#typeHashes.get(name);
    if (hash === undefined) this.#typeHashes.set(name, (hash = keccak256(utf8.encode(this.#encodeType(name)))));
    return hash;
  }

  /** The type, and the types that it refers to in the order of their names. */
  #encodeType(name: string): string {
    const found = new Set([name]);
    for (const each of found) {
      for (const { type } of this.#types.get(each)!) {
        const base = type.replace(/\[.*$/, "");
        if (this.#types.has(base)) found.add(base);
      }
    }
    const others = [...found].filter((each) => each !== name).sort();
    const text = (each: string): string =>
      this.#types
        .get(each)!
        .map(({ name: field, type }) => `${type} ${field}`)
        .join(",");
    return [name, ...others].map((each) => `${each}(${text(each)})`).join("");
  }
}

function readFields(name: string, fields: unknown): readonly Field[] {
  if (!Array.isArray(fields)) throw bad(`${name} is no list of fields`);
  return fields.map((field: unknown) => {
    if (!isObject(field) || typeof field.name !== "string" || typeof field.type !== "string")
      throw bad(`a field of ${name} lacks name or type`);
    return { name: field.name, type: field.type };
  });
}

function atom(at: string, type: string, value: unknown): Uint8Array {
  const wrong = (): DevError => bad(`${at}: ${JSON.stringify(value)} is no ${type}`);
  if (type === "bool") return bigintToBytes(value ? 1n : 0n, 32);
  if (type === "string" || type === "bytes") {
    if (typeof value === "number") return keccak256(numberBytes(value, wrong));
    if (type === "string" && value === null) return keccak256(new Uint8Array(0));
    if (typeof value !== "string") throw wrong();
    return keccak256(type === "bytes" && /^0x[0-9a-fA-F]*$/.test(value) ? evenHex(value) : utf8.encode(value));
  }
  if (type === "address" || /^bytes\d+$/.test(type)) {
    const length = type === "address" ? 20 : Number(type.slice(5));
    const isHex = typeof value === "string" && /^0x[0-9a-fA-F]+$/.test(value);
    if (!isHex && typeof value !== "number") throw wrong();
    const bytes = isHex ? evenHex(value) : numberBytes(value as number, wrong);
    if (length < 1 || length > 32 || bytes.length > length) throw wrong();
    if (type === "address") return padBytesLeft(bytes, 32);
    const word = new Uint8Array(32);
    word.set(bytes);
    return word;
  }
  const [, sign, size = "256"] = /^(u?)int(\d*)$/.exec(type) ?? [];
  const bits = Number(size === "" ? "256" : size);
  if (sign === undefined || bits < 8 || bits > 256 || bits % 8 !== 0) throw bad(`${at}: unknown type ${type}`);
  const number = integer(value, wrong);
  const isInRange = sign === "u" ? number === BigInt.asUintN(bits, number) : number === BigInt.asIntN(bits, number);
  if (!isInRange) throw wrong();
  return bigintToBytes(BigInt.asUintN(256, number), 32);
}

const evenHex = (hex: string): Uint8Array => hexToBytes(hex.length % 2 === 0 ? hex : `0x0${hex.slice(2)}`);

function numberBytes(value: number, wrong: () => DevError): Uint8Array {
  if (!Number.isSafeInteger(value) || value < 0) throw wrong();
  return evenHex(`0x${value.toString(16)}`);
}

/** Decimal or hex text of at most 100 characters, or a JSON number. */
function integer(value: unknown, wrong = () => bad(`${JSON.stringify(value)} is no integer`)): bigint {
  const isNumber = typeof value === "number" && Number.isSafeInteger(value);
  if (!isNumber && !(typeof value === "string" && value.length <= 100 && /^(?:-?\d+|0x[0-9a-fA-F]+)$/.test(value))) throw wrong();
  return BigInt(value as string | number);
}

const isObject = (value: unknown): value is Values => typeof value === "object" && value !== null && !Array.isArray(value);

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw bad("not JSON");
  }
}
