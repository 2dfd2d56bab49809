/** The bytes of one HTTP request with a body. */
export function post(body: string, headers: readonly string[] = []): string {
  return [
    "POST / HTTP/1.1",
    "Host: 127.0.0.1",
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...headers,
    "",
    body,
  ].join("\r\n");
}

export const call = (method: string, params: readonly unknown[] = [], id: number | string = 1): string =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });

export const batch = (calls: readonly string[]): string => `[${calls.join(",")}]`;

export const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

export const quantity = (value: number): string => `0x${value.toString(16)}`;
export const addressOf = (value: number): string => `0x${value.toString(16).padStart(40, "0")}`;
export const wordOf = (value: number): string => `0x${value.toString(16).padStart(64, "0")}`;
