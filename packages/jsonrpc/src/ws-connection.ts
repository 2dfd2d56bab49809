import { randomBytes } from "node:crypto";
import type { WebSocket } from "ws";
import { ClientConnection } from "./client-connection.ts";
import type { RpcDialect } from "./dialect.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { JsonText } from "./json-text.ts";
import { type Method, type MethodTable, param, type SubscriptionTable } from "./method-table.ts";
import { RpcError, type RpcErrorBody } from "./rpc-error.ts";
import { ShapeError, textShape } from "./shape.ts";
import type { UnsentBudget } from "./unsent.ts";
import { WsSender } from "./ws-sender.ts";

export interface WsConnectionOptions {
  readonly methods: MethodTable;
  readonly subscriptions: SubscriptionTable;
  readonly dispatcher: Dispatcher;
  readonly dialect: RpcDialect;
  readonly maxSubscriptions: number;
  /** messages of one connection that are processed at once; further ones wait in the kernel's buffers */
  readonly maxConcurrency: number;
  /** notifications that wait for a client that does not read; beyond this, the connection is dropped */
  readonly maxBufferedBytes: number;
  /** bounds what waits for clients to read */
  readonly unsent: Pick<UnsentBudget, "open">;
}

/** RFC 6455: the server ends the connection because of the client's behaviour. */
const POLICY_VIOLATION = 1008;
/** A client that has so much left to read is not asked for more requests. */
const MAX_UNREAD_BYTES = 1024 * 1024;

interface Active {
  stop: () => void;
  /** before the answer to `eth_subscribe` is sent, notifications wait */
  waiting: string[] | undefined;
}

/** Serves one WebSocket until it closes. */
export function serveWsConnection(socket: WebSocket, remoteAddress: string, options: WsConnectionOptions): void {
  const { methods, subscriptions, dispatcher, dialect, maxSubscriptions, maxConcurrency, maxBufferedBytes } = options;
  const active = new Map<string, Active>();
  const client = new ClientConnection("ws", remoteAddress);
  let underWay = 0;

  const unsent = options.unsent.open(remoteAddress, (reason) => {
    endAll();
    sender.clear();
    if (reason !== "backlog") {
      socket.terminate();
      return;
    }
    socket.close(POLICY_VIOLATION, `slow consumer: more than ${maxBufferedBytes} bytes waiting`);
    // A client that does not read does not see the close either.
    setTimeout(() => socket.terminate(), 1000).unref();
  });
  const isBusy = (): boolean => underWay >= maxConcurrency || unsent.bytes > MAX_UNREAD_BYTES;
  const readOn = (): void => {
    if (socket.isPaused && !isBusy()) socket.resume();
  };
  const sender = new WsSender(socket, { unsent, maxBacklogBytes: maxBufferedBytes, onProgress: readOn });

  const endAll = (): void => {
    for (const { stop } of active.values()) stop();
    active.clear();
  };

  const fail = ({ code, message, data }: RpcErrorBody): never => {
    throw new RpcError(code, message, data);
  };

  function subscribe(namespace: string, args: readonly unknown[], opened: Active[]): string | Promise<string> {
    const kinds = subscriptions[namespace]!;
    const kind = args[0] as string;
    const declared = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
    if (declared === undefined) return fail(dialect.unknownSubscription(namespace, kind.slice(0, 100), Object.keys(kinds)));
    if (active.size >= maxSubscriptions) return fail(dialect.tooManySubscriptions(maxSubscriptions));
    const parsed = declared.params.map(({ name, shape, optional }, index) => {
      const value = args[index + 1];
      if (value === undefined || value === null) return optional ? undefined : fail(dialect.missingArgument(index + 1, name));
      try {
        return shape.parse(value);
      } catch (error) {
        if (error instanceof ShapeError) return fail(dialect.invalidArgument(index + 1, name, error.message));
        throw error;
      }
    });
    const id = `0x${randomBytes(16).toString("hex").replace(/^0+/, "")}`;
    const entry: Active = { stop: () => {}, waiting: [] };
    active.set(id, entry);
    opened.push(entry);
    entry.stop = declared.start(parsed, {
      id,
      notify: (result) => {
        if (!active.has(id)) return;
        const resultText = result instanceof JsonText ? result.text : JSON.stringify(result ?? null);
        const params = `{"subscription":"${id}","result":${resultText}}`;
        const text = `{"jsonrpc":"2.0","method":"${namespace}_subscription","params":${params}}`;
        if (entry.waiting === undefined) sender.notify(text);
        else entry.waiting.push(text);
      },
    });
    const listening = declared.isListening?.();
    return listening === undefined ? id : listening.then(() => id);
  }

  function unsubscribe(id: string): boolean {
    const entry = active.get(id);
    if (entry === undefined) return dialect.subscriptionNotFound === undefined ? false : fail(dialect.subscriptionNotFound);
    active.delete(id);
    entry.stop();
    return true;
  }

  const anyArgument = { schema: {}, parse: (value: unknown) => value };
  const connectionMethods = (name: string, opened: Active[]): Method | undefined => {
    const match = /^([a-z0-9]+)_(un)?subscribe$/i.exec(name);
    const namespace = match?.[1];
    if (namespace === undefined || !Object.hasOwn(subscriptions, namespace)) return undefined;
    return match?.[2] === undefined
      ? {
          params: [param("kind", textShape), { name: "filter", shape: anyArgument, optional: true }],
          handler: (args) => subscribe(namespace, args, opened),
        }
      : { params: [param("subscription", textShape)], handler: (args) => unsubscribe(args[0] as string) };
  };

  const sendWaiting = (entry: Active): void => {
    const waiting = entry.waiting ?? [];
    entry.waiting = undefined;
    for (const text of waiting) sender.notify(text);
  };

  socket.on("message", (data, isBinary) => {
    underWay++;
    if (isBusy()) socket.pause();
    const text = isBinary || data instanceof Buffer ? (data as Buffer).toString("utf8") : "";
    const opened: Active[] = [];
    const finish = (answer: string | undefined): void => {
      if (answer !== undefined) sender.answer(answer);
      opened.forEach(sendWaiting);
      underWay--;
      if (isBusy()) socket.pause();
      else readOn();
    };
    const answer = dispatcher.handle(text, methods, client, (name) => connectionMethods(name, opened));
    if (answer instanceof Promise) void answer.then(finish);
    else finish(answer);
  });
  socket.on("error", () => socket.terminate()); // oversized or malformed frames: ws has already sent the close code
  socket.on("close", () => {
    client.leave();
    endAll();
    sender.clear();
    unsent.close();
  });
}
