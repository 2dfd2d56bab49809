import { createServer, isIP } from "node:net";
import { UserError } from "../process/failure.ts";

/**
 * Opens listeners and turns a port or an address that cannot be had into an error that names its option.
 *
 * @param wanted ports by the option that chooses them; an option `x.port` has its address in `x.addr`, and
 * `x.listen.tcp` in `x.listen.ip`
 * @throws {UserError} the message names the option, its value, and what to do
 */
export async function namingPorts<T>(wanted: Readonly<Record<string, number>>, open: () => T | Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    const text = error instanceof Error ? textOf(error, wanted) : undefined;
    if (text === undefined) throw error;
    throw new UserError(text, { cause: error });
  }
}

/**
 * Whether a port is free, for a server that opens only after long waits, so the error is reported at once.
 *
 * @param option the port's option; 0 is any free port, which always exists
 * @throws {UserError} as `namingPorts`
 */
export async function assertPortIsFree(
  option: string,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<void> {
  if (port === 0) return;
  const listen = () =>
    new Promise<void>((resolve, reject) => {
      const server = createServer().once("error", reject);
      server.listen({ host, port, exclusive: true }, () => server.close(() => resolve()));
    });
  await namingPorts({ [option]: port }, listen);
}

/** As Node.js has it. */
interface ListenError extends NodeJS.ErrnoException {
  readonly address?: string;
  readonly port?: number;
  readonly hostname?: string;
}

function textOf(error: ListenError, wanted: Readonly<Record<string, number>>): string | undefined {
  const { code, port = 0, hostname = "", address = hostname } = error;
  const options = Object.keys(wanted);
  const option = options.find((name) => wanted[name] === port) ?? (options.length === 1 ? options[0] : undefined);
  const portName = option ?? options.join(" or --");
  const addressName = portName.replaceAll(".port", ".addr").replaceAll(".listen.tcp", ".listen.ip");
  switch (code) {
    case "EADDRINUSE":
      return `--${portName}: port ${port} is in use${address === "" ? "" : ` on ${address}`}: stop the program that listens there, or choose another port`;
    case "EACCES":
      return `--${portName}: this user may not listen on port ${port}: choose a port from 1024`;
    case "EADDRNOTAVAIL":
    case "EAFNOSUPPORT":
      return `--${addressName}: this machine has no address ${address}: choose one of its own, 127.0.0.1 for this machine only, or 0.0.0.0 for all`;
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return isIP(address) > 0
        ? undefined
        : `--${addressName}: the name ${address} has no address: choose an address of this machine, or 0.0.0.0 for all`;
    default:
      return undefined;
  }
}
