import * as net from "node:net";

/** A socket bound to an address. This process does not accept connections on it; other processes do. */
export interface ListeningSocket {
  /** for the `stdio` of a child process, which then listens on it */
  readonly fd: number;
  readonly port: number;
  /**
   * Waits for a connection that no process has accepted. Only for a socket on which a process has listened: it keeps queueing
   * connections after that process ends.
   *
   * @param onPending called once, from the event loop
   * @returns a function that ends the wait; undefined: this platform does not support it
   */
  watch(onPending: () => void): (() => void) | undefined;
  /** Closes this process's descriptor. The port closes once every child has closed its own. */
  close(): void;
}

/** The part of libuv's TCP handle that is used here. */
interface TcpHandle {
  readonly fd: number;
  getsockname(out: { port?: number }): number;
  open?(fd: number): number;
  readStart?(): number;
  readStop?(): number;
  onread?: () => void;
  close(): void;
}

// What node:cluster uses to bind its shared sockets. `listen` would bind as well, but then this process would accept connections, too.
const { _createServerHandle: bind } = net as unknown as {
  _createServerHandle(this: void, address: string, port: number, family: 4 | 6): TcpHandle | number;
};

/** @throws Error with `code` and `port`, like the errors of `listen` */
export function openListeningSocket(address: string, port: number): ListeningSocket {
  const handle = bind(address, port, net.isIPv6(address) ? 6 : 4);
  if (typeof handle === "number") throw listenError(handle === UV_EACCES ? "EACCES" : "EADDRNOTAVAIL", address, port);
  const bound: { port?: number } = {};
  handle.getsockname(bound);
  // libuv reports that an address is in use only on listen. The socket is not bound in that case, and a child would listen on a random
  // port.
  if (bound.port === undefined || (port !== 0 && bound.port !== port)) {
    handle.close();
    throw listenError("EADDRINUSE", address, port);
  }
  return { fd: handle.fd, port: bound.port, watch: (onPending) => watchHandle(handle, onPending), close: () => handle.close() };
}

/**
 * A connection that waits makes a listening socket readable. To read from it fails then (ENOTCONN), which tells all that is to be told: the
 * connection stays where it is, for the process that will accept it.
 */
function watchHandle(handle: TcpHandle, onPending: () => void): (() => void) | undefined {
  let isOn = true;
  handle.onread = () => {
    handle.readStop?.();
    if (isOn) onPending();
    isOn = false;
  };
  // Opening it once more, as a stream, is what allows reading from it.
  if (handle.open?.(handle.fd) !== 0 || handle.readStart?.() !== 0) return undefined;
  return () => {
    isOn = false;
    handle.readStop?.();
  };
}

const UV_EACCES = -13;
const REASONS = {
  EADDRINUSE: "address already in use",
  EACCES: "permission denied",
  EADDRNOTAVAIL: "address not available",
} as const;

const listenError = (code: keyof typeof REASONS, address: string, port: number): Error =>
  Object.assign(new Error(`listen ${code}: ${REASONS[code]} ${address}:${port}`), { code, address, port, syscall: "listen" });
