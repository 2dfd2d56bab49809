import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** What the Go program says at its start. */
export interface GoIdentity {
  readonly peerId: string;
  readonly addresses: readonly string[];
  /** address whose key signs what it publishes */
  readonly sequencer: string;
  /** only with discovery */
  readonly enr?: string;
  readonly enode?: string;
}

/** A block in the words of the Engine API, with the version of its SSZ form. */
export interface GoBlock {
  readonly version: number;
  readonly parentBeaconBlockRoot: string;
  readonly parentHash: string;
  readonly feeRecipient: string;
  readonly stateRoot: string;
  readonly receiptsRoot: string;
  readonly logsBloom: string;
  readonly prevRandao: string;
  readonly blockNumber: string;
  readonly gasLimit: string;
  readonly gasUsed: string;
  readonly timestamp: string;
  readonly extraData: string;
  readonly baseFeePerGas: string;
  /** computed by the Go program, whatever it is told */
  readonly blockHash: string;
  readonly transactions: readonly string[];
  readonly blobGasUsed: string;
  readonly excessBlobGas: string;
  readonly withdrawalsRoot: string;
}

export interface GoPeerView {
  readonly id: string;
  readonly address: string;
  readonly direction: string;
  readonly security: string;
  readonly muxer: string;
  readonly agent: string;
  readonly protocols: readonly string[];
  readonly subscribed: readonly number[];
}

export interface GoAnswer {
  readonly protocol: string;
  readonly result: number;
  readonly version?: number;
  readonly block?: GoBlock;
}

/** What it prints without being asked. */
export type GoEvent =
  | { readonly event: "block"; readonly from: string; readonly block: GoBlock }
  | { readonly event: "refused"; readonly from: string; readonly version: number; readonly reason: string };

/** Fields of a command; the rest of a command is its name. */
export interface GoCommand {
  readonly address?: string;
  readonly peer?: string;
  readonly number?: number;
  readonly slash?: boolean;
  readonly signer?: string;
  readonly timeoutMs?: number;
  readonly block?: GoBlock;
  readonly size?: number;
  readonly count?: number;
}

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

const START_TIMEOUT_MS = 20_000;
const STOP_TIMEOUT_MS = 5_000;

/** The Go program of `interop/` as a child process. */
export class GoPeer {
  readonly identity: GoIdentity;
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  readonly #waiting = new Map<number, Waiting>();
  readonly #listeners = new Set<(event: GoEvent) => void>();
  readonly #events: GoEvent[] = [];
  #nextId = 1;

  private constructor(child: ChildProcess, identity: GoIdentity, exited: Promise<void>) {
    this.#child = child;
    this.identity = identity;
    this.#exited = exited;
  }

  /** @throws with its last words when it does not start */
  static async start(binary: string, args: readonly string[]): Promise<GoPeer> {
    const child = spawn(binary, args, { stdio: ["pipe", "pipe", "pipe"] });
    let lastWords = "";
    child.stderr.on("data", (text: Buffer) => {
      lastWords = (lastWords + text.toString()).slice(-2_000);
    });
    const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    return await new Promise<GoPeer>((resolve, reject) => {
      let peer: GoPeer | undefined;
      const fail = (reason: string): void => {
        reject(new Error(`the Go program ${reason}: ${lastWords.trim()}`));
        if (peer !== undefined) peer.#giveUp(`the Go program ${reason}`);
      };
      const timer = setTimeout(() => {
        child.kill("SIGKILL");
        fail(`said nothing within ${START_TIMEOUT_MS / 1000} s`);
      }, START_TIMEOUT_MS);
      child.once("error", (error) => fail(`cannot be started (${error.message})`));
      child.once("exit", (code) => {
        clearTimeout(timer);
        fail(`ended with code ${code}`);
      });
      createInterface({ input: child.stdout }).on("line", (line) => {
        const message = JSON.parse(line) as { event?: string; id?: number; error?: string; result?: unknown };
        if (message.event === "ready") {
          clearTimeout(timer);
          peer = new GoPeer(child, message as unknown as GoIdentity, exited);
          resolve(peer);
        } else if (peer === undefined) fail(`began with ${line}`);
        else if (message.event !== undefined) peer.#onEvent(message as GoEvent);
        else peer.#onAnswer(message);
      });
    });
  }

  /** @throws with the program's own words when it cannot do it */
  async ask<T>(command: string, fields: GoCommand = {}): Promise<T> {
    const id = this.#nextId++;
    return await new Promise<T>((resolve, reject) => {
      this.#waiting.set(id, { resolve: (result) => resolve(result as T), reject });
      this.#child.stdin!.write(`${JSON.stringify({ id, command, ...fields })}\n`);
    });
  }

  /** Waits for an event that came already, or comes in time, and takes it. */
  async event(what: string, matches: (event: GoEvent) => boolean, timeoutMs: number): Promise<GoEvent> {
    const index = this.#events.findIndex(matches);
    if (index >= 0) return this.#events.splice(index, 1)[0]!;
    return await new Promise<GoEvent>((resolve, reject) => {
      const listener = (event: GoEvent): void => {
        if (!matches(event)) return;
        done();
        this.#events.splice(this.#events.indexOf(event), 1);
        resolve(event);
      };
      const timer = setTimeout(() => {
        done();
        reject(new Error(`the Go program did not print ${what} within ${timeoutMs / 1000} s`));
      }, timeoutMs);
      const done = (): void => {
        clearTimeout(timer);
        this.#listeners.delete(listener);
      };
      this.#listeners.add(listener);
    });
  }

  /** Ends when its standard input does. */
  async close(): Promise<void> {
    this.#child.stdin!.end();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), STOP_TIMEOUT_MS);
    await this.#exited;
    clearTimeout(timer);
  }

  #onEvent(event: GoEvent): void {
    this.#events.push(event);
    for (const listener of [...this.#listeners]) listener(event);
  }

  #onAnswer({ id, error, result }: { id?: number; error?: string; result?: unknown }): void {
    const waiting = this.#waiting.get(id!);
    this.#waiting.delete(id!);
    if (error !== undefined) waiting?.reject(new Error(error));
    else waiting?.resolve(result);
  }

  #giveUp(reason: string): void {
    for (const { reject } of this.#waiting.values()) reject(new Error(reason));
    this.#waiting.clear();
  }
}
