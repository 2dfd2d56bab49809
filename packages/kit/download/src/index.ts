export * from "./error-causes.ts";
export * from "./errors.ts";
export * from "./fetch-file.ts";
export { proxiedFetch } from "./proxies.ts";
export { type DownloadOptions, resumableBody } from "./resumable-body.ts";
