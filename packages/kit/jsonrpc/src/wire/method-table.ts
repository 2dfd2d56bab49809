import type { JsonText } from "./json-text.ts";
import type { RequestText } from "./request-body.ts";
import type { RpcErrorBody } from "./rpc-error.ts";
import type { JsonSchema, Shape } from "./shape.ts";

/** A parameter; its name appears in errors and in the published description. */
export interface Param<T> {
  readonly name: string;
  readonly shape: Shape<T>;
  readonly optional: boolean;
  /** an optional parameter that may be null but not absent: Go's servers fill in a zero value for null; default: it may be absent */
  readonly mustBePresent?: boolean | undefined;
  /** How null is answered, given the parameter's index; default: like a parameter that is absent. */
  readonly nullFault?: ((index: number) => RpcErrorBody) | undefined;
  /** further names that requests by name may use */
  readonly aliases?: readonly string[] | undefined;
}

export const param = <T>(name: string, shape: Shape<T>): Param<T> => ({ name, shape, optional: false });

/** undefined if the argument is missing or null. */
export const optionalParam = <T>(name: string, shape: Shape<T>, aliases?: readonly string[]): Param<T | undefined> => ({
  name,
  shape,
  aliases,
  optional: true,
});

export type Params = readonly Param<unknown>[];
export type ArgsOf<P extends Params> = { readonly [I in keyof P]: P[I] extends Param<infer T> ? T : never };

/** Who is asking: one object for all requests of a connection. */
export interface RequestContext {
  readonly transport: "http" | "ws";
  readonly remoteAddress: string;
  /** The client has closed the connection, or its side of it: long work for it can stop. */
  readonly isGone: boolean;
  /** Calls `listener` when the client disconnects, unless it already has. @returns stops listening */
  onGone(listener: () => void): () => void;
}

export interface MethodDocumentation {
  readonly summary?: string;
  readonly result?: { readonly name: string; readonly schema: JsonSchema };
}

/** A method of the API: the same declaration reads its parameters and describes them. */
export interface Method extends MethodDocumentation {
  readonly params: Params;
  /** The result must be plain JSON; `undefined` is answered as null. A thrown `RpcError` is sent unchanged. */
  readonly handler: (args: readonly unknown[], context: RequestContext) => unknown;
  /** Answers a request in another thread, without its being read here. @param text a request with the id 0. @throws as `handler` */
  readonly elsewhere?: (text: RequestText, context: RequestContext) => Promise<JsonText>;
}

/** By full name: `eth_getBalance`. */
export type MethodTable = Readonly<Record<string, Method>>;

export function method<const P extends Params>(
  declaration: {
    readonly params: P;
    readonly handler: (args: ArgsOf<P>, context: RequestContext) => unknown;
  } & MethodDocumentation,
): Method {
  return declaration as Method;
}

/** One subscription of one connection. */
export interface SubscriptionSink {
  /** quantity-like hex, unguessable */
  readonly id: string;
  /** Sends a notification; the result must be plain JSON. */
  notify(result: unknown): void;
  /**
   * Sends a notification for each result, in the order of all notifications. `results` is called when it is this client's turn,
   * so an event with many subscribers delays no other client.
   */
  notifyEach(results: () => Iterable<unknown>): void;
  /** Closes the client's connection, because notifications were lost. The client reconnects, and requests the missing data. */
  disconnect(why: string): void;
}

/** A subscription that has begun: how it ends, and when it misses nothing any more. */
export interface StartedSubscription {
  readonly stop: () => void;
  /** The subscriber is answered once it settles; a rejection is its answer. */
  readonly listening: Promise<void>;
}

export interface Subscription {
  readonly params: Params;
  readonly summary?: string;
  /** Starts the notifications; returns the function that ends them, or both that and when they have started. */
  readonly start: (args: readonly unknown[], sink: SubscriptionSink) => (() => void) | StartedSubscription;
  /** Resolves when the started subscriptions receive all events; `undefined`: at once. The subscriber is answered only then. */
  readonly isListening?: (() => Promise<void> | undefined) | undefined;
}

export function subscription<const P extends Params>(declaration: {
  readonly params: P;
  readonly summary?: string;
  readonly start: (args: ArgsOf<P>, sink: SubscriptionSink) => (() => void) | StartedSubscription;
  readonly isListening?: Subscription["isListening"];
}): Subscription {
  return declaration as Subscription;
}

/** By namespace (`eth`: `eth_subscribe`, `eth_unsubscribe`, `eth_subscription`), then by kind (`newHeads`). */
export type SubscriptionTable = Readonly<Record<string, Readonly<Record<string, Subscription>>>>;
