import { createSocket } from "node:dgram";
import { networkInterfaces } from "node:os";

/** A router that has introduced itself. */
export interface RouterAnswer {
  /** of its description; on the address that the answer came from */
  readonly location: string;
  /** our own address in its network, to which it is to pass ports on */
  readonly localIp: string;
}

export interface RouterSearch {
  /** our addresses in the networks that are searched */
  readonly localIps: readonly string[];
  readonly target: { readonly ip: string; readonly port: number };
  readonly limitMs: number;
}

/** Where devices listen for searches (UPnP Device Architecture 2.0, section 1.1). */
const MULTICAST = { ip: "239.255.255.250", port: 1900 } as const;
const LIMIT_MS = 5_000;
/** Searches and answers get lost: they are datagrams. */
const SEND_INTERVAL_MS = 1_000;
/** Devices answer within this number of seconds, each at a random time. */
const MAX_WAIT_SEC = 1;
const MULTICAST_HOPS = 2;
const MAX_ANSWERS = 16;
const DEVICE_TYPES = [1, 2].map((version) => `urn:schemas-upnp-org:device:InternetGatewayDevice:${version}`);

/**
 * Searches the local networks for routers with port mapping, of either version of the standard, and yields each one when it
 * answers.
 */
export async function* searchRouters(signal: AbortSignal, options: Partial<RouterSearch> = {}): AsyncGenerator<RouterAnswer, void> {
  const { localIps = ownAddresses(), target = MULTICAST, limitMs = LIMIT_MS } = options;
  const found = new Map<string, RouterAnswer>();
  const ended = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
  let wake: () => void = () => {};
  ended.addEventListener("abort", () => wake());
  const sockets = localIps.map((localIp) => {
    const socket = createSocket("udp4");
    socket.on("error", () => {}); // an interface that cannot be used finds nothing
    socket.on("message", (data, from) => {
      const location = locationOf(data.toString("latin1"), from.address);
      if (location === undefined || found.has(location) || found.size >= MAX_ANSWERS) return;
      found.set(location, { location, localIp });
      wake();
    });
    const search = (): void => {
      for (const type of DEVICE_TYPES) socket.send(searchFor(type, target), target.port, target.ip, () => {});
    };
    let timer: NodeJS.Timeout | undefined;
    socket.bind({ address: localIp, port: 0, exclusive: true }, () => {
      socket.setMulticastTTL(MULTICAST_HOPS);
      socket.setMulticastInterface(localIp);
      search();
      timer = setInterval(search, SEND_INTERVAL_MS);
    });
    return {
      close: () => {
        clearInterval(timer);
        socket.close();
      },
    };
  });
  try {
    for (let told = 0; ; told++) {
      while (told >= found.size) {
        if (ended.aborted || localIps.length === 0) return;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      yield [...found.values()][told]!;
    }
  } finally {
    for (const socket of sockets) socket.close();
  }
}

const searchFor = (type: string, { ip, port }: RouterSearch["target"]): string =>
  `M-SEARCH * HTTP/1.1\r\nHOST: ${ip}:${port}\r\nMAN: "ssdp:discover"\r\nMX: ${MAX_WAIT_SEC}\r\nST: ${type}\r\n\r\n`;

/** A device may only announce itself: another location would make the node send requests to any host. */
function locationOf(answer: string, senderIp: string): string | undefined {
  if (!/^HTTP\/1\.[01] 200 /.test(answer) || !/^st:.*:device:InternetGatewayDevice:/im.test(answer)) return undefined;
  const text = /^location:[ \t]*(\S+)/im.exec(answer)?.[1];
  const url = text !== undefined && URL.canParse(text) ? new URL(text) : undefined;
  return url?.protocol === "http:" && url.hostname === senderIp ? url.href : undefined;
}

const ownAddresses = (): string[] =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ family, internal, address }) => family === "IPv4" && !internal && !address.startsWith("169.254."))
    .map(({ address }) => address);
