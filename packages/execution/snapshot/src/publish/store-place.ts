import { snapshotError } from "../errors.ts";
import { openFolderStore } from "./folder-store.ts";
import type { S3Place } from "./s3-store.ts";
import type { SnapshotStore } from "./snapshot-store.ts";

type Environment = Readonly<Record<string, string | undefined>>;

export const isS3 = (place: string): boolean => place.startsWith("s3://");

/** @param place a folder, or `s3://bucket/prefix` @throws {CodedError} snapshot/bad-store; errors of the file system */
export async function openSnapshotStore(place: string, env: Environment): Promise<SnapshotStore> {
  if (!isS3(place)) return openFolderStore(place);
  const { openS3Store } = await import("./s3-store.ts");
  return openS3Store(s3PlaceOf(place, env));
}

/** The environment variables are those of the AWS tools. @throws {CodedError} snapshot/bad-store */
export function s3PlaceOf(place: string, env: Environment): S3Place {
  const fail = (reason: string): never => {
    throw snapshotError("snapshot/bad-store", { place, reason });
  };
  const [, bucket, path] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/.exec(place) ?? fail("expected s3://bucket/prefix");
  const named = (name: string): string => env[name] || fail(`the environment has no ${name}`);
  if (env.AWS_SESSION_TOKEN)
    return fail("temporary credentials (AWS_SESSION_TOKEN) are not supported: give an access key that lasts");
  const region = env.AWS_REGION || env.AWS_DEFAULT_REGION || "us-east-1";
  const endpoint = env.AWS_ENDPOINT_URL_S3 || env.AWS_ENDPOINT_URL || `https://s3.${region}.amazonaws.com`;
  if (!/^https?:\/\//.test(endpoint) || !URL.canParse(endpoint))
    return fail(`AWS_ENDPOINT_URL is ${endpoint}, expected a URL with http:// or https://`);
  return {
    bucket: bucket!,
    prefix: (path ?? "").replace(/^\/+|\/+$/g, ""),
    endpoint: endpoint.replace(/\/+$/, ""),
    region,
    accessKeyId: named("AWS_ACCESS_KEY_ID"),
    secretAccessKey: named("AWS_SECRET_ACCESS_KEY"),
  };
}
