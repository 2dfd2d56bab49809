/** libp2p calls `Promise.withResolvers`, which Node 20 lacks. Imported before libp2p by whatever creates a node. */
interface PromiseWithResolvers<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T | PromiseLike<T>) => void;
  readonly reject: (reason?: unknown) => void;
}

if (!("withResolvers" in Promise)) {
  Object.defineProperty(Promise, "withResolvers", {
    configurable: true,
    writable: true,
    value<T>(): PromiseWithResolvers<T> {
      let resolve!: PromiseWithResolvers<T>["resolve"];
      let reject!: PromiseWithResolvers<T>["reject"];
      const promise = new Promise<T>((onResolve, onReject) => {
        resolve = onResolve;
        reject = onReject;
      });
      return { promise, resolve, reject };
    },
  });
}

export {};
