import type { Hex } from "@rnode/primitives";

/** What a message says of a block. A consumer that applies all messages in order has the canonical chain. */
export interface StreamEntry {
  /** `block`: a child of the last block that is not retracted. `retract`: the last block, whole or in parts, is not canonical any more. */
  readonly kind: "block" | "retract";
  readonly number: number;
  readonly hash: Hex;
  readonly parentHash: Hex;
  /** the stream begins with this block, so it does not have the parent */
  readonly isFirst: boolean;
  /** a block that is too large for a message comes in several, from part 1 on */
  readonly part: number;
  readonly parts: number;
  /** of the chain */
  readonly genesisHash: Hex;
}

export interface StoredEntry extends StreamEntry {
  /** of the message in the broker */
  readonly sequence: number;
}

/** One ordered list of messages in a broker. */
export interface Broker {
  /** the largest body of a message */
  maxBodyBytes(): Promise<number>;
  last(): Promise<StoredEntry | undefined>;
  /** The message before; undefined: the broker has no older one. */
  before(sequence: number): Promise<StoredEntry | undefined>;
  /**
   * Stores a message if the last one is still the given one.
   *
   * @param after sequence of the last message; 0: there is none
   * @returns the sequence of the message
   * @throws if the message was not stored, or if the broker's answer was lost
   */
  publish(entry: StreamEntry, body: Uint8Array, after: number): Promise<number>;
}

/** A block as the node has it. */
export interface NodeBlock {
  readonly number: number;
  readonly hash: Hex;
  readonly parentHash: Hex;
  readonly body: Uint8Array;
}

/** The node whose blocks are published. */
export interface BlockNode {
  genesisHash(): Promise<Hex>;
  /** number of the newest block to publish; undefined: there is none yet */
  headNumber(): Promise<number | undefined>;
  hashAt(number: number): Promise<Hex | undefined>;
  /** undefined: the node does not have it */
  block(number: number): Promise<NodeBlock | undefined>;
}

export const isWhole = ({ kind, part, parts }: StreamEntry): boolean => kind === "block" && part === parts;
