import { bigintToBytes, concatBytes, hexToBytes, hexToFixedBytes, keccak256, padBytesLeft } from "@rnode/primitives";
import { DevError } from "../dev-error.ts";

// Hashes of typed data. Spec: EIP-712

interface Field {
  readonly name: string;
  readonly type: string;
}
type Types = Readonly<Record<string, readonly Field[]>>;
type Values = Readonly<Record<string, unknown>>;

const MAX_DEPTH = 64;
const utf8 = new TextEncoder();
const bad = (reason: string): DevError => new DevError("dev/bad-request", { reason: `typed data: ${reason}` });

/** What an account signs of typed data. @throws {DevError} dev/bad-request */
export function typedDataHash(given: unknown): Uint8Array {
  const data = typeof given === "string" ? parseJson(given) : given;
  if (!isObject(data)) throw bad("expected an object");
  const { types, primaryType, domain, message } = data;
  if (!isObject(types) || typeof primaryType !== "string" || !isObject(domain) || !isObject(message))
    throw bad("expected types, primaryType, domain and message");
  const all = readTypes(types);
  const domainHash = structHash(all, "EIP712Domain", domain, 0);
  const parts = primaryType === "EIP712Domain" ? [domainHash] : [domainHash, structHash(all, primaryType, message, 0)];
  return keccak256(concatBytes(Uint8Array.of(0x19, 0x01), ...parts));
}

function readTypes(given: Values): Types {
  const types: Record<string, readonly Field[]> = {};
  for (const [name, fields] of Object.entries(given)) {
    if (!Array.isArray(fields)) throw bad(`${name} is no list of fields`);
    types[name] = fields.map((field: unknown) => {
      if (!isObject(field) || typeof field.name !== "string" || typeof field.type !== "string")
        throw bad(`a field of ${name} lacks name or type`);
      return { name: field.name, type: field.type };
    });
  }
  return types;
}

function structHash(types: Types, name: string, values: Values, depth: number): Uint8Array {
  if (depth > MAX_DEPTH) throw bad("nested too deeply");
  const fields = types[name];
  if (fields === undefined) throw bad(`type ${name} is not among the types`);
  const words = fields.map(({ name: field, type }) => encodeValue(types, type, values[field], depth + 1));
  return keccak256(concatBytes(keccak256(utf8.encode(encodeType(types, name))), ...words));
}

/** The type, and those it refers to in the order of their names. */
function encodeType(types: Types, name: string): string {
  const found = new Set<string>();
  const visit = (type: string): void => {
    const base = type.replace(/\[.*$/, "");
    if (types[base] === undefined || found.has(base)) return;
    found.add(base);
    for (const field of types[base]) visit(field.type);
  };
  visit(name);
  const others = [...found].filter((each) => each !== name).sort();
  return [name, ...others]
    .map((each) => `${each}(${types[each]!.map(({ name: field, type }) => `${type} ${field}`).join(",")})`)
    .join("");
}

function encodeValue(types: Types, type: string, value: unknown, depth: number): Uint8Array {
  const array = /^(.*)\[(\d*)\]$/.exec(type);
  if (array !== null) {
    if (!Array.isArray(value)) throw bad(`expected a list of ${array[1]}`);
    if (array[2] !== "" && value.length !== Number(array[2])) throw bad(`expected ${array[2]} items of ${array[1]}`);
    return keccak256(concatBytes(...value.map((item: unknown) => encodeValue(types, array[1]!, item, depth + 1))));
  }
  if (types[type] !== undefined) {
    if (value === undefined || value === null) return new Uint8Array(32);
    if (!isObject(value)) throw bad(`expected an object of ${type}`);
    return structHash(types, type, value, depth);
  }
  try {
    return encodeAtom(type, value);
  } catch (error) {
    throw bad(`${JSON.stringify(value)} is no ${type}${error instanceof DevError ? `: ${error.message}` : ""}`);
  }
}

function encodeAtom(type: string, value: unknown): Uint8Array {
  if (type === "string") return keccak256(utf8.encode(String(value)));
  if (type === "bytes") return keccak256(hexToBytes(String(value)));
  if (type === "bool") return bigintToBytes(value === true || value === "true" ? 1n : 0n, 32);
  if (type === "address") return padBytesLeft(hexToFixedBytes(String(value), 20), 32);
  const bytes = /^bytes(\d+)$/.exec(type);
  if (bytes !== null) {
    const word = new Uint8Array(32);
    word.set(hexToFixedBytes(String(value), Number(bytes[1])));
    return word;
  }
  if (/^u?int\d*$/.test(type)) return bigintToBytes(BigInt.asUintN(256, BigInt(value as string)), 32);
  throw bad("unknown type");
}

const isObject = (value: unknown): value is Values => typeof value === "object" && value !== null && !Array.isArray(value);

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw bad("not JSON");
  }
}
