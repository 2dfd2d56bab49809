import { MIN_BLOCK, readMinBlock } from "./min-block.ts";

/** The content of a plain request's head. */
export interface PlainHead {
  readonly host: string;
  readonly bodyBytes: number;
  /** the newest block that the client has seen; `undefined`: it does not say */
  readonly minBlock: number | undefined;
}

const REQUEST_LINE = "POST / HTTP/1.1\r\n";
/** Names and values without any character that parsers may treat differently. */
const FIELD = /([\w-]+): ?([\x20-\x7e]*)\r\n/y;
const JSON_TYPE = /^application\/json *(?:;|$)/i;

/**
 * Parses the head of a JSON-RPC request in the usual form of clients: `POST /`, JSON, with a content length, keep-alive, without
 * special requirements.
 *
 * @param head from the request line to the empty line, both line ends included; Latin-1
 * @returns `undefined` for any other form or an error: a full HTTP parser has to handle it
 */
export function readPlainHead(head: string): PlainHead | undefined {
  if (!head.startsWith(REQUEST_LINE)) return undefined;
  let host: string | undefined;
  let isJson = false;
  let bodyBytes = -1;
  let minBlock: number | undefined;
  const end = head.length - 2;
  for (FIELD.lastIndex = REQUEST_LINE.length; FIELD.lastIndex < end; ) {
    const match = FIELD.exec(head);
    if (match === null) return undefined;
    const value = match[2]!;
    switch (match[1]!.toLowerCase()) {
      case "host":
        if (host !== undefined) return undefined;
        host = value;
        break;
      case "content-type":
        if (isJson || !JSON_TYPE.test(value)) return undefined;
        isJson = true;
        break;
      case "content-length":
        if (bodyBytes !== -1 || !/^\d{1,9}$/.test(value)) return undefined;
        bodyBytes = Number(value);
        break;
      case "connection":
        if (value.toLowerCase() !== "keep-alive") return undefined;
        break;
      case MIN_BLOCK:
        if (minBlock !== undefined) return undefined;
        minBlock = readMinBlock(value);
        if (minBlock === undefined) return undefined;
        break;
      // These headers change the framing of the message, the connection, or the answer.
      case "transfer-encoding":
      case "te":
      case "trailer":
      case "upgrade":
      case "http2-settings":
      case "proxy-connection":
      case "expect":
      case "origin":
        return undefined;
    }
  }
  return host === undefined || !isJson || bodyBytes === -1 ? undefined : { host, bodyBytes, minBlock };
}
