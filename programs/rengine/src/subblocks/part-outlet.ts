import type { Flashblock } from "@rnode/protocol";
import type { StreamServer } from "./stream-server.ts";

export interface PartOutletDeps {
  readonly server: Pick<StreamServer, "encode" | "readers" | "send">;
  /** number of the head */
  readonly head: () => number;
}

/** Parts of other builders that hold more than this are not kept. */
const MAX_CHARACTERS = 32 * 1024 * 1024;

/** Sends parts to all readers, and keeps those of the latest block for readers that connect within it. */
export class PartOutlet {
  readonly #deps: PartOutletDeps;
  #payloadId: string | undefined;
  #blockNumber = 0;
  #messages: (() => Buffer)[] = [];
  #characters = 0;

  constructor(deps: PartOutletDeps) {
    this.#deps = deps;
  }

  /** @param text of the message. @param characters its length; 0: the part was built here, within the limits of a block */
  publish(part: Pick<Flashblock, "blockNumber" | "index" | "payloadId">, text: () => string, characters = 0): void {
    const { server } = this.#deps;
    let encoded: Buffer | undefined;
    const message = (): Buffer => (encoded ??= server.encode(text()));
    this.#keep(part, message, characters);
    if (server.readers > 0) server.send(message());
  }

  /** All of the latest block, in order; none of a block that is not above the head. */
  missed(): readonly Buffer[] {
    if (this.#blockNumber <= this.#deps.head()) this.#drop();
    return this.#messages.map((message) => message());
  }

  #keep(
    { payloadId, index, blockNumber }: Pick<Flashblock, "blockNumber" | "index" | "payloadId">,
    message: () => Buffer,
    characters: number,
  ): void {
    if (index === 0) {
      this.#drop();
      this.#payloadId = payloadId;
      this.#blockNumber = blockNumber;
    }
    if (payloadId !== this.#payloadId || index !== this.#messages.length) return;
    this.#characters += characters;
    if (this.#characters <= MAX_CHARACTERS) this.#messages.push(message);
    else this.#drop();
  }

  #drop(): void {
    this.#payloadId = undefined;
    this.#messages = [];
    this.#characters = 0;
  }
}
