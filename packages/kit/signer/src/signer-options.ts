import { address, bool, httpUrl, keyValue, listOf, type OptionsOf, optionGroup, positiveDuration, textOf } from "@rnode/program";
import type { RemoteSignerOptions } from "./remote/remote-signer.ts";

/** for options that have an effect only with the remote signer */
const signer = { needs: "signer.endpoint" } as const;
const tlsFile = {
  ...signer,
  parse: textOf("path", "a path"),
  check: (path: string, other: (flag: string) => unknown) =>
    path !== "" || other("signer.tls.enabled") === false ? undefined : "all tls flags must be set if at least one is set",
} as const;
const BOTH = "signer endpoint and address must both be set or not set";

/** A remote signer, under the names of op-service. Spec: docs/protocol/05-services.md#remote-signer */
export const remoteSignerOptions = optionGroup("signer", {
  endpoint: {
    parse: httpUrl,
    check: (endpoint: string, other) => {
      if (other("signer.address") === undefined) return `${BOTH}: --signer.address is missing`;
      if (other("p2p.sequencer.key") !== undefined)
        return "a local sequencer key (--p2p.sequencer.key) and a remote signer cannot be specified at the same time";
      if (other("private-key") !== undefined) return "a private key (--private-key) and a remote signer exclude each other";
      if (other("signer.tls.enabled") !== false && !endpoint.startsWith("https:"))
        return "is not https://, so that nobody is authenticated: --signer.tls.enabled=false goes on without that";
      return undefined;
    },
    help: "Endpoint of a remote signer, which holds the key in place of this program.",
  },
  address: {
    parse: address,
    check: (_, other) => (other("signer.endpoint") === undefined ? `${BOTH}: --signer.endpoint is missing` : undefined),
    help: "Address that the remote signer signs for; signatures of others are not used.",
  },
  timeoutMs: {
    ...signer,
    parse: positiveDuration,
    help: "How long the remote signer may take for one signature. Default: 3s for blocks, --network-timeout for transactions.",
  },
  header: {
    ...signer,
    parse: listOf(keyValue),
    default: [],
    secret: true,
    help: "Headers of requests to the remote signer, key=value.",
  },
  tlsCa: {
    ...tlsFile,
    flag: "signer.tls.ca",
    default: "tls/ca.crt",
    help: "File with the certificate authorities that the remote signer's certificate may be of; read at the start.",
  },
  tlsCert: {
    ...tlsFile,
    flag: "signer.tls.cert",
    default: "tls/tls.crt",
    help: "File with our client certificate for the remote signer; read again when it changes.",
  },
  tlsEnabled: {
    ...signer,
    parse: bool,
    flag: "signer.tls.enabled",
    default: true,
    help: "Authenticate each other by certificates, over TLS 1.3 or newer.",
  },
  tlsKey: {
    ...tlsFile,
    flag: "signer.tls.key",
    default: "tls/tls.key",
    help: "File with the private key of our client certificate; read again when it changes.",
  },
});

/** `undefined`: no remote signer, the key is local */
export function remoteSignerOf(options: OptionsOf<typeof remoteSignerOptions>): RemoteSignerOptions | undefined {
  const { endpoint, address: signerAddress, ...others } = options;
  if (endpoint === undefined || signerAddress === undefined) return undefined;
  return { ...others, endpoint, address: signerAddress };
}
