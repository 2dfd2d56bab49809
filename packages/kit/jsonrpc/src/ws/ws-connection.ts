import type { WebSocket } from "ws";
import { ClientConnection } from "../http/client-connection.ts";
import type { Turns } from "../limits/turns.ts";
import type { Dispatcher } from "../methods/dispatcher.ts";
import type { Answer } from "../wire/answer-bytes.ts";
import type { RpcDialect } from "../wire/dialect.ts";
import type { MethodTable, SubscriptionTable } from "../wire/method-table.ts";
import { requestTextOf } from "../wire/request-body.ts";
import type { UnsentBudget } from "../wire/unsent.ts";
import type { SubscriptionPlaces } from "./subscription-places.ts";
import { WsSender } from "./ws-sender.ts";
import { type Active, WsSubscriptions } from "./ws-subscriptions.ts";

export interface WsConnectionOptions {
  readonly methods: MethodTable;
  readonly subscriptions: SubscriptionTable;
  readonly dispatcher: Dispatcher;
  readonly dialect: RpcDialect;
  readonly maxSubscriptions: number;
  /** of the subscriptions of all connections */
  readonly places: SubscriptionPlaces;
  /** messages of one connection that are processed at once; further ones wait in the kernel's buffers */
  readonly maxConcurrency: number;
  /** notifications that wait for a client that does not read; beyond this, the connection is dropped */
  readonly maxBufferedBytes: number;
  /** bounds what waits for clients to read */
  readonly unsent: Pick<UnsentBudget, "open">;
  /** of all connections */
  readonly turns: Turns;
  /** Runs what sends many messages, and lets them leave together. */
  readonly together: (sending: () => void) => void;
}

export interface WsConnection {
  /** of messages that were received and wait for their turn */
  readonly waitingBytes: number;
}

/** RFC 6455: the server ends the connection because of the client's behaviour. */
const POLICY_VIOLATION = 1008;
/** IANA's registry of close codes: the client may reconnect at once. */
const SERVICE_RESTART = 1012;
/** With this many unread bytes of answers, no more requests of the client are read. */
const MAX_UNREAD_BYTES = 1024 * 1024;
/** With this many queued messages, no more are read. */
const ENOUGH_WAITING = 16;
/** Data that was already read can contain more messages, up to this limit. */
const MAX_WAITING = 2048;
/** overhead of a queued message */
const BYTES_PER_MESSAGE = 256;
/** how long to process messages of one connection without a break */
const SLICE_MS = 0.5;

/** Serves one WebSocket until it closes. Its messages are processed in its turns, which it shares with the other connections. */
export function serveWsConnection(socket: WebSocket, remoteAddress: string, options: WsConnectionOptions): WsConnection {
  const { methods, dispatcher, maxConcurrency, maxBufferedBytes, turns, together } = options;
  const client = new ClientConnection("ws", remoteAddress);
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let hasTurn = false;
  let underWay = 0;

  const unsent = options.unsent.open(remoteAddress, (reason) => {
    forget();
    if (reason === "backlog") end(`slow consumer: more than ${maxBufferedBytes} bytes waiting`);
    else socket.terminate();
  });
  const sender = new WsSender(socket, { unsent, maxBacklogBytes: maxBufferedBytes, onProgress: () => readOn() });
  const subscriptions = new WsSubscriptions({
    ...options,
    client,
    unsent,
    maxBacklogBytes: maxBufferedBytes,
    send: (text) => sender.notify(text),
    disconnect: (why) => {
      forget();
      end(why, SERVICE_RESTART);
    },
  });

  const isFull = (): boolean => underWay >= maxConcurrency || unsent.bytes > MAX_UNREAD_BYTES;

  /** Continues with queued messages, and reads more when few are left. */
  function readOn(): void {
    if (!isFull() && waiting.length > 0 && !hasTurn) {
      hasTurn = true;
      turns.run(client, slice);
    }
    if (isFull() || waiting.length >= ENOUGH_WAITING) {
      if (!socket.isPaused) socket.pause();
    } else if (socket.isPaused) socket.resume();
  }

  function slice(): void {
    hasTurn = false;
    const endMs = performance.now() + SLICE_MS;
    together(() => {
      let message: Buffer | undefined;
      while (!isFull() && (message = waiting.shift()) !== undefined) {
        waitingBytes -= message.length + BYTES_PER_MESSAGE;
        answer(message);
        if (performance.now() >= endMs) break;
      }
    });
    readOn();
  }

  function answer(message: Buffer): void {
    underWay++;
    const opened: Active[] = [];
    const finish = (given: Answer): void => {
      if (given !== undefined) sender.answer(given);
      subscriptions.begin(opened);
      underWay--;
    };
    const answered = dispatcher.handle(requestTextOf(message), methods, client, (name) => subscriptions.method(name, opened));
    if (answered instanceof Promise) {
      void answered.then((given) => {
        finish(given);
        readOn();
      });
    } else finish(answered);
  }

  function end(why: string, code = POLICY_VIOLATION): void {
    socket.close(code, why);
    // A client that does not read does not see the close either.
    setTimeout(() => socket.terminate(), 1000).unref();
  }

  function forget(): void {
    waiting = [];
    waitingBytes = 0;
    subscriptions.endAll();
    sender.clear();
  }

  socket.on("message", (data) => {
    if (!(data instanceof Buffer) || socket.readyState !== socket.OPEN) return; // what ws calls messages are buffers here
    waiting.push(data);
    waitingBytes += data.length + BYTES_PER_MESSAGE;
    if (waiting.length > MAX_WAITING) {
      forget();
      end(`more than ${MAX_WAITING} messages wait`);
    } else readOn();
  });
  socket.on("error", () => socket.terminate()); // oversized or malformed frames: ws has already sent the close code
  socket.on("close", () => {
    client.leave();
    forget();
    unsent.close();
  });
  return {
    get waitingBytes() {
      return waitingBytes;
    },
  };
}
