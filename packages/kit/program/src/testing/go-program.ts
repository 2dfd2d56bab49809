import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

const START_TIMEOUT_MS = 20_000;
const STOP_TIMEOUT_MS = 5_000;

/**
 * A program in Go as a child process. It takes commands as lines of JSON, and answers likewise; its first line says who it is, and what it
 * says unasked has an `event`.
 */
export class GoProgram<Identity, Command extends object, Event extends { readonly event: string }> {
  readonly identity: Identity;
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  readonly #waiting = new Map<number, Waiting>();
  readonly #listeners = new Set<(event: Event) => void>();
  readonly #events: Event[] = [];
  #nextId = 1;

  private constructor(child: ChildProcess, identity: Identity, exited: Promise<void>) {
    this.#child = child;
    this.identity = identity;
    this.#exited = exited;
  }

  /** @throws with its last words when it does not start */
  static async start<Identity, Command extends object, Event extends { readonly event: string }>(
    binary: string,
    args: readonly string[],
  ): Promise<GoProgram<Identity, Command, Event>> {
    type Started = GoProgram<Identity, Command, Event>;
    const child = spawn(binary, args, { stdio: ["pipe", "pipe", "pipe"] });
    let lastWords = "";
    child.stderr.on("data", (text: Buffer) => {
      lastWords = (lastWords + text.toString()).slice(-2_000);
    });
    const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    return await new Promise<Started>((resolve, reject) => {
      let peer: Started | undefined;
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
          peer = new GoProgram<Identity, Command, Event>(child, message as unknown as Identity, exited);
          resolve(peer);
        } else if (peer === undefined) fail(`began with ${line}`);
        else if (message.event !== undefined) peer.#onEvent(message as unknown as Event);
        else peer.#onAnswer(message);
      });
    });
  }

  /** @throws with the program's own words when it cannot do it */
  async ask<T>(command: string, fields: Partial<Command> = {}): Promise<T> {
    const id = this.#nextId++;
    return await new Promise<T>((resolve, reject) => {
      this.#waiting.set(id, { resolve: (result) => resolve(result as T), reject });
      this.#child.stdin!.write(`${JSON.stringify({ id, command, ...fields })}\n`);
    });
  }

  /** Waits for an event that came already, or comes in time, and takes it. */
  async event(what: string, matches: (event: Event) => boolean, timeoutMs: number): Promise<Event> {
    const index = this.#events.findIndex(matches);
    if (index >= 0) return this.#events.splice(index, 1)[0]!;
    return await new Promise<Event>((resolve, reject) => {
      const listener = (event: Event): void => {
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

  #onEvent(event: Event): void {
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
