// Loaded into each thread of an attacked program before its own code (`--import` in NODE_OPTIONS): its UDP sockets are in an internet that the attack makes up. Public
// addresses of `MADE_UP_INTERNET` are loopback addresses of the attack; a datagram to another address is reported to the attack and goes nowhere.
import { type RemoteInfo, Socket } from "node:dgram";

export interface MadeUpInternet {
  /** public address to loopback address */
  readonly hosts: Readonly<Record<string, string>>;
  /** UDP port on 127.0.0.1 that gets `IP:PORT` of each datagram to an address that is not in `hosts` */
  readonly reportPort: number;
}

export const MADE_UP_INTERNET = "RNODE_ABUSE_INTERNET";

type Send = (data: Uint8Array, port: number, ip: string, done?: () => void) => void;

const setting = process.env[MADE_UP_INTERNET];
if (setting !== undefined) install(JSON.parse(setting) as MadeUpInternet);

function install({ hosts, reportPort }: MadeUpInternet): void {
  const publicOf = new Map(Object.entries(hosts).map(([ip, loopback]) => [loopback, ip]));
  const { send, emit } = Socket.prototype as { send: Send; emit: (event: string, ...values: unknown[]) => boolean };
  Object.assign(Socket.prototype, {
    send(this: Socket, data: Uint8Array, port: number, ip: string, done?: () => void): void {
      const loopback = hosts[ip];
      if (loopback !== undefined) send.call(this, data, port, loopback, done);
      else send.call(this, Buffer.from(`${ip}:${port}`), reportPort, "127.0.0.1", done);
    },
    emit(this: Socket, event: string, ...values: unknown[]): boolean {
      if (event !== "message") return emit.call(this, event, ...values);
      const [data, from] = values as [Buffer, RemoteInfo];
      return emit.call(this, event, data, { ...from, address: publicOf.get(from.address) ?? from.address });
    },
  });
}
