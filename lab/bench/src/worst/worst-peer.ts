import { type ChildProcessByStdio, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { bytesToHex } from "@rnode/primitives";
import type { WorstCase } from "./worst-code.ts";

interface PeerRun {
  readonly gas: number;
  readonly cpuNs: number;
  readonly status: string;
}

/**
 * Another EVM in a separate program, which reads lines of words and has the state of `worst-state.ts`:
 *
 * - `case ADDRESS` begins a case with the called contract; `code ADDRESS BYTES`; `bulk BYTES`
 * - `run GAS-LIMIT CALL-DATA` executes the transaction, price 0, rules of Osaka without the cap on a transaction's gas, and
 *   answers with one line: gas used, nanoseconds of CPU time, and "success" or another word
 */
export class Peer {
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;
  #current: WorstCase | undefined;

  constructor(path: string) {
    this.#process = spawn(path, { stdio: ["pipe", "pipe", "inherit"] });
    this.#process.once("error", (error) => {
      throw new Error(`--revm: ${path} does not start: ${error.message}`);
    });
    this.#lines = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]();
  }

  async run(worst: WorstCase, gasLimit: number, data: Uint8Array): Promise<PeerRun> {
    if (this.#current !== worst) {
      this.#current = worst;
      this.#write(`case ${bytesToHex(worst.contracts[0]!.address)}`);
      for (const { address, code } of worst.contracts) this.#write(`code ${bytesToHex(address)} ${bytesToHex(code)}`);
      if (worst.bulk !== undefined) this.#write(`bulk ${bytesToHex(worst.bulk)}`);
    }
    this.#write(`run ${gasLimit} ${bytesToHex(data)}`);
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error(`--revm: the program ended in "${worst.name}"`);
    const [gas, cpuNs, status] = (value as string).split(" ");
    return { gas: Number(gas), cpuNs: Number(cpuNs), status: status ?? "no answer" };
  }

  close(): void {
    this.#process.stdin.end();
  }

  #write(line: string): void {
    this.#process.stdin.write(`${line}\n`);
  }
}
