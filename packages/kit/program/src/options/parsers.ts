import { isIP } from "node:net";
import { resolve } from "node:path";
import { bytesToHex, hexToBytes } from "@rnode/primitives";
import { formatDurationMs, parseDurationMs } from "./duration.ts";

/** How an option's text becomes a value. */
export interface Parser<T> {
  /** completes "expected …" in an error, and stands for the value in `--help` */
  readonly expects: string;
  /** the placeholder in `--help`: `--rpc.port <port>`; undefined for booleans, which need no value */
  readonly placeholder: string | undefined;
  /** the meaning of the flag without a value; a value needs an equals sign, or is the next argument */
  readonly bare?: string;
  /** the ending of the property's name that states the unit and is not part of the flag: `timeoutMs` is `--timeout` */
  readonly keySuffix?: string;
  /** how each word of a comma-separated list is read; the values of an option that is given several times are joined */
  readonly item?: Parser<unknown>;
  /** `undefined`: the text is not a valid value */
  parse(text: string): T | undefined;
  /** the text that `parse` reads back */
  format(value: T): string;
}

const parser = <T>(
  placeholder: string,
  expects: string,
  parse: (text: string) => T | undefined,
  format: (value: T) => string = String,
): Parser<T> => ({ placeholder, expects, parse, format });

const DECIMAL = /^[0-9]+$/;

function integerIn(text: string, min: number, max: number): number | undefined {
  if (!/^-?[0-9]+$/.test(text)) return undefined;
  const value = Number(text);
  return Number.isSafeInteger(value) && value >= min && value <= max ? value : undefined;
}

export const uint: Parser<number> = parser("n", "a whole number, 0 or more", (text) => integerIn(text, 0, Number.MAX_SAFE_INTEGER));

/** A whole number within bounds, both included. */
export const integerBetween = (min: number, max: number): Parser<number> =>
  parser("n", `a whole number from ${min} to ${max}`, (text) => integerIn(text, min, max));

export const decimal: Parser<number> = parser("number", "a number", (text) =>
  /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/.test(text) ? Number(text) : undefined,
);

/** Wei, gas and other amounts without an upper bound of 2^53. */
export const bigUint: Parser<bigint> = parser("n", "a whole number, 0 or more", (text) =>
  DECIMAL.test(text) || /^0x[0-9a-fA-F]+$/.test(text) ? BigInt(text) : undefined,
);

export const port: Parser<number> = parser("port", "a port number from 0 to 65535", (text) => integerIn(text, 0, 65_535));

const TRUE_WORDS = ["true", "1", "t"];
const FALSE_WORDS = ["false", "0", "f"];

export const bool: Parser<boolean> = {
  placeholder: undefined,
  expects: "true or false",
  parse: (text) => {
    const word = text.toLowerCase();
    return TRUE_WORDS.includes(word) ? true : FALSE_WORDS.includes(word) ? false : undefined;
  },
  format: String,
};

export const text: Parser<string> = parser("text", "a text", (value) => value);

/** A text with a particular meaning. @param expects completes "expected …" */
export const textOf = (placeholder: string, expects: string): Parser<string> => parser(placeholder, expects, (value) => value);

/** Milliseconds, written in Go's duration syntax. */
export const duration: Parser<number> = {
  ...parser("duration", 'a duration such as "500ms", "12s" or "6m24s"', parseDurationMs, formatDurationMs),
  keySuffix: "Ms",
};

/** Milliseconds above 0. */
export const positiveDuration: Parser<number> = {
  ...duration,
  expects: `${duration.expects}, above 0`,
  parse: (value) => {
    const parsed = duration.parse(value);
    return parsed !== undefined && parsed > 0 ? parsed : undefined;
  },
};

/** An amount in gwei with up to nine decimals, parsed into wei. */
export const gwei: Parser<bigint> = {
  placeholder: "gwei",
  expects: "an amount of gwei, 0 or more, with at most nine decimals",
  parse: (value) => {
    const match = /^([0-9]+)(?:\.([0-9]{1,9}))?$/.exec(value);
    return match === null ? undefined : BigInt(match[1]!) * 10n ** 9n + BigInt((match[2] ?? "").padEnd(9, "0"));
  },
  format: (wei) => {
    const decimals = String(wei % 10n ** 9n)
      .padStart(9, "0")
      .replace(/0+$/, "");
    return `${wei / 10n ** 9n}${decimals === "" ? "" : `.${decimals}`}`;
  },
};

/** A URL with one of these schemes; kept as written. */
export function urlOf(...schemes: readonly string[]): Parser<string> {
  const list = schemes.map((scheme) => `${scheme}://`).join(", ");
  return parser("url", `a URL starting with ${list}`, (value) => {
    if (!URL.canParse(value)) return undefined;
    return schemes.includes(new URL(value).protocol.slice(0, -1)) ? value : undefined;
  });
}

export const httpUrl: Parser<string> = urlOf("http", "https");
export const wsUrl: Parser<string> = urlOf("ws", "wss");
export const url: Parser<string> = urlOf("http", "https", "ws", "wss");

export const ipAddress: Parser<string> = parser("ip", "an IP address", (value) => (isIP(value) === 0 ? undefined : value));

const isHostName = (name: string): boolean => /^[a-z\d_-]+(?:\.[a-z\d_-]+)*\.?$/i.test(name) && !/^[\d.]+$/.test(name);

/** An IP address, or a host name that may have one. */
export const ipOrHost: Parser<string> = parser("ip|host", "an IP address or a host name", (value) =>
  isIP(value) !== 0 || isHostName(value) ? value : undefined,
);

/** Where a server listens; empty: on all addresses. */
export const listenAddress: Parser<string> = { ...ipOrHost, parse: (value) => (value === "" ? value : ipOrHost.parse(value)) };

/** A path, made absolute against the working directory. */
export const path: Parser<string> = parser("path", "a path", (value) => (value.includes("\0") ? undefined : resolve(value)));

export function oneOf<const Names extends readonly string[]>(...names: Names): Parser<Names[number]> {
  return parser(names.join("|"), `one of ${names.join(", ")}`, (value) => names.find((name) => name === value));
}

/** The words of a comma-separated list, without empty ones. */
export const wordsOf = (list: string): string[] =>
  list
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");

/** Comma-separated; an option that is given several times adds to the list. */
export function listOf<T>(item: Parser<T>): Parser<readonly T[]> {
  return {
    placeholder: `${item.placeholder ?? "value"},…`,
    expects: `a comma-separated list, each ${item.expects}`,
    item,
    parse: (value) => {
      const items: T[] = [];
      for (const word of wordsOf(value)) {
        const parsed = item.parse(word);
        if (parsed === undefined) return undefined;
        items.push(parsed);
      }
      return items;
    },
    format: (values) => values.map((value) => item.format(value)).join(","),
  };
}

function hexOfLength(value: string, length: number): Uint8Array | undefined {
  const digits = value.trim().replace(/^0x/i, "");
  return digits.length === length * 2 && /^[0-9a-fA-F]*$/.test(digits) ? hexToBytes(digits) : undefined;
}

/** A secp256k1 private key; mark the option `secret`. */
export const hexKey: Parser<Uint8Array> = parser(
  "hex",
  "a 32-byte key as 64 hex digits",
  (value) => hexOfLength(value, 32),
  bytesToHex,
);

export const address: Parser<Uint8Array> = parser(
  "address",
  "a 20-byte address as 0x and 40 hex digits",
  (value) => hexOfLength(value, 20),
  bytesToHex,
);

export const hash: Parser<Uint8Array> = parser(
  "hash",
  "a 32-byte hash as 0x and 64 hex digits",
  (value) => hexOfLength(value, 32),
  bytesToHex,
);

export interface HttpHeader {
  readonly name: string;
  readonly value: string;
}

/** `X-Key: value`, with the space: upstream splits there, and starts with nothing else. */
export const httpHeader: Parser<HttpHeader> = parser(
  "header",
  'an HTTP header such as "X-Key: value"',
  (value) => {
    const match = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ([\t\x20-\x7e]*)$/.exec(value);
    return match ? { name: match[1]!, value: match[2]! } : undefined;
  },
  (header) => `${header.name}: ${header.value}`,
);

/** `key=value` */
export const keyValue: Parser<HttpHeader> = parser(
  "key=value",
  "key=value",
  (value) => {
    const at = value.indexOf("=");
    return at > 0 ? { name: value.slice(0, at), value: value.slice(at + 1) } : undefined;
  },
  (pair) => `${pair.name}=${pair.value}`,
);
