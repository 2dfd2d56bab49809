import { codedErrors } from "@rnode/primitives";

export type RegistryErrorCode =
  /** the file exists and is larger than the reader takes */
  | "registry/too-large"
  /** the file or folder exists and cannot be read, or the server does not answer */
  | "registry/unreadable"
  /** the path leaves the registry */
  | "registry/bad-path"
  /** the file is not TOML */
  | "registry/not-toml";

export class RegistryError extends codedErrors<RegistryErrorCode>({
  "registry/too-large": "{file} is larger than {maxBytes} bytes",
  "registry/unreadable": "cannot read {file}",
  "registry/bad-path": "{file} is not a path of a registry",
  "registry/not-toml": "{file} is not TOML",
}) {}
