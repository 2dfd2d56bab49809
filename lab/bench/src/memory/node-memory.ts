import { readFileSync } from "node:fs";
import { until } from "@rnode/program/testing";
import { WebSocket } from "undici";

/** A Node.js process's report of its memory, in bytes. */
export interface NodeMemory {
  readonly heapUsedBytes: number;
  readonly heapCommittedBytes: number;
  /** of the committed: where objects begin */
  readonly newSpaceBytes: number;
  /** of the committed: code that was compiled */
  readonly codeBytes: number;
  /** buffers outside the heap, and the reported memory of native objects */
  readonly externalBytes: number;
  /** heaps of its worker threads, committed */
  readonly workerHeaps: readonly number[];
}

const LIMIT_MS = 10_000;

const EXPRESSION = `(() => {
  const v8 = process.getBuiltinModule("v8");
  const { heapUsed, heapTotal, external, arrayBuffers } = process.memoryUsage();
  const sizeOf = (pattern) => v8.getHeapSpaceStatistics()
    .filter(({ space_name }) => pattern.test(space_name))
    .reduce((sum, { physical_space_size }) => sum + physical_space_size, 0);
  return JSON.stringify({ heapUsed, heapTotal, external: external + arrayBuffers, newSpace: sizeOf(/^new_/), code: sizeOf(/^code_/) });
})()`;

interface Told {
  readonly heapUsed: number;
  readonly heapTotal: number;
  readonly external: number;
  readonly newSpace: number;
  readonly code: number;
}

/**
 * Requests the report of a process that was started with `--inspect-port=0`. That opens its inspector, which takes memory itself,
 * so do it last.
 *
 * @param logPath the log with the address of its inspector
 * @throws without an answer in time
 */
export async function askNodeMemory(pid: number, logPath: string): Promise<NodeMemory> {
  const known = readFileSync(logPath, "utf8").length;
  process.kill(pid, "SIGUSR1");
  const url = await until(
    "inspector",
    async () => /Debugger listening on (ws:\S+)/.exec(readFileSync(logPath, "utf8").slice(known))?.[1],
    LIMIT_MS,
  );
  const inspector = await Inspector.connect(url);
  try {
    const told = await inspector.evaluate();
    const workers = await inspector.evaluateInWorkers();
    return {
      heapUsedBytes: told.heapUsed,
      heapCommittedBytes: told.heapTotal,
      newSpaceBytes: told.newSpace,
      codeBytes: told.code,
      externalBytes: told.external,
      workerHeaps: workers.map(({ heapTotal }) => heapTotal),
    };
  } finally {
    inspector.close();
  }
}

interface Answer {
  readonly id?: number;
  readonly method?: string;
  readonly result?: { readonly result?: { readonly value?: string } };
  readonly params?: { readonly sessionId: string; readonly message: string };
}

/** The inspector of one process; only the used part of its protocol. */
class Inspector {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<string, (answer: Answer) => void>();
  readonly #workers = new Set<string>();
  #nextId = 1;

  static async connect(url: string): Promise<Inspector> {
    const socket = new WebSocket(url);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve);
      socket.addEventListener("error", () => reject(new Error(`no inspector at ${url}`)));
    });
    return new Inspector(socket);
  }

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#receive(JSON.parse(String(data)) as Answer, ""));
  }

  async evaluate(): Promise<Told> {
    return toldBy(await this.#send("Runtime.evaluate", { expression: EXPRESSION, returnByValue: true }));
  }

  async evaluateInWorkers(): Promise<Told[]> {
    await this.#send("NodeWorker.enable", { waitForDebuggerOnStart: false });
    return await Promise.all(
      [...this.#workers].map(async (sessionId) => {
        const id = this.#nextId++;
        const params = { expression: EXPRESSION, returnByValue: true };
        const message = JSON.stringify({ id, method: "Runtime.evaluate", params });
        const answered = this.#answerTo(`${sessionId}:${id}`);
        await this.#send("NodeWorker.sendMessageToWorker", { sessionId, message });
        return toldBy(await answered);
      }),
    );
  }

  close(): void {
    this.#socket.close();
  }

  #send(method: string, params: object): Promise<Answer> {
    const id = this.#nextId++;
    const answered = this.#answerTo(`:${id}`);
    this.#socket.send(JSON.stringify({ id, method, params }));
    return answered;
  }

  #answerTo(key: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("the inspector does not answer")), LIMIT_MS);
      this.#waiting.set(key, (answer) => {
        clearTimeout(timer);
        resolve(answer);
      });
    });
  }

  #receive(answer: Answer, sessionId: string): void {
    if (answer.id !== undefined) this.#waiting.get(`${sessionId}:${answer.id}`)?.(answer);
    else if (answer.method === "NodeWorker.attachedToWorker") this.#workers.add(answer.params!.sessionId);
    else if (answer.method === "NodeWorker.receivedMessageFromWorker")
      this.#receive(JSON.parse(answer.params!.message) as Answer, answer.params!.sessionId);
  }
}

function toldBy({ result }: Answer): Told {
  const value = result?.result?.value;
  if (value === undefined) throw new Error("the process does not say what its memory holds");
  return JSON.parse(value) as Told;
}
