import { prefixEnd } from "../etcd/etcd-api.ts";

/** Of the largest number that JavaScript counts to. */
const NUMBER_DIGITS = 16;

/** Where a cluster keeps what, below its prefix. */
export class ClusterKeys {
  /** who leads; its create revision is the fencing token */
  readonly leader: string;
  /** for a few seconds after a transfer: who may follow */
  readonly transfer: string;
  /** the last committed block, and the location of its payload */
  readonly head: string;
  readonly payloads: string;
  readonly members: string;
  /** which servers may not lead */
  readonly roster: string;
  /** which chain all this belongs to */
  readonly chain: string;

  /** @param prefix ends in a slash */
  constructor(prefix: string) {
    this.leader = `${prefix}leader`;
    this.transfer = `${prefix}transfer`;
    this.head = `${prefix}head`;
    this.payloads = `${prefix}payloads/`;
    this.members = `${prefix}members/`;
    this.roster = `${prefix}roster`;
    this.chain = `${prefix}chain`;
  }

  member(id: string): string {
    return this.members + id;
  }

  /** The chunks of one payload, of one leader: another one never writes there. Sorted by number. */
  payload({ number, fence, hash }: { readonly number: number; readonly fence: number; readonly hash: string }): string {
    return `${this.payloadsFrom(number)}-${fence}-${hash}/`;
  }

  /** Before all payloads of this number and of later ones. */
  payloadsFrom(number: number): string {
    return this.payloads + String(Math.max(0, number)).padStart(NUMBER_DIGITS, "0");
  }

  get membersEnd(): string {
    return prefixEnd(this.members);
  }
}
