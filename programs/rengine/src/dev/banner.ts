import type { DevAccount } from "@rnode/dev-chain";
import { bytesToHex, checksumAddress } from "@rnode/primitives";

export interface BannerFacts {
  readonly version: string;
  readonly accounts: readonly DevAccount[];
  readonly balanceEther: number;
  readonly mnemonic: string;
  readonly chainId: bigint;
  readonly fork: string;
  readonly gasLimit: bigint;
  readonly baseFeeWei: bigint;
  readonly genesisTimeSec: number;
  readonly mining: string;
  readonly folder: string;
  readonly host: string;
  readonly port: number | undefined;
  readonly hasBeaconApi: boolean;
}

/** The start message of a development chain, in the order of anvil's. */
export function bannerOf(facts: BannerFacts): string {
  const { accounts } = facts;
  const numbered = (texts: readonly string[]): string[] => texts.map((text, index) => `(${index}) ${text}`);
  const section = (title: string, lines: readonly string[]): string[] => ["", title, "==================", "", ...lines];
  return [
    `rengine ${facts.version} --dev`,
    ...section(
      "Available Accounts",
      numbered(accounts.map(({ address }) => `${checksumAddress(address)} (${facts.balanceEther}.000000000000000000 ETH)`)),
    ),
    ...section(
      "Private Keys (known to everybody: never use them elsewhere)",
      numbered(accounts.map(({ privateKey }) => bytesToHex(privateKey))),
    ),
    ...section("Wallet", [`Mnemonic:          ${facts.mnemonic}`, "Derivation path:   m/44'/60'/0'/0/"]),
    ...section("Chain", [
      `Chain ID           ${facts.chainId}`,
      `Fork               ${facts.fork}`,
      `Base Fee           ${facts.baseFeeWei}`,
      `Gas Limit          ${facts.gasLimit}`,
      `Genesis Timestamp  ${facts.genesisTimeSec}`,
      `Mining             ${facts.mining}`,
      `Folder             ${facts.folder}`,
      ...(facts.hasBeaconApi ? [`Beacon API         http://${facts.host}:${facts.port}/eth/v1/`] : []),
    ]),
    "",
    `Listening on ${facts.host}:${facts.port}`,
    "",
  ].join("\n");
}
