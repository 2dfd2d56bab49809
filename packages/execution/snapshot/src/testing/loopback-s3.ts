import { createHash, createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface LoopbackS3 {
  /** environment variables of a client */
  readonly env: Readonly<Record<string, string>>;
  readonly objects: Map<string, Buffer>;
  /** uploads that were neither completed nor aborted */
  readonly uploads: Map<string, Buffer[]>;
  /** Number of next requests that get the status 503. */
  failures: number;
  close(): Promise<void>;
}

const ID = "AKIDEXAMPLE";
const SECRET = "a secret";

/** The requests of the S3 protocol that a store needs, for one bucket. A request whose signature (version 4) is not of its content is refused. */
export async function startLoopbackS3(bucket: string): Promise<LoopbackS3> {
  const objects = new Map<string, Buffer>();
  const uploads = new Map<string, Buffer[]>();
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const state: LoopbackS3 = {
    env: { AWS_ACCESS_KEY_ID: ID, AWS_SECRET_ACCESS_KEY: SECRET, AWS_ENDPOINT_URL: endpoint, AWS_REGION: "eu-west-1" },
    objects,
    uploads,
    failures: 0,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const body = Buffer.concat(pieces);
    const url = new URL(request.url!, endpoint);
    if (state.failures > 0) {
      state.failures--;
      response.writeHead(503).end("<Error><Code>SlowDown</Code></Error>");
    } else if (signatureOf(request, url) !== givenSignature(request, url)) {
      response.writeHead(403).end("<Error><Code>SignatureDoesNotMatch</Code></Error>");
    } else serve(request.method!, url, body, response);
  }

  function serve(method: string, { pathname, searchParams }: URL, body: Buffer, response: ServerResponse): void {
    const [, named, ...rest] = pathname.split("/");
    const key = rest.join("/");
    const xml = (text: string): unknown => response.writeHead(200, { "content-type": "application/xml" }).end(text);
    const id = searchParams.get("uploadId");
    if (named !== bucket) response.writeHead(404).end("<Error><Code>NoSuchBucket</Code></Error>");
    else if (method === "GET" && searchParams.get("list-type") === "2") {
      const start = searchParams.get("prefix") ?? "";
      const found = [...objects.keys()].filter((each) => each.startsWith(start));
      const contents = found.map((each) => `<Contents><Key>${each}</Key><Size>${objects.get(each)!.length}</Size></Contents>`);
      xml(`<ListBucketResult><IsTruncated>false</IsTruncated>${contents.join("")}</ListBucketResult>`);
    } else if (method === "GET") {
      const object = objects.get(key);
      if (object === undefined) response.writeHead(404).end("<Error><Code>NoSuchKey</Code></Error>");
      else response.writeHead(200, { "content-length": object.length }).end(object);
    } else if (method === "POST" && searchParams.has("uploads")) {
      uploads.set(String(uploads.size + 1), []);
      xml(
        `<InitiateMultipartUploadResult><Bucket>${bucket}</Bucket><Key>${key}</Key><UploadId>${uploads.size}</UploadId></InitiateMultipartUploadResult>`,
      );
    } else if (method === "PUT" && id !== null) {
      uploads.get(id)![Number(searchParams.get("partNumber")) - 1] = body;
      response.writeHead(200, { etag: `"${createHash("md5").update(body).digest("hex")}"` }).end();
    } else if (method === "POST" && id !== null) {
      objects.set(key, Buffer.concat(uploads.get(id)!));
      uploads.delete(id);
      xml(
        `<CompleteMultipartUploadResult><Location>x</Location><Bucket>${bucket}</Bucket><Key>${key}</Key><ETag>"x"</ETag></CompleteMultipartUploadResult>`,
      );
    } else if (method === "DELETE") {
      if (id === null) objects.delete(key);
      else uploads.delete(id);
      response.writeHead(204).end();
    } else {
      objects.set(key, body);
      response.writeHead(200, { etag: '"x"' }).end();
    }
  }
  return state;
}

const givenSignature = ({ headers }: IncomingMessage, { searchParams }: URL): string | null | undefined =>
  searchParams.get("X-Amz-Signature") ?? /Signature=([0-9a-f]{64})$/.exec(headers.authorization ?? "")?.[1];

/** AWS Signature Version 4, in headers or in the address: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html */
function signatureOf({ method, headers }: IncomingMessage, { pathname, searchParams }: URL): string {
  const inAddress = searchParams.get("X-Amz-Credential");
  const given = /Credential=([^,]+), ?SignedHeaders=([^,]+),/.exec(headers.authorization ?? "");
  const credential = inAddress ?? given?.[1] ?? "";
  const signedHeaders = searchParams.get("X-Amz-SignedHeaders") ?? given?.[2] ?? "";
  const dateTime = searchParams.get("X-Amz-Date") ?? String(headers["x-amz-date"]);
  const [id, date, region, service, end] = credential.split("/");
  if (id !== ID || service !== "s3" || end !== "aws4_request" || !dateTime.startsWith(date!)) return "no such credential";
  const strict = (text: string): string =>
    encodeURIComponent(text).replace(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
  const query = [...searchParams]
    .filter(([name]) => name !== "X-Amz-Signature")
    .map(([name, value]) => `${strict(name)}=${strict(value)}`)
    .sort()
    .join("&");
  const lines = signedHeaders.split(";").map((name) => `${name}:${String(headers[name]).trim()}\n`);
  const payload = headers["x-amz-content-sha256"] ?? "UNSIGNED-PAYLOAD";
  const canonical = [method, pathname, query, lines.join(""), signedHeaders, payload].join("\n");
  const digest = createHash("sha256").update(canonical).digest("hex");
  const hmac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest();
  const key = [date!, region!, "s3", "aws4_request"].reduce<string | Buffer>(hmac, `AWS4${SECRET}`);
  return hmac(key, ["AWS4-HMAC-SHA256", dateTime, `${date}/${region}/s3/aws4_request`, digest].join("\n")).toString("hex");
}
