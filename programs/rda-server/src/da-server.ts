import type { IncomingMessage, ServerResponse } from "node:http";
import { errorText, type Logger } from "@rnode/observe";
import { concatBytes, hexToBytes, isCodedError, keccak256 } from "@rnode/primitives";
import { type SmallAnswer, type SmallServer, startSmallServer } from "@rnode/program";
import { decodeDaCommitment, encodeDaCommitment, isInputOf } from "@rnode/protocol";
import type { DaStore } from "./da-store.ts";

export interface DaServerOptions {
  readonly host: string;
  readonly port: number;
  /** it computes the commitments; false: clients say them, keccak256 of the data */
  readonly isGeneric: boolean;
  /** names accepted in the Host header, besides addresses and names without public DNS */
  readonly vhosts?: readonly string[];
}

/** A frame, a blob or a calldata transaction is far below this. */
const MAX_INPUT_BYTES = 1024 * 1024;
/** A commitment becomes a file's name. */
const MAX_COMMITMENT_BYTES = 96;
const MAX_CONNECTIONS = 64;
/** For receiving a request, and between its parts. */
const REQUEST_TIMEOUT_MS = 30_000;
/** Type 1 (generic commitment), and an unassigned DA layer byte. */
const GENERIC_PREFIX = Uint8Array.of(1, 0xff);

/**
 * A DA server: `GET /get/0x…`, `POST /put/0x…` for keccak256 commitments, `POST /put` for generic ones.
 * Spec: docs/protocol/05-services.md#da-server-http
 *
 * @throws the listen error (EADDRINUSE…)
 */
export function startDaServer(
  { host, port, isGeneric, vhosts }: DaServerOptions,
  { store, log }: { readonly store: DaStore; readonly log: Logger },
): Promise<SmallServer> {
  const answer: SmallAnswer = async ({ message: { method }, message, path }, response) => {
    const [, verb, text, ...rest] = path.split("/");
    if (rest.length > 0) return end(response, 400);
    if (method === "GET" && verb === "health" && text === undefined) return end(response, 200);
    const commitment = text === undefined ? undefined : commitmentFrom(text);
    if (text !== undefined && commitment === undefined) return end(response, 400);
    if (method === "GET" && verb === "get" && commitment !== undefined) {
      const input = await store.get(commitment);
      return input === undefined ? end(response, 404) : end(response, 200, input);
    }
    if (method !== "POST" || verb !== "put" || (commitment === undefined) !== isGeneric) return end(response, 400);
    const input = await body(message);
    if (input === undefined || input.length === 0) return end(response, 400);
    const stored = commitment ?? concatBytes(GENERIC_PREFIX, keccak256(input));
    if (!isInputOf(decodeDaCommitment(stored), input)) return end(response, 400);
    await store.put(stored, input);
    log.debug("stored", { commitment: encodeDaCommitment(decodeDaCommitment(stored)), sizeBytes: input.length });
    end(response, 200, commitment === undefined ? stored : undefined);
  };
  return startSmallServer(answer, {
    addr: host,
    port,
    vhosts,
    vhostsOption: "vhosts",
    acceptsPrivateNames: true,
    verbs: ["GET", "POST"],
    idleMs: REQUEST_TIMEOUT_MS,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    maxConnections: MAX_CONNECTIONS,
    onFault: (error, path) => log.warn("a request could not be answered", { path, error: errorText(error) }),
  });
}

function commitmentFrom(text: string): Uint8Array | undefined {
  if (!/^0x(?:[0-9a-fA-F]{2})+$/.test(text) || text.length > 2 + 2 * MAX_COMMITMENT_BYTES) return undefined;
  try {
    return encodeDaCommitment(decodeDaCommitment(hexToBytes(text)));
  } catch (error) {
    if (isCodedError(error, "da-commitment/")) return undefined;
    throw error;
  }
}

/** undefined: the body is too long */
async function body(request: IncomingMessage): Promise<Uint8Array | undefined> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > MAX_INPUT_BYTES) return undefined;
    parts.push(part);
  }
  return new Uint8Array(Buffer.concat(parts));
}

function end(response: ServerResponse, status: number, content?: Uint8Array): void {
  if (response.headersSent) return;
  // The rest of a rejected body is not read.
  response.writeHead(status, { "content-type": "application/octet-stream", ...(status === 200 ? {} : { connection: "close" }) });
  response.end(content);
}
