import type { BlockSelector } from "@rnode/chain";
import { addressShape, hashShape, type Shape, ShapeError, shape, shown } from "@rnode/jsonrpc";
import { blockNumberShape } from "./block-selector.ts";

/** Which logs are wanted, regardless of block. */
export interface LogCriteria {
  /** undefined: any */
  readonly addresses: readonly Uint8Array[] | undefined;
  /** by topic position; undefined: any */
  readonly topics: readonly (readonly Uint8Array[] | undefined)[];
}

export interface LogFilter extends LogCriteria {
  readonly blockHash: Uint8Array | undefined;
  readonly fromBlock: BlockSelector | undefined;
  readonly toBlock: BlockSelector | undefined;
}

/** What a subscription without a filter gets. */
export const ALL_LOGS: LogFilter = {
  addresses: undefined,
  topics: [],
  blockHash: undefined,
  fromBlock: undefined,
  toBlock: undefined,
};

const MAX_ADDRESSES = 1000;
const MAX_TOPICS = 1000;
const MAX_POSITIONS = 4;

const isMissing = (value: unknown): value is null | undefined => value === undefined || value === null;

function oneOrMany<T>(item: Shape<T>, value: unknown, max: number, what: string): readonly T[] | undefined {
  if (isMissing(value)) return undefined;
  if (!Array.isArray(value)) return [item.parse(value)];
  if (value.length > max) throw new ShapeError(`exceed max ${what}: got ${value.length}, limit ${max}`);
  if (value.length === 0) return undefined;
  return value.map((entry: unknown) => item.parse(entry));
}

function within<T>(step: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw error instanceof ShapeError ? error.within(step) : error;
  }
}

const CRITERIA_SCHEMA = {
  address: { oneOf: [addressShape.schema, { type: "array", items: addressShape.schema }] },
  topics: {
    type: "array",
    maxItems: MAX_POSITIONS,
    items: { oneOf: [{ type: "null" }, hashShape.schema, { type: "array", items: hashShape.schema }] },
  },
};

function parseCriteria(fields: Readonly<Record<string, unknown>>): LogCriteria {
  const addresses = within("address", () => oneOrMany(addressShape, fields.address, MAX_ADDRESSES, "addresses"));
  const topics = within("topics", () => {
    if (isMissing(fields.topics)) return [];
    if (!Array.isArray(fields.topics)) throw new ShapeError(`expected an array, got ${shown(fields.topics)}`);
    if (fields.topics.length > MAX_POSITIONS) throw new ShapeError(`exceed max topics: at most ${MAX_POSITIONS} positions`);
    return fields.topics.map((position: unknown, index) =>
      within(`[${index}]`, () =>
        // null among several topics matches any topic, as in Geth
        Array.isArray(position) && position.some(isMissing) ? undefined : oneOrMany(hashShape, position, MAX_TOPICS, "topics"),
      ),
    );
  });
  return { addresses, topics };
}

function asFields(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new ShapeError(`expected an object, got ${shown(value)}`);
  return value as Readonly<Record<string, unknown>>;
}

/** Whether logs of this block are wanted as far as the range goes. Tags bound nothing: these are blocks that come after the filter. */
export function isWithinRange({ fromBlock, toBlock }: LogFilter, number: number): boolean {
  if (fromBlock?.kind === "number" && number < fromBlock.number) return false;
  return !(toBlock?.kind === "number" && number > toBlock.number);
}

/** The filter of `eth_getLogs`, `eth_newFilter` and subscriptions. The caller must check that it does not have both a block hash and a range. */
export const logFilterShape: Shape<LogFilter> = shape(
  {
    type: "object",
    properties: {
      ...CRITERIA_SCHEMA,
      fromBlock: blockNumberShape.schema,
      toBlock: blockNumberShape.schema,
      blockHash: hashShape.schema,
    },
  },
  (value) => {
    const fields = asFields(value);
    const optional = <T>(name: string, item: Shape<T>): T | undefined =>
      within(name, () => (isMissing(fields[name]) ? undefined : item.parse(fields[name])));
    return {
      ...parseCriteria(fields),
      blockHash: optional("blockHash", hashShape),
      fromBlock: optional("fromBlock", blockNumberShape),
      toBlock: optional("toBlock", blockNumberShape),
    };
  },
);
