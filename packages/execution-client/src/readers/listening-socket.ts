import * as net from "node:net";

/** A socket bound to an address, on which only other processes accept. */
export interface ListeningSocket {
  /** for the `stdio` of a child process, which listens with it */
  readonly fd: number;
  readonly port: number;
  /** Lets go of it; the port is closed when every child has done so too. */
  close(): void;
}

/** Of libuv's TCP handle. */
interface TcpHandle {
  readonly fd: number;
  getsockname(out: { port?: number }): number;
  close(): void;
}

// What node:cluster binds its shared sockets with. `listen` would do it too, but then this process accepts connections as well.
const { _createServerHandle: bind } = net as unknown as {
  _createServerHandle(this: void, address: string, port: number, family: 4 | 6): TcpHandle | number;
};

/** @throws Error with `code` and `port`, as `listen` gives them */
export function openListeningSocket(address: string, port: number): ListeningSocket {
  const handle = bind(address, port, net.isIPv6(address) ? 6 : 4);
  if (typeof handle === "number") throw listenError(handle === UV_EACCES ? "EACCES" : "EADDRNOTAVAIL", address, port);
  const bound: { port?: number } = {};
  handle.getsockname(bound);
  // libuv keeps an address in use to itself until it listens; the socket is not bound then, and a child would listen on any port.
  if (bound.port === undefined || (port !== 0 && bound.port !== port)) {
    handle.close();
    throw listenError("EADDRINUSE", address, port);
  }
  return { fd: handle.fd, port: bound.port, close: () => handle.close() };
}

const UV_EACCES = -13;
const REASONS = {
  EADDRINUSE: "address already in use",
  EACCES: "permission denied",
  EADDRNOTAVAIL: "address not available",
} as const;

const listenError = (code: keyof typeof REASONS, address: string, port: number): Error =>
  Object.assign(new Error(`listen ${code}: ${REASONS[code]} ${address}:${port}`), { code, address, port, syscall: "listen" });
