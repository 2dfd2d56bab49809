import { bytesToHex } from "@rnode/primitives";
import { parseChainConfig } from "@rnode/protocol";
import { mnemonicToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { DEV_MNEMONIC, devAccounts } from "./dev-accounts.ts";
import { DEV_FORKS, devChainConfig } from "./dev-genesis.ts";

describe("the accounts of a phrase", () => {
  it.each([DEV_MNEMONIC, "legal winner thank year wave sausage worth useful legal winner thank yellow"])(
    "%s: are those of viem",
    (phrase) => {
      const own = devAccounts(phrase, 5).map(({ address, privateKey }) => [bytesToHex(address), bytesToHex(privateKey)]);
      const others = [0, 1, 2, 3, 4].map((addressIndex) => {
        const account = mnemonicToAccount(phrase, { addressIndex });
        return [account.address.toLowerCase(), bytesToHex(account.getHdKey().privateKey!)];
      });
      expect(own).toEqual(others);
    },
  );
});

describe("the configuration of a fork", () => {
  it.each(DEV_FORKS)("%s: is one that genesis files have", (fork) => {
    const config = parseChainConfig(devChainConfig({ chainId: 7, fork }));
    expect(config.chainId).toBe(7n);
    expect(config.blobSchedule.at(-1)).toMatchObject({ timeSec: 0 });
    expect(config.evmForkTimes.cancun).toBe(0);
  });
});
