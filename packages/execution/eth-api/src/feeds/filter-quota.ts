import { LIMIT_EXCEEDED, RpcError } from "@rnode/jsonrpc";

export interface FilterQuotaLimits {
  readonly maxFilters: number;
  /** of what all filters look for, roughly */
  readonly maxFilterBytes: number;
}

/** One client address may have this part of all filters. */
const ADDRESS_PART = 1 / 4;

interface Use {
  count: number;
  bytes: number;
}

/** Bounds the filters of all clients and of each client address. */
export class FilterQuota {
  readonly #limits: FilterQuotaLimits;
  readonly #all: Use = { count: 0, bytes: 0 };
  readonly #byAddress = new Map<string, Use>();

  constructor(limits: FilterQuotaLimits) {
    this.#limits = limits;
  }

  get bytes(): number {
    return this.#all.bytes;
  }

  /** @throws {RpcError} there is no room for another filter */
  take(address: string, bytes: number): void {
    const own = this.#byAddress.get(address) ?? { count: 0, bytes: 0 };
    const exceeds = (use: Use, part: number): boolean =>
      use.count + 1 > this.#limits.maxFilters * part || use.bytes + bytes > this.#limits.maxFilterBytes * part;
    const whose = exceeds(own, ADDRESS_PART) ? "this address has" : exceeds(this.#all, 1) ? "this node has" : undefined;
    if (whose !== undefined) {
      throw new RpcError(
        LIMIT_EXCEEDED,
        `${whose} too many filters: uninstall some, or wait until those that nobody polls are removed`,
      );
    }
    this.#byAddress.set(address, own);
    for (const use of [own, this.#all]) {
      use.count++;
      use.bytes += bytes;
    }
  }

  giveBack(address: string, bytes: number): void {
    const own = this.#byAddress.get(address);
    if (own === undefined) return;
    for (const use of [own, this.#all]) {
      use.count--;
      use.bytes -= bytes;
    }
    if (own.count === 0) this.#byAddress.delete(address);
  }
}
