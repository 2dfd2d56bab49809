import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { clientOf } from "../limits/connection-places.ts";
import { RoundRobin } from "../limits/round-robin.ts";
import type { Answer } from "../wire/answer-bytes.ts";
import type { RequestContext } from "../wire/method-table.ts";
import { SLICE_BYTES, type Unsent, type UnsentBudget, writeInSlices } from "../wire/unsent.ts";
import { ClientConnection } from "./client-connection.ts";
import type { Incoming, IncomingBudget } from "./incoming.ts";
import { HEAD_BLOCK, type MinBlockGate, notHereText } from "./min-block.ts";
import { type PlainHead, readPlainHead } from "./plain-head.ts";

export interface PlainHttpOptions {
  /** computes the answer to a request's body; `undefined`: an empty answer */
  readonly answer: (text: string, client: RequestContext) => Answer | Promise<Answer>;
  /** the body of the answer if there is no answer: to a notification; default: empty */
  readonly emptyBody?: string | undefined;
  readonly isAllowedHost: (host: string) => boolean;
  /** for requests that name the newest block that their clients have seen; `undefined`: there is no chain */
  readonly gate?: MinBlockGate | undefined;
  /** requests with larger bodies are passed to node:http */
  readonly maxBodyBytes: number;
  /** Takes over a connection; the bytes it has sent that are not answered yet are still to be read from it. */
  readonly handOver: (socket: Duplex) => void;
  /** runs a function after the event loop has read the received data, or a few turns later */
  readonly afterwards: (run: () => void) => void;
  /** A connection's first request has arrived. */
  readonly onFirstRequest?: ((socket: Socket) => void) | undefined;
  /** bounds the answers that wait for clients to read them */
  readonly unsent: Pick<UnsentBudget, "open">;
  /** limits the bytes of incomplete requests */
  readonly incoming: Pick<IncomingBudget, "open">;
  /** for a head, and for a new connection to send one */
  readonly headTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
}

/** Answers plain requests; passes connections with other requests to node:http. */
export interface PlainHttp {
  serve(socket: Socket): void;
  /** Ends idle connections; other connections, including those with an incomplete first request, end after their answer. */
  closeIdle(): void;
  /**
   * Makes room: ends the connections that have been idle longest, if any has been idle for seconds.
   *
   * @param network of the client, as in `clientOf`; `undefined`: all clients
   * @returns the number of ended connections
   */
  closeLongestIdle(network?: string): number;
  /** Closes a share of the connections, each after its next answer. */
  shed(share: number): void;
  closeAll(): void;
}

/** A full HTTP server answers invalid requests; only incomplete requests end here. */
const REFUSALS = {
  /** the client has closed its side */
  cutOff: "HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n",
  tooSlow: "HTTP/1.1 408 Request Timeout\r\nconnection: close\r\n\r\n",
} as const;
const HEAD_END = "\r\n\r\n";
const MAX_HEAD_BYTES = 8 * 1024;
/** of the requests that follow while one is being answered */
const MAX_WAITING_BYTES = 64 * 1024;
const TICK_MS = 1000;
/** A connection that has been idle for this long may be closed to make room. */
const SPARE_TICKS = 2;
/** how many of them at once */
const MAKE_ROOM = 16;
/** A connection whose own side is closed is destroyed after this number of ticks. */
const LEAVING_TICKS = 2;
/** When the server closes, a connection that was just opened has this long to send its request. */
const FIRST_REQUEST_MS = 100;
/** how long to answer without a break */
const RUN_MS = 1;
/**
 * A request is expected to take long if it is longer than this, or if this many earlier ones took longer than this: a single one
 * may have been interrupted.
 */
const LONG_TEXT_LENGTH = 16 * 1024;
const LONG_IN_A_ROW = 3;
const LONG_MS = 0.5;

/**
 * JSON-RPC over HTTP/1.1 without node:http, for plain requests.
 *
 * PERF: node:http takes about 50 µs of CPU time for an empty request on a kept-alive connection, mostly for objects that a
 * JSON-RPC answer does not use; this takes 20 µs, nearly all of it in the kernel. Only the common form of a request is parsed
 * (`plain-head.ts`). At the first request in another form, the connection, with all its unread bytes, is passed to node:http for
 * good.
 */
export function createPlainHttp(options: PlainHttpOptions): PlainHttp {
  const { answer, isAllowedHost, gate, maxBodyBytes, handOver } = options;
  const connections = new Set<PlainConnection>();
  let isClosing = false;
  let ticker: NodeJS.Timeout | undefined;
  let headEnd = "";
  let closingHeadEnd = "";

  function tick(): void {
    const date = new Date().toUTCString();
    headEnd = `\r\nDate: ${date}\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(options.keepAliveTimeoutMs / 1000)}\r\n\r\n`;
    closingHeadEnd = `\r\nDate: ${date}\r\nConnection: close\r\n\r\n`;
    for (const connection of connections) connection.tick();
    if (connections.size > 0) return;
    clearInterval(ticker);
    ticker = undefined;
  }

  /** connections with a request that has been read and not yet answered */
  const due = new RoundRobin<PlainConnection>();
  /** the same for requests that may take long */
  const dueLong = new RoundRobin<PlainConnection>();
  let isRunDue = false;

  function addDue(connection: PlainConnection, isLong: boolean): void {
    (isLong ? dueLong : due).add(connection.network, connection);
    runLater();
  }

  /** At most one run per turn of the event loop, so newly received data is read before the next run. */
  function runLater(): void {
    if (isRunDue) return;
    isRunDue = true;
    options.afterwards(answerDue);
  }

  /**
   * Answers all requests of one turn of the event loop in one synchronous run, after all of them have been read, so that the
   * current state is looked up only once. Longer work is cut into runs; answers that are promises are sent at the end of each.
   */
  function answerDue(): void {
    isRunDue = false;
    let nowMs = performance.now();
    const endMs = nowMs + RUN_MS;
    // Requests that become due meanwhile wait for the next run.
    for (let left = due.size; left > 0 && nowMs < endMs; left--) nowMs = due.take()!.answer(nowMs);
    // At least one long request per run, so they do not starve.
    let left = dueLong.size;
    if (left > 0)
      do nowMs = dueLong.take()!.answer(nowMs);
      while (--left > 0 && nowMs < endMs);
    if (due.size + dueLong.size > 0) runLater();
  }

  class PlainConnection {
    readonly #socket: Socket;
    readonly #client: ClientConnection;
    /** its client's address, or the network of it */
    readonly network: string;
    /** received and not yet read */
    readonly #parts: Buffer[] = [];
    #size = 0;
    /** nothing can be read before this many bytes have arrived */
    #needed = 0;
    #state: "new" | "idle" | "head" | "body" | "answering" | "leaving" = "new";
    /** the request that is due */
    #text = "";
    /** the newest block that its client has seen; `undefined`: it does not say, or there is no chain */
    #minBlock: number | undefined;
    /** how many of its last requests took long */
    #longInARow = 0;
    /** a whole request has arrived */
    #hasAsked = false;
    /** the client has ended its side */
    #hasEnded = false;
    readonly #unsent: Unsent;
    /** to be closed after the next answer */
    isLeaving = false;
    /** the current answer closes the connection: no other follows it */
    #saysLast = false;
    readonly #incoming: Incoming;
    /** ticks of the clock seen in this state without a request in between */
    #ticks = 0;
    // The heads of one client's requests are nearly always equal.
    #lastHeadText = "";
    #lastHead: PlainHead | undefined;

    constructor(socket: Socket) {
      this.#socket = socket;
      this.#client = new ClientConnection("http", socket.remoteAddress ?? "");
      const { remoteAddress } = this.#client;
      this.network = clientOf(remoteAddress);
      this.#unsent = options.unsent.open(remoteAddress, () => socket.destroy());
      this.#incoming = options.incoming.open(remoteAddress, {
        disconnect: () => socket.destroy(),
        pause: () => socket.pause(),
        resume: () => socket.resume(),
      });
      socket.on("data", this.#onData);
      socket.on("end", this.#onEnd);
      socket.on("error", this.#onError);
      socket.on("close", this.#onClose);
    }

    /** Called once a second: ends connections that take too long. */
    tick(): void {
      if (this.#state === "answering") return;
      if (this.#state === "leaving") {
        if (++this.#ticks > LEAVING_TICKS) this.#socket.destroy();
        return;
      }
      const { headTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs } = options;
      const isIdle = this.#state === "idle";
      const limitMs = isIdle ? keepAliveTimeoutMs : this.#state === "body" ? requestTimeoutMs : headTimeoutMs;
      if (++this.#ticks * TICK_MS <= limitMs) return;
      if (isIdle) this.#socket.destroy();
      else this.#refuse("tooSlow");
    }

    /** for how many ticks it has waited for a request; 0: it does not */
    get idleTicks(): number {
      return this.#state === "idle" ? this.#ticks : 0;
    }

    /** @param which of a new connection, the first request may be on its way */
    close(which: "idle" | "idle or new" | "any"): void {
      const isMeant = which === "any" || this.#state === "idle" || (which === "idle or new" && this.#state === "new");
      if (isMeant) this.#socket.destroy();
    }

    readonly #onData = (part: Buffer): void => {
      if (this.#state === "leaving") return;
      this.#parts.push(part);
      this.#size += part.length;
      if (this.#state !== "answering" && this.#size >= this.#needed) {
        this.#read();
        return;
      }
      this.#incoming.hold(this.#size);
      if (this.#state === "answering" && this.#size > MAX_WAITING_BYTES && !this.#socket.destroyed) this.#socket.pause();
    };

    /** Reads the next request. */
    #read(): void {
      // PERF: a small request is decoded whole: decoding a few bytes after the head is cheaper than searching for its end first.
      let bytes = this.#parts[0]!;
      let window = bytes.toString("latin1", 0, MAX_HEAD_BYTES);
      let headBytes = window.indexOf(HEAD_END) + HEAD_END.length;
      if (headBytes < HEAD_END.length && this.#parts.length > 1) {
        bytes = this.#join(MAX_HEAD_BYTES);
        window = bytes.toString("latin1", 0, MAX_HEAD_BYTES);
        headBytes = window.indexOf(HEAD_END) + HEAD_END.length;
      }
      const isWhole = headBytes >= HEAD_END.length;
      if (!isWhole && window.length < MAX_HEAD_BYTES) {
        this.#wait("head", 0);
        return;
      }
      const head = isWhole ? this.#headOf(window.slice(0, headBytes)) : undefined;
      if (head === undefined) {
        this.#handOver();
        return;
      }
      const end = headBytes + head.bodyBytes;
      if (end > this.#size) {
        this.#wait("body", end);
        return;
      }
      if (end > bytes.length) bytes = this.#join(end);
      this.#ticks = 0;
      this.#state = "answering";
      if (!this.#hasAsked) {
        this.#hasAsked = true;
        options.onFirstRequest?.(this.#socket);
      }
      this.#text = bytes.toString("utf8", headBytes, end);
      this.#minBlock = gate && head.minBlock;
      this.#take(end);
      // PERF: with one client there is nothing to share, and waiting for the end of the turn would be a tenth of a request's time.
      if (connections.size === 1 && this.#size === 0) this.answer(performance.now());
      else addDue(this, this.#longInARow >= LONG_IN_A_ROW || this.#text.length > LONG_TEXT_LENGTH);
    }

    /**
     * Joins the first `count` bytes in one piece, or all if there are fewer. PERF: not more, otherwise each of many small
     * requests in one packet would copy all of them.
     */
    #join(count: number): Buffer {
      const pieces: Buffer[] = [];
      let missing = count;
      let part: Buffer | undefined;
      while (missing > 0 && (part = this.#parts.shift()) !== undefined) {
        const piece = part.subarray(0, missing);
        pieces.push(piece);
        missing -= piece.length;
        if (piece.length < part.length) this.#parts.unshift(part.subarray(piece.length));
      }
      const joined = Buffer.concat(pieces, count - missing);
      this.#parts.unshift(joined);
      return joined;
    }

    /** Answers the request that is due. @param startMs the time @returns the time */
    answer(startMs: number): number {
      if (!this.#socket.destroyed) this.#answerNow();
      const nowMs = performance.now();
      this.#longInARow = nowMs - startMs > LONG_MS ? this.#longInARow + 1 : 0;
      return nowMs;
    }

    #answerNow(): void {
      const minBlock = this.#minBlock;
      const isThere = minBlock === undefined || gate!.pass(minBlock, this.#client);
      if (isThere === true) this.#answerText();
      else if (isThere === false) this.#sendNotHere(minBlock!);
      else void isThere.then((has) => this.#afterWait(has, minBlock!));
    }

    #afterWait(isThere: boolean, minBlock: number): void {
      if (this.#socket.destroyed) return;
      if (isThere) addDue(this, false);
      else this.#sendNotHere(minBlock);
    }

    #sendNotHere(minBlock: number): void {
      this.#text = "";
      if (this.#send(notHereText(minBlock, gate!.head), "503 Service Unavailable")) this.#readOn();
    }

    #answerText(): void {
      const answered = answer(this.#text, this.#client);
      this.#text = "";
      if (answered instanceof Promise) {
        const send = (later: Answer): void => {
          if (!this.#socket.destroyed && this.#send(later)) this.#readOn();
        };
        answered.then(send).catch(() => this.#socket.destroy());
      } else if (this.#send(answered)) this.#readOn();
    }

    /** whether the answer is the connection's last */
    get #isLast(): boolean {
      return isClosing || this.isLeaving;
    }

    #headOf(text: string): PlainHead | undefined {
      if (text === this.#lastHeadText) return this.#lastHead;
      const head = readPlainHead(text);
      this.#lastHeadText = text;
      this.#lastHead = head === undefined || head.bodyBytes > maxBodyBytes || !isAllowedHost(head.host) ? undefined : head;
      return this.#lastHead;
    }

    /** Forgets the first bytes, which are in one piece. */
    #take(count: number): void {
      const first = this.#parts[0]!;
      if (count < first.length) this.#parts[0] = first.subarray(count);
      else this.#parts.shift();
      this.#size -= count;
      this.#needed = 0;
      this.#incoming.hold(this.#size);
    }

    #wait(state: "idle" | "head" | "body", needed: number): void {
      // The timeout of a request starts with its first byte.
      if (this.#state !== "head" && this.#state !== "body") this.#ticks = 0;
      this.#state = state;
      this.#needed = needed;
      this.#incoming.hold(this.#size);
      if (!this.#hasEnded) return;
      if (state === "idle") this.#socket.end();
      else this.#refuse("cutOff");
    }

    #readOn(): void {
      if (this.#socket.isPaused()) this.#socket.resume();
      if (this.#size === 0) this.#wait("idle", 0);
      else this.#read();
    }

    /** @returns whether the client has read enough for the next answer */
    #send(answer: Answer = options.emptyBody ?? "", status = "200 OK"): boolean {
      this.#saysLast = this.#isLast;
      const text = typeof answer === "string" ? answer : undefined;
      const length = typeof answer === "string" ? Buffer.byteLength(answer, "utf8") : answer.byteLength;
      const headBlock = this.#minBlock === undefined ? "" : `${HEAD_BLOCK}: ${gate!.head}\r\n`;
      const head = `HTTP/1.1 ${status}\r\n${headBlock}content-type: application/json\r\ncontent-length: ${length}${this.#saysLast ? closingHeadEnd : headEnd}`;
      if (text === undefined || length > SLICE_BYTES) {
        this.#sendLarge(head, typeof answer === "string" ? [Buffer.from(answer, "utf8")] : answer.pieces, length);
        return false;
      }
      // PERF: one write of one string; pure ASCII text is copied without conversion.
      const isTaken = this.#socket.write(head + text, length === text.length ? "latin1" : "utf8");
      if (!isTaken) {
        const owed = head.length + length;
        this.#unsent.add(owed);
        this.#socket.once("drain", () => {
          this.#unsent.sent(owed);
          this.#afterAnswer();
        });
      } else if (this.#saysLast) this.#afterAnswer();
      return isTaken && !this.#saysLast;
    }

    #sendLarge(head: string, pieces: readonly Buffer[], length: number): void {
      this.#unsent.add(length);
      this.#socket.write(head, "latin1");
      writeInSlices(pieces, (slice, isLast, onTaken) =>
        this.#socket.write(slice, (error) => {
          if (error) return;
          this.#unsent.sent(slice.length);
          if (isLast) this.#afterAnswer();
          else onTaken();
        }),
      );
    }

    #afterAnswer(): void {
      if (this.#saysLast || isClosing) this.#leave();
      else this.#readOn();
    }

    /**
     * Closes this side and reads the remaining input until the client closes its side. A socket closed with unread bytes is
     * reset, and the client can lose its answer.
     */
    #leave(): void {
      this.#state = "leaving";
      this.#ticks = 0;
      this.#parts.length = 0;
      this.#size = 0;
      this.#incoming.hold(0);
      this.#socket.end();
      this.#socket.resume();
    }

    #refuse(why: keyof typeof REFUSALS): void {
      if (this.#socket.writable) this.#socket.write(REFUSALS[why]);
      this.#socket.destroySoon();
    }

    #handOver(): void {
      const unread = Buffer.concat(this.#parts, this.#size);
      const socket = this.#socket;
      this.#forget();
      if (socket.readableEnded) {
        handOver(readAgain(socket, unread));
        return;
      }
      socket.pause();
      socket.unshift(unread);
      handOver(socket);
      socket.resume();
    }

    readonly #onEnd = (): void => {
      this.#hasEnded = true;
      this.#client.leave();
      if (this.#state === "head" || this.#state === "body") this.#refuse("cutOff");
      else if (this.#state !== "answering") this.#socket.end(); // otherwise it may wait for its answer
    };

    readonly #onError = (): void => {
      this.#socket.destroy();
    };

    readonly #onClose = (): void => {
      this.#client.leave();
      connections.delete(this);
      this.#unsent.close();
      this.#incoming.close();
    };

    #forget(): void {
      connections.delete(this);
      this.#unsent.close();
      this.#incoming.close();
      this.#socket.off("data", this.#onData);
      this.#socket.off("end", this.#onEnd);
      this.#socket.off("error", this.#onError);
      this.#socket.off("close", this.#onClose);
    }
  }

  return {
    serve(socket) {
      if (ticker === undefined) {
        tick();
        ticker = setInterval(tick, TICK_MS).unref();
      }
      connections.add(new PlainConnection(socket));
    },
    closeIdle() {
      isClosing = true;
      for (const connection of connections) connection.close("idle");
      setTimeout(() => {
        for (const connection of connections) connection.close("idle or new");
      }, FIRST_REQUEST_MS);
    },
    closeLongestIdle(of) {
      const isSpare = ({ idleTicks, network }: PlainConnection): boolean =>
        idleTicks >= SPARE_TICKS && (of === undefined || network === of);
      const longest = [...connections].filter(isSpare).sort((a, b) => b.idleTicks - a.idleTicks);
      const closed = longest.slice(0, MAKE_ROOM);
      for (const connection of closed) connection.close("any");
      return closed.length;
    },
    shed(share) {
      let leaving = Math.floor(connections.size * share);
      for (const connection of connections) {
        if (leaving-- <= 0) return;
        connection.isLeaving = true;
      }
    },
    closeAll() {
      clearInterval(ticker);
      for (const connection of connections) connection.close("any");
    },
  };
}

/** A connection whose client has closed its side, with the bytes that it sent last: they cannot be put back into the socket. */
function readAgain(socket: Socket, unread: Buffer): Duplex {
  let isRead = false;
  const again = new Duplex({
    read() {
      if (isRead) return;
      isRead = true;
      again.push(unread);
      setImmediate(() => again.push(null)); // as it comes after the bytes
    },
    write: (chunk: Buffer, encoding, onTaken) => void socket.write(chunk, encoding, onTaken),
    final: (onTaken) => void socket.end(onTaken),
    destroy(error, onDestroyed) {
      socket.destroySoon();
      onDestroyed(error);
    },
  });
  socket.on("error", () => again.destroy());
  socket.on("close", () => again.destroy());
  return Object.assign(again, { remoteAddress: socket.remoteAddress });
}
