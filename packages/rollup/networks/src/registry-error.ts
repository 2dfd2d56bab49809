import { codedErrors } from "@rnode/primitives";

export type RegistryErrorCode =
  /** the file exists and is larger than the reader takes */
  | "registry/too-large"
  /** the file or folder exists and cannot be read, or the server does not answer */
  | "registry/unreadable"
  /** the path leaves the registry */
  | "registry/bad-path"
  /** the file is not TOML */
  | "registry/not-toml"
  /** the file is TOML and does not describe a chain */
  | "registry/bad-config"
  /** a chain's file has no superchain.toml in its folder */
  | "registry/no-superchain"
  /** the registry does not have the network */
  | "registry/no-network"
  /** the table of this version lacks the network, and the registry has no list of chains */
  | "registry/no-list"
  /** a folder has several networks, and none of them is selected */
  | "registry/ambiguous";

export class RegistryError extends codedErrors<RegistryErrorCode>({
  "registry/too-large": "{file} is larger than {maxBytes} bytes",
  "registry/unreadable": "cannot read {file}",
  "registry/bad-path": "{file} is not a path of a registry",
  "registry/not-toml": "{file} is not TOML",
  "registry/bad-config": "{file} is not the configuration of a chain",
  "registry/no-superchain": "{file} is missing: its l1.chain_id says which L1 the chain has",
  "registry/no-network": "{registry} has no network {name}; it has {expected}",
  "registry/no-list":
    "{registry} has neither chainList.json nor superchain/configs, so that only the table of this version can be asked",
  "registry/ambiguous": "{folder} has several networks: name one of them, as in {example}; it has {expected}",
}) {}
